import { alternatives, type Expr, literal, sequence, trieOf } from '../grammar/expressions.ts'
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

function hasParts(value: unknown): boolean {
  return (Array.isArray(value) || isRecord(value)) && Object.keys(value).length > 0
}

function partsExpr(value: unknown, emission: Pick<Emission, 'space' | 'gap'>): Expr {
  const { space, gap } = emission
  const separated = (parts: Expr[]) =>
    parts.flatMap((part, i) => (i === 0 ? [space, part] : [literal(','), space, part]))
  if (Array.isArray(value) && value.length > 0) {
    return sequence(
      literal('['),
      ...separated(value.map((item) => partsExpr(item, emission))),
      space,
      literal(']'),
    )
  }
  if (isRecord(value) && Object.keys(value).length > 0) {
    const members = Object.entries(value).map(([name, member]) =>
      sequence(literal(`${JSON.stringify(name)}:`), gap, partsExpr(member, emission)),
    )
    return sequence(literal('{'), ...separated(members), space, literal('}'))
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
