import { alternatives, type Expr, literal, repetition, sequence, trieOf } from '../grammar/expressions.ts'
import { decimalOf } from '../numbers/decimals.ts'
import type { Emission } from './emission.ts'
import { isRecord } from './keywords.ts'

/** Exactly these values, in the text that JSON.stringify gives them, but for the space between their parts. */
export function valuesExpr(values: readonly unknown[], emission: Pick<Emission, 'space' | 'gap'>): Expr {
  const simple = values.filter((value) => !hasParts(value))
  const composed = values.filter(hasParts)
  return alternatives(
    trieOf(simple.map((value) => JSON.stringify(value))),
    ...composed.map((value) => partsExpr(value, emission)),
  )
}

/**
 * What follows an opening bracket and its space: `min` to `max` of these with commas between them, and the closing bracket.
 */
export function separated(item: Expr, min: number, max: number, close: ']' | '}', space: Expr): Expr {
  const more = repetition(sequence(literal(','), space, item), Math.max(min - 1, 0), max - 1)
  const some = sequence(item, more, space, literal(close))
  return min === 0 ? alternatives(some, literal(close)) : some
}

function hasParts(value: unknown): boolean {
  return (Array.isArray(value) || isRecord(value)) && Object.keys(value).length > 0
}

function partsExpr(value: unknown, emission: Pick<Emission, 'space' | 'gap'>): Expr {
  const { space, gap } = emission
  const spaced = (parts: Expr[]) =>
    parts.flatMap((part, i) => (i === 0 ? [space, part] : [literal(','), space, part]))
  if (Array.isArray(value) && value.length > 0) {
    return sequence(
      literal('['),
      ...spaced(value.map((item) => partsExpr(item, emission))),
      space,
      literal(']'),
    )
  }
  if (isRecord(value) && Object.keys(value).length > 0) {
    const members = Object.entries(value).map(([name, member]) =>
      sequence(literal(`${JSON.stringify(name)}:`), gap, partsExpr(member, emission)),
    )
    return sequence(literal('{'), ...spaced(members), space, literal('}'))
  }
  return literal(JSON.stringify(value))
}

/** A text that two JSON values share exactly when JSON Schema calls them equal: 1 and 1.0, or members in another order. */
export function canonicalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalOf).join()}]`
  if (isRecord(value)) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalOf(member)}`).join()}}`
  }
  const decimal = decimalOf(value)
  return decimal === undefined ? JSON.stringify(value) : `${decimal.units}/${decimal.scale}`
}
