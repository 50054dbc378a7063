import { SchemaError } from '../grammar/errors.ts'
import { alternatives, type Expr, emptyText, literal, never, sequence } from '../grammar/expressions.ts'
import type { Emission } from './emission.ts'
import type { Member } from './member.ts'

/** There is a rule for each set of members that have been written. */
export const maxInAnyOrder = 10

interface OrderedParts {
  members: readonly Member[]
  /** Each member with its name, as it is written. */
  entries: readonly Expr[]
  /** Undeclared members come after all declared ones, however many of these were written. */
  further(written: number): Expr
  max: number
  path: string
}

/** The members of an object in any order, each at most once, and its closing brace. */
export function anyOrderExpr(ordered: OrderedParts, emission: Emission): Expr {
  const { members, further, max, path } = ordered
  if (members.length > maxInAnyOrder) {
    throw new SchemaError(
      'properties',
      path,
      `any_order is supported for objects of up to ${maxInAnyOrder} declared members`,
    )
  }
  const comma = sequence(literal(','), emission.space)
  const entries = ordered.entries.map((entry) => emission.named('entry', entry))
  const states: Expr[] = []
  for (let used = 2 ** members.length - 1; used >= 0; used--) {
    const count = used.toString(2).replaceAll('0', '').length
    const isUsed = (i: number) => (used & (1 << i)) !== 0
    const ways: Expr[] = []
    for (const [i, entry] of entries.entries()) {
      if (isUsed(i) || count >= max) continue
      ways.push(sequence(count === 0 ? emptyText : comma, entry, states[used | (1 << i)] ?? never))
    }
    if (members.every(({ required }, i) => !required || isUsed(i))) {
      ways.push(further(count))
    }
    states[used] = emission.named('order', alternatives(...ways))
  }
  return states[0] ?? never
}
