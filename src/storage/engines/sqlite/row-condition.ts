import type { Database } from 'better-sqlite3'
import { evaluate, type FieldValue } from '../../../domain/expressions/evaluate.ts'
import type { Expression } from '../../../domain/expressions/expression.ts'
import { type CacheSpace, jsonField } from '../../../domain/expressions/json-field.ts'
import { exact, parseNumber } from '../../../domain/expressions/numbers.ts'
import { refuse } from '../../../domain/refusals.ts'
import type { FieldReading } from '../../sql/readings.ts'

/** How a field of a condition is read, and from which argument. */
export interface ConditionField {
  kind: FieldReading['kind']
  path: readonly string[]
  argument: number
  countsTruth: boolean
}

/**
 * The field names are a list of texts, not keys of an object. Once V8 (Node 24) has parsed an object with a key that
 * ends in a backslash, it mistakes the same key followed by a quote, which is also written with a backslash, for that
 * one.
 */
interface RowCondition {
  expression: Expression
  fields: Map<string, ConditionField>
}

/**
 * Serialises a condition as a parameter. Constants keep their text, so that numbers that JSON cannot express can be
 * read back.
 */
export function writeCondition(expression: Expression, fields: readonly [string, ConditionField][]): string {
  const written = { expression, fields }
  return JSON.stringify(written, (_, value: unknown) => (typeof value === 'bigint' ? null : value))
}

function readCondition(text: string): RowCondition {
  const { expression, fields } = JSON.parse(text) as {
    expression: Expression
    fields: [string, ConditionField][]
  }
  readNumbers(expression)
  return { expression, fields: new Map(fields) }
}

/** Restores constants that JSON cannot express. */
function readNumbers(node: unknown): void {
  if (typeof node !== 'object' || node === null) return
  if ('kind' in node && node.kind === 'number' && 'text' in node && 'value' in node) {
    node.value = parseNumber(node.text as string)
    return
  }
  for (const inner of Object.values(node)) readNumbers(inner)
}

/** The most characters of documents at a time. While one is read and compared, three times as many are needed. */
const maxCharacters = 128 << 20
const keptCharacters = 64 << 20

type Argument = string | bigint | number | null

/**
 * Evaluates a condition on one row in memory, for rows with large documents. Each value is looked up once, the cached
 * values are bounded, and the query can be stopped between two comparisons.
 */
export function registerRowCondition(db: Database, throwIfCancelled: () => void): void {
  let last: { text: string; condition: RowCondition } | undefined

  function conditionOf(text: string): RowCondition {
    if (last?.text !== text) last = { text, condition: readCondition(text) }
    return last.condition
  }

  const options = { varargs: true, deterministic: true, directOnly: true, safeIntegers: true }
  db.function('heddle_condition', options, (text: unknown, ...row: unknown[]) => {
    const { expression, fields } = conditionOf(text as string)
    boundRow(row)
    const room: CacheSpace = { left: keptCharacters }
    const values = new Map<string, FieldValue>()
    const holds = evaluate(expression, (name) => {
      throwIfCancelled()
      let value = values.get(name)
      if (value === undefined) {
        const field = fields.get(name) as ConditionField
        value = fieldOf(field, row[field.argument] as Argument, room)
        values.set(name, value)
      }
      return value
    })
    return holds === null ? null : Number(holds)
  })
}

function boundRow(row: readonly unknown[]): void {
  let characters = 0
  for (const value of row) if (typeof value === 'string') characters += value.length
  if (characters <= maxCharacters) return
  throw refuse('row_too_large', { received: characters, limit: maxCharacters })
}

function fieldOf({ kind, path, countsTruth }: ConditionField, value: Argument, room: CacheSpace): FieldValue {
  switch (kind) {
    case 'json':
      return { ...jsonField(value as string | null, path, room), countsTruth }
    case 'text':
      return { kind, value: value as string | null }
    case 'number':
      return { kind, value: value === null ? null : exact(value as number | bigint) }
    case 'time':
      return { kind, value: value === null ? null : Number(value) }
  }
}
