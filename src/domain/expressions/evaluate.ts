import { compareText } from '../../../packages/json/index.ts'
import { foldCase, parseBoolean } from '../text.ts'
import { formatTime } from '../time.ts'
import type { Comparator, ConversionTarget, Expression, Literal } from './expression.ts'
import type { JsonField } from './json-field.ts'
import { isPresent, sizeOfList } from './json-value.ts'
import { type ComparisonKind, comparisonKind, operandOf, timeOfLiteral } from './kinds.ts'
import { compareNumbers, decimalText, type Exact, exact, parseNumber, parseWhole } from './numbers.ts'

/** A field of one row. Times are microseconds. */
export type FieldValue =
  | { kind: 'text'; value: string | null }
  | { kind: 'number'; value: Exact | null }
  | { kind: 'time'; value: number | null }
  | JsonField

export type FieldReader = (field: string) => FieldValue

type Value =
  | FieldValue
  | { kind: 'literal'; literal: Literal; value: Literal['value'] }
  | { kind: 'boolean'; value: boolean | null }

/**
 * Three-valued, as in SQL; a row matches when this is true. storage/sql/expressions.ts implements the same rules in
 * SQL.
 */
export function evaluate(expression: Expression, read: FieldReader): boolean | null {
  return booleanOf(resolve(expression, read))
}

function resolve(expression: Expression, read: FieldReader): Value {
  switch (expression.op) {
    case 'literal':
      return { kind: 'literal', literal: expression.literal, value: expression.literal.value }
    case 'field':
      return read(expression.field)
    case 'convert':
      return convert(resolve(expression.input, read), expression.to)
    case 'size': {
      const list = resolve(expression.input, read)
      const size = list.kind === 'json' ? sizeOfList(list.token()) : null
      return { kind: 'number', value: size === null ? null : exact(size) }
    }
    default:
      return { kind: 'boolean', value: holds(expression, read) }
  }
}

type Operation = Exclude<Expression, { op: 'literal' | 'field' | 'convert' | 'size' }>

function holds(operation: Operation, read: FieldReader): boolean | null {
  switch (operation.op) {
    case 'not': {
      const value = evaluate(operation.operand, read)
      return value === null ? null : !value
    }
    case 'and':
      return all(operation.operands.map((operand) => evaluate(operand, read)))
    case 'or':
      return some(operation.operands.map((operand) => evaluate(operand, read)))
    case 'compare':
      return compare(operation, resolve(operation.left, read), read)
    case 'in': {
      const { operand, list, path } = operation
      const sought = resolve(operand, read)
      return some(list.map((right) => compare({ by: 'eq', left: operand, right, path }, sought, read)))
    }
    case 'contains': {
      const { ignoreCase } = operation
      const input = textOf(resolve(operation.input, read), ignoreCase)
      const substring = textOf(resolve(operation.substring, read), ignoreCase)
      return input === null || substring === null ? null : input.includes(substring)
    }
  }
}

function all(values: readonly (boolean | null)[]): boolean | null {
  if (values.includes(false)) return false
  return values.includes(null) ? null : true
}

function some(values: readonly (boolean | null)[]): boolean | null {
  if (values.includes(true)) return true
  return values.includes(null) ? null : false
}

interface Comparison {
  by: Comparator
  left: Expression
  right: Expression
  path: string
}

function compare({ by, left, right, path }: Comparison, a: Value, read: FieldReader): boolean | null {
  const kindOfField = (field: string) => read(field).kind
  const kind = comparisonKind(operandOf(left, kindOfField), operandOf(right, kindOfField))
  const b = resolve(right, read)
  if (kind === 'null') return by === 'eq' ? isNull(a) && isNull(b) : null
  const order = orderOf(kind, a, b, path)
  if (order === null) return null
  switch (by) {
    case 'eq':
      return order === 0
    case 'gt':
      return order > 0
    case 'gte':
      return order >= 0
    case 'lt':
      return order < 0
    case 'lte':
      return order <= 0
  }
}

function orderOf(kind: Exclude<ComparisonKind, 'null'>, a: Value, b: Value, path: string): number | null {
  switch (kind) {
    case 'text':
      return both(textOf(a), textOf(b), compareText)
    case 'number':
      return both(numberOf(a), numberOf(b), compareNumbers)
    case 'boolean':
      return both(booleanOf(a), booleanOf(b), (x, y) => Number(x) - Number(y))
    case 'time':
      return both(timeOf(a, path), timeOf(b, path), (x, y) => x - y)
  }
}

function both<T>(a: T | null, b: T | null, order: (a: T, b: T) => number): number | null {
  return a === null || b === null ? null : order(a, b)
}

function isNull(value: Value): boolean {
  // Weave never matches here, because it reads a missing value as the empty text; a query for null means missing
  // values.
  return value.kind === 'json' ? !isPresent(value.token()) : value.value === null
}

function textOf(value: Value, folded = false): string | null {
  if (value.kind === 'json') return folded ? value.folded() : value.text()
  const text = textOfPlain(value)
  return folded && text !== null ? foldCase(text) : text
}

function textOfPlain(value: Exclude<Value, JsonField>): string | null {
  if (value.value === null) return null
  switch (value.kind) {
    case 'literal':
      return value.literal.text
    case 'text':
      return value.value
    case 'number':
      return decimalText(value.value)
    case 'boolean':
      return String(value.value)
    case 'time':
      return formatTime(value.value)
  }
}

function numberOf(value: Value): Exact | null {
  if (value.kind === 'number') return value.value === null ? null : exact(value.value)
  if (value.kind === 'time') return value.value === null ? null : exact(value.value / 1_000_000)
  const text = numberTextOf(value)
  return text === null ? null : parseNumber(text)
}

function numberTextOf(value: Value): string | null {
  const text = textOf(value)
  if (value.kind !== 'json' || !value.countsTruth) return text
  if (text === 'true') return '1'
  return text === 'false' ? '0' : text
}

function booleanOf(value: Value): boolean | null {
  if (value.kind === 'boolean') return value.value
  return parseBoolean(textOf(value) ?? '')
}

function timeOf(value: Value, path: string): number | null {
  if (value.kind === 'time') return value.value
  if (value.kind === 'literal') return timeOfLiteral(value.literal, path)
  throw new TypeError(`a ${value.kind} is never compared as a time`)
}

function convert(value: Value, to: ConversionTarget): Value {
  switch (to) {
    case 'exists':
      return { kind: 'boolean', value: !isNull(value) }
    case 'bool':
      return { kind: 'boolean', value: booleanOf(value) }
    case 'string':
      return { kind: 'text', value: textOf(value) }
    case 'double':
      return { kind: 'number', value: numberOf(value) }
    case 'int': {
      // Whole seconds of a time, or a whole number written with digits only.
      const number = numberOf(value)
      const isWhole =
        value.kind === 'time' ? typeof number === 'bigint' : parseWhole(numberTextOf(value) ?? '') !== null
      return { kind: 'number', value: isWhole ? number : null }
    }
  }
}
