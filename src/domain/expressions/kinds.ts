import { refuse } from '../refusals.ts'
import { parseTime } from '../time.ts'
import type { Expression, Literal } from './expression.ts'

/** What a field contains: a plain column, or a value inside a JSON column. */
type FieldKind = 'text' | 'number' | 'time' | 'json'

/** The kind of an operand, and whether it adapts to the other side: a field does, a computed value does not. */
type Operand =
  | { role: 'field'; kind: FieldKind }
  | { role: 'literal'; kind: Literal['kind'] }
  | { role: 'computed'; kind: 'text' | 'number' | 'boolean' }

export type ComparisonKind = 'text' | 'number' | 'boolean' | 'time' | 'null'

export function operandOf(expression: Expression, kindOfField: (field: string) => FieldKind): Operand {
  switch (expression.op) {
    case 'field':
      return { role: 'field', kind: kindOfField(expression.field) }
    case 'literal':
      return { role: 'literal', kind: expression.literal.kind }
    case 'convert':
      return { role: 'computed', kind: conversionKinds[expression.to] }
    case 'size':
      return { role: 'computed', kind: 'number' }
    default:
      return { role: 'computed', kind: 'boolean' }
  }
}

const conversionKinds = {
  double: 'number',
  int: 'number',
  string: 'text',
  bool: 'boolean',
  exists: 'boolean',
} as const

/** The kind in which two operands are compared: a converted operand decides, then a literal, then the columns. */
export function comparisonKind(left: Operand, right: Operand): ComparisonKind {
  if (left.kind === 'null' || right.kind === 'null') return 'null'
  const sides = [left, right]
  const kinds = (role: Operand['role']) => sides.filter((side) => side.role === role).map((side) => side.kind)
  const computed = kinds('computed')
  if (computed.length > 0) return strongest(computed)
  if (sides.some((side) => side.role === 'literal')) {
    return kinds('field').includes('time') ? 'time' : strongest(kinds('literal'))
  }
  if (left.kind === 'time' && right.kind === 'time') return 'time'
  return left.kind === 'number' || right.kind === 'number' ? 'number' : 'text'
}

function strongest(kinds: readonly Operand['kind'][]): 'boolean' | 'number' | 'text' {
  if (kinds.includes('boolean')) return 'boolean'
  return kinds.includes('number') ? 'number' : 'text'
}

/** A literal compared with a time column: Unix seconds or ISO 8601, as microseconds. */
export function timeOfLiteral({ kind, value }: Literal, path: string): number {
  if (kind === 'number') {
    const micros = Math.round(Number(value) * 1_000_000)
    // No stored time is outside this range, so clamping does not change a comparison.
    return Math.min(Math.max(micros, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
  }
  const micros = kind === 'text' ? parseTime(value) : undefined
  if (micros !== undefined) return micros
  throw refuse('invalid_expression', {
    field: path,
    why: `compares a time with ${JSON.stringify(value).slice(0, 60)}`,
    accepted: 'Unix seconds, or ISO 8601 such as "2026-01-31T12:00:00Z"',
  })
}
