import { JsonNumber } from '../../json/index.ts'
import type { Budget } from '../grammar/budget.ts'
import { alternatives, type Expr, literal, repetition, sequence, trieOf } from '../grammar/expressions.ts'
import { decimalOf, textOf } from '../numbers/decimals.ts'
import type { Emission } from './emission.ts'
import { isRecord } from './keywords.ts'

const maxPlainLength = 40

/** Exactly these values, as JSON.stringify writes them, apart from the white space between their parts. */
export function valuesExpr(
  all: readonly unknown[],
  emission: Pick<Emission, 'space' | 'gap' | 'alike'>,
): Expr {
  const { alike } = emission
  const values = alike === undefined ? all : all.map((value) => alikeValue(value, alike.rankOf))
  const simple = values.filter((value) => !hasParts(value))
  const composed = values.filter(hasParts)
  return alternatives(
    trieOf(simple.flatMap((value) => (alike === undefined ? spellings(value) : [JSON.stringify(value)]))),
    ...composed.map((value) => partsExpr(value, emission)),
  )
}

/** What follows an opening bracket and its space: `min` to `max` items with commas between them, and the closing bracket. */
export function separated(item: Expr, min: number, max: number, close: ']' | '}', space: Expr): Expr {
  const more = repetition(sequence(literal(','), space, item), Math.max(min - 1, 0), max - 1)
  const some = sequence(item, more, space, literal(close))
  return min === 0 ? alternatives(some, literal(close)) : some
}

function hasParts(value: unknown): boolean {
  return (Array.isArray(value) || isRecord(value)) && Object.keys(value).length > 0
}

function partsExpr(value: unknown, emission: Pick<Emission, 'space' | 'gap' | 'alike'>): Expr {
  const { space, gap } = emission
  const spaced = (exprs: Expr[]) =>
    exprs.flatMap((expr, i) => (i === 0 ? [space, expr] : [literal(','), space, expr]))
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
  return emission.alike === undefined ? trieOf(spellings(value)) : literal(JSON.stringify(value))
}

/** The text as it was given; for a number also the one without an exponent or trailing zeros of a fraction. */
function spellings(value: unknown): string[] {
  const text = JSON.stringify(value)
  const decimal = value instanceof JsonNumber ? decimalOf(value) : undefined
  const plain = decimal === undefined ? text : textOf(decimal)
  return plain.length <= maxPlainLength ? [text, plain] : [text]
}

/** In the form in which all equal values are written. */
function alikeValue(value: unknown, rankOf: (name: string) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => alikeValue(item, rankOf))
  if (isRecord(value)) {
    const members = Object.entries(value).sort(([a], [b]) => byRank(rankOf, a, b))
    return Object.fromEntries(members.map(([name, member]) => [name, alikeValue(member, rankOf)]))
  }
  const decimal = decimalOf(value)
  return decimal === undefined ? value : new JsonNumber(textOf(decimal))
}

/** One order for the members of all objects: that in which a schema first lists their names. */
export function createRanks(schema: unknown, budget: Budget): (name: string) => number {
  const ranks = new Map<string, number>()
  const pending: { node: unknown; isOfMembers: boolean }[] = [{ node: schema, isOfMembers: false }]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const { node, isOfMembers } = at
    if (typeof node !== 'object' || node === null) continue
    const entries = Object.entries(node)
    budget.spend(1 + entries.length)
    for (const [name] of isOfMembers ? entries : []) if (!ranks.has(name)) ranks.set(name, ranks.size)
    const inner = entries.map(([name, value]) => ({
      node: value,
      isOfMembers: !isOfMembers && name === 'properties',
    }))
    pending.push(...inner.reverse())
  }
  return (name) => ranks.get(name) ?? ranks.size
}

export function byRank(rankOf: (name: string) => number, a: string, b: string): number {
  return rankOf(a) - rankOf(b) || (a < b ? -1 : a > b ? 1 : 0)
}

/** A text that two JSON values share exactly if JSON Schema calls them equal: 1 and 1.0, or members in another order. */
export function canonicalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalOf).join()}]`
  if (isRecord(value)) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalOf(member)}`).join()}}`
  }
  const decimal = decimalOf(value)
  return decimal === undefined ? JSON.stringify(value) : `${decimal.units}/${decimal.scale}`
}
