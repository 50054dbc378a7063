import { JsonNumber, parseLossless } from '../../../packages/json/index.ts'
import type { SpanRow } from '../../storage/agents/spans.ts'
import { type AttributeType, attributeSources } from './value-contract.ts'

/** The type of a value of the attributes; undefined of lists and objects. */
export function typeOf(value: unknown): AttributeType | undefined {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float'
  if (value instanceof JsonNumber) return /^-?\d+$/.test(String(value)) ? 'int' : 'float'
  return undefined
}

type Source = (typeof attributeSources)[AttributeType]

/** The values of a span that were asked for, by their types. */
export function attributesIn(row: SpanRow, asked: readonly { source: Source; key: string }[]) {
  if (asked.length === 0) return {}
  const found = Object.fromEntries(Object.values(attributeSources).map((source) => [source, {}])) as Record<
    Source,
    Record<string, unknown>
  >
  for (const [index, { source, key }] of asked.entries()) {
    const value = parseLossless(row[`value_${index}`] ?? 'null')
    const type = typeOf(value)
    if (type !== undefined && attributeSources[type] === source) found[source][key] = value
  }
  return found
}
