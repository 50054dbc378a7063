import type { Comparator, Expression, Literal } from '../../expressions/expression.ts'
import { comparisonKind, operandOf } from '../../expressions/kinds.ts'
import { parseNumber } from '../../expressions/numbers.ts'
import { parseBoolean } from '../../text.ts'

/** Three-valued, as in SQL: null means unknown. */
export type Holds = (index: number) => boolean | null

/** The numbers available for the fields of an expression. */
interface KnownNumbers {
  /** Undefined if they are not stored. */
  of(field: string): Float64Array | undefined
  /** Whether booleans are included, as 1 and 0. */
  countTruths: boolean
}

/**
 * An expression as a condition on the numbers of its fields, with the same meaning for scores as in
 * expressions/evaluate.ts. Undefined if more than numbers has to be read.
 */
export function conditionOnNumbers(expression: Expression, known: KnownNumbers): Holds | undefined {
  switch (expression.op) {
    case 'and':
    case 'or': {
      const operands = expression.operands.map((operand) => conditionOnNumbers(operand, known))
      if (!areKnown(operands)) return undefined
      return expression.op === 'and' ? all(operands) : some(operands)
    }
    case 'not': {
      const operand = conditionOnNumbers(expression.operand, known)
      return operand && ((i) => negated(operand(i)))
    }
    case 'compare':
      return comparison(expression, known)
    case 'in': {
      const { operand, list, path } = expression
      const options = list.map((right) => comparison({ by: 'eq', left: operand, right, path }, known))
      return areKnown(options) ? some(options) : undefined
    }
    case 'field': {
      const numbers = known.countTruths ? known.of(expression.field) : undefined
      return numbers && ((i) => truthOf(numbers[i] as number))
    }
    default:
      return undefined
  }
}

function areKnown(holds: readonly (Holds | undefined)[]): holds is Holds[] {
  return holds.every((condition) => condition !== undefined)
}

const negated = (value: boolean | null) => (value === null ? null : !value)

function all(operands: readonly Holds[]): Holds {
  return (i) => {
    let result: boolean | null = true
    for (const operand of operands) {
      const value = operand(i)
      if (value === false) return false
      if (value === null) result = null
    }
    return result
  }
}

function some(operands: readonly Holds[]): Holds {
  return (i) => {
    let result: boolean | null = false
    for (const operand of operands) {
      const value = operand(i)
      if (value === true) return true
      if (value === null) result = null
    }
    return result
  }
}

function truthOf(number: number): boolean | null {
  if (number === 1) return true
  return number === 0 ? false : null
}

type Comparison = Omit<Extract<Expression, { op: 'compare' }>, 'op'>
type Numbers = (index: number) => number

function comparison({ by, left, right }: Comparison, known: KnownNumbers): Holds | undefined {
  const json = () => 'json' as const
  const kind = comparisonKind(operandOf(left, json), operandOf(right, json))
  if (kind !== 'number' && kind !== 'boolean') return undefined
  const [a, b] = [left, right].map((side) =>
    kind === 'number' ? numberOf(side, known) : truthAsNumber(side, known),
  )
  if (a === undefined || b === undefined) return undefined
  const isTrue = comparators[by]
  return (i) => {
    const x = a(i)
    const y = b(i)
    return Number.isNaN(x) || Number.isNaN(y) ? null : isTrue(x, y)
  }
}

const comparators: Record<Comparator, (x: number, y: number) => boolean> = {
  eq: (x, y) => x === y,
  gt: (x, y) => x > y,
  gte: (x, y) => x >= y,
  lt: (x, y) => x < y,
  lte: (x, y) => x <= y,
}

/** NaN means unknown. */
function numberOf(expression: Expression, known: KnownNumbers): Numbers | undefined {
  if (expression.op === 'literal') return numberOfLiteral(expression.literal)
  if (expression.op === 'convert' && expression.to === 'double') return numberOf(expression.input, known)
  if (expression.op !== 'field') return undefined
  const numbers = known.of(expression.field)
  return numbers && ((i) => numbers[i] as number)
}

/** Undefined for digits that a double cannot represent. */
function numberOfLiteral({ text }: Literal): Numbers | undefined {
  const number = parseNumber(text)
  if (number === null) return () => Number.NaN
  const double = Number(number)
  return typeof number === 'bigint' && !Number.isSafeInteger(double) ? undefined : () => double
}

function truthAsNumber(expression: Expression, known: KnownNumbers): Numbers | undefined {
  const asNumber = (value: boolean | null) => (value === null ? Number.NaN : Number(value))
  if (expression.op === 'literal') {
    const value = asNumber(parseBoolean(expression.literal.text))
    return () => value
  }
  const holds = conditionOnNumbers(expression, known)
  return holds && ((i) => asNumber(holds(i)))
}
