import { SchemaError } from '../grammar/errors.ts'
import {
  alternatives,
  type Expr,
  emptyText,
  literal,
  never,
  repetition,
  sequence,
} from '../grammar/expressions.ts'
import type { Emission } from './emission.ts'
import type { Member } from './member.ts'

/** There is a rule for each set of members that were written. */
export const mostInAnyOrder = 10

export interface OrderedParts {
  members: readonly Member[]
  /** Each with its name, as it is written. */
  entries: readonly Expr[]
  /** A member that is not declared; it comes behind all that are. */
  other: Expr
  min: number
  max: number
  path: string
}

/** The members of an object in whatever order, each at most once, and its closing brace. */
export function anyOrderExpr(parts: OrderedParts, emission: Emission): Expr {
  const { members, other, min, max, path } = parts
  if (members.length > mostInAnyOrder) {
    throw new SchemaError(
      'properties',
      path,
      `any_order holds for objects of up to ${mostInAnyOrder} declared members`,
    )
  }
  const comma = sequence(literal(','), emission.space)
  const entries = parts.entries.map((entry) => emission.named('entry', entry))
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
      ways.push(closing(count, { other, min, max }, comma, emission))
    }
    states[used] = emission.named('order', alternatives(...ways))
  }
  return states[0] ?? never
}

function closing(
  count: number,
  { other, min, max }: Pick<OrderedParts, 'other' | 'min' | 'max'>,
  comma: Expr,
  { space }: Emission,
): Expr {
  const least = Math.max(min - count, 0)
  const most = max - count
  const close = sequence(space, literal('}'))
  if (count > 0) return sequence(repetition(sequence(comma, other), least, most), close)
  const more = repetition(sequence(comma, other), Math.max(least - 1, 0), most - 1)
  const some = most < 1 ? never : sequence(other, more, close)
  return least === 0 ? alternatives(some, literal('}')) : some
}
