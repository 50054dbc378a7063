import { BudgetExceededError } from '../grammar/budget.ts'
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
import { mark } from '../grammar/marks.ts'
import { valuesOf } from './cases.ts'
import type { Emission } from './emission.ts'
import { countsOf, excludedBy, type SchemaNode, stepped } from './schema-document.ts'
import { itemSchemas } from './value-check.ts'
import { canonicalOf, valuesExpr } from './values.ts'

interface ArrayDemands {
  /** The schemas of the items at the front, by index. */
  prefix: SchemaNode[][]
  rest: SchemaNode[]
  min: number
  max: number
  contains: Contained[]
  unique: SchemaNode | undefined
}

interface Contained {
  node: SchemaNode
  schema: unknown
  min: number
  max: number
}

/** Items nested inside one another before they get rules of their own. */
const deepest = 6
const maxUnique = 8
const maxCounted = 2000
const maxContained = 4

export function arrayDemands(bases: readonly SchemaNode[], { document }: Emission): ArrayDemands {
  const demands: ArrayDemands = {
    prefix: [],
    rest: [],
    ...countsOf(bases, 'Items'),
    contains: [],
    unique: undefined,
  }
  const lists = bases.map((base) => ({ base, ...itemSchemas(evaluated(base, bases)) }))
  const prefixed = Math.max(0, ...lists.map(({ prefix }) => prefix.length))
  for (let i = 0; i < prefixed; i++) {
    demands.prefix.push(
      lists.flatMap(({ base, prefix, rest }) => {
        const schema = i < prefix.length ? prefix[i] : rest
        return schema === undefined ? [] : [document.node(schema, stepped(base.path, 'items', i))]
      }),
    )
  }
  for (const { base, rest } of lists) {
    const { schema, path } = base
    if (rest !== undefined) demands.rest.push(document.node(rest, stepped(path, 'items')))
    if (schema.uniqueItems === true) demands.unique = base
    const contained = {
      node: base,
      schema: schema.contains,
      min: Number(schema.minContains ?? 1),
      max: Number(schema.maxContains ?? Number.POSITIVE_INFINITY),
    }
    if (schema.contains === undefined) continue
    if (contained.min === 0 && contained.max === Number.POSITIVE_INFINITY) continue
    demands.contains.push(contained)
    if (demands.contains.length > maxContained) {
      throw new SchemaError('contains', path, `more than ${maxContained} of them apply to the same array`)
    }
  }
  for (const base of bases) {
    for (const value of excludedBy(base)) {
      if (!Array.isArray(value)) continue
      if (value.length > 0) throw new SchemaError('enum', base.path, 'arrays cannot be excluded')
      demands.min = Math.max(demands.min, 1)
    }
  }
  return demands
}

const evaluating = ['items', 'prefixItems', 'additionalItems', 'contains', 'unevaluatedItems']

/** Replaces `unevaluatedItems` by the keyword for all items after the others, which means the same here. */
function evaluated(base: SchemaNode, bases: readonly SchemaNode[]): SchemaNode['schema'] {
  const { schema, path } = base
  const { unevaluatedItems: rest } = schema
  if (rest === undefined || rest === true) return schema
  const others = bases.filter((other) => other !== base)
  // What an 'if' evaluates counts where it holds, with and without a 'then'.
  if (
    schema.contains !== undefined ||
    schema.if !== undefined ||
    others.some((other) => evaluating.some((name) => name in other.schema))
  ) {
    throw new SchemaError(
      'unevaluatedItems',
      path,
      'which items are evaluated depends on other schemas as well',
    )
  }
  if (Array.isArray(schema.items)) return { additionalItems: rest, ...schema }
  return { items: rest, ...schema }
}

/** The JSON arrays for which all of these schemas hold. */
export function arrayExpr(bases: readonly SchemaNode[], emission: Emission): Expr {
  const demands = arrayDemands(bases, emission)
  const { min, max } = demands
  if (max < min) return never
  if (demands.unique !== undefined && max > 1) {
    return uniqueExpr(demands, emission) ?? rememberedExpr(demands, demands.unique, emission)
  }
  if (demands.contains.length > 0) return containingExpr(demands, emission)
  const close = sequence(emission.space, literal(']'))
  return listExpr(demands, { item: emission.value, open: emptyText, close }, emission)
}

/** How an item is written, and what surrounds the items if there are any. */
interface Written {
  item(nodes: readonly SchemaNode[]): Expr
  open: Expr
  close: Expr
}

function listExpr(
  { prefix, rest: further, min, max }: ArrayDemands,
  { item: write, open, close }: Written,
  emission: Emission,
): Expr {
  const { space } = emission
  const rest = write(further)
  const comma = sequence(literal(','), space)
  const prefixed = Math.min(prefix.length, max)
  const begin = sequence(literal('['), space)
  if (prefixed === 0) {
    const more = repetition(sequence(comma, rest), Math.max(min - 1, 0), max - 1)
    const some = sequence(open, rest, more, close)
    return sequence(begin, min === 0 ? alternatives(some, literal(']')) : some)
  }
  // Built from the end: what follows the last index, then each index before it.
  let tail =
    prefixed < prefix.length
      ? close
      : sequence(repetition(sequence(comma, rest), Math.max(min - prefixed, 0), max - prefixed), close)
  for (let i = prefixed - 1; i >= 0; i--) {
    const item = sequence(i === 0 ? open : comma, write(prefix[i] ?? []), tail)
    tail = i < min ? item : alternatives(item, i === 0 ? literal(']') : close)
    if (i > 0 && i % deepest === 0) tail = emission.named('items', tail)
  }
  return sequence(begin, tail)
}

export function someArray(bases: readonly SchemaNode[], emission: Emission, depth: number): boolean {
  const { prefix, rest, min, max } = arrayDemands(bases, emission)
  if (max < min) return false
  for (let i = 0; i < Math.min(min, prefix.length + 1); i++) {
    if (!emission.possible(prefix[i] ?? rest, depth - 1)) return false
  }
  return true
}

/** A rule for each combination of the number of items and the numbers of matches of each `contains`, as far as these matter. */
function containingExpr({ prefix, rest, min, max, contains }: ArrayDemands, emission: Emission): Expr {
  const { document } = emission
  const asked = contains.map((demand) => {
    const path = stepped(demand.node.path, 'contains')
    const isBounded = Number.isFinite(demand.max)
    return {
      ...demand,
      isBounded,
      // Without a maximum, the last count stands for itself and all higher ones.
      last: isBounded ? demand.max : demand.min,
      inside: document.node(demand.schema, path),
      outside: isBounded ? [document.derive({ not: demand.schema }, path)] : [],
    }
  })
  const ways = asked.reduce((product, { last }) => product * (last + 1), 1)
  const longest = Math.max(min, prefix.length, ...asked.map(({ last }) => last), 1)
  const lengths = Number.isFinite(max) ? max : longest
  if ((lengths + 1) * ways * 2 ** (asked.length - 1) > maxCounted) {
    throw new BudgetExceededError(`contains at ${asked[0]?.node.path} has too many combinations of counts`)
  }
  const comma = sequence(literal(','), emission.space)
  const all = countsTo(asked.map(({ last }) => last))
  const states = new Map<string, Expr>()
  for (let length = lengths; length >= 0; length--) {
    const nodes = prefix[length] ?? rest
    const further = length < lengths ? length + 1 : Number.isFinite(max) ? undefined : length
    for (const counts of all) {
      if (counts.some((count) => count > length)) continue
      const next: Expr[] = []
      const loops: Expr[] = []
      // Which `contains` an item counts for, decided for one after the other.
      let items: { nodes: SchemaNode[]; to: number[] }[] = [{ nodes: [...nodes], to: [] }]
      for (const [i, { last, isBounded, inside, outside }] of asked.entries()) {
        const count = counts[i] ?? 0
        items = items.flatMap((item) => {
          const without = {
            nodes: count === last && !isBounded ? item.nodes : [...item.nodes, ...outside],
            to: [...item.to, count],
          }
          return count < last
            ? [{ nodes: [...item.nodes, inside], to: [...item.to, count + 1] }, without]
            : [without]
        })
      }
      for (const item of further === undefined ? [] : items) {
        const entry = sequence(length === 0 ? emptyText : comma, emission.value(item.nodes))
        if (further === length && item.to.join() === counts.join()) loops.push(entry)
        else next.push(sequence(entry, states.get(`${further}:${item.to.join()}`) ?? never))
      }
      if (length >= min && asked.every((demand, i) => (counts[i] ?? 0) >= demand.min)) {
        next.push(length === 0 ? literal(']') : sequence(emission.space, literal(']')))
      }
      const expr = sequence(repetition(alternatives(...loops), 0), alternatives(...next))
      states.set(`${length}:${counts.join()}`, emission.named('containing', expr))
    }
  }
  const none = asked.map(() => 0).join()
  return sequence(literal('['), emission.space, states.get(`0:${none}`) ?? never)
}

/** All combinations of counts up to these, each after those that it can lead to. */
function countsTo(last: readonly number[]): number[][] {
  return last.reduce<number[][]>(
    (found, most) =>
      found.flatMap((counts) => Array.from({ length: most + 1 }, (_, at) => [...counts, most - at])),
    [[]],
  )
}

/** A rule for each set of values that have been written, if there are few values. */
function uniqueExpr(
  { prefix, rest, min, max, contains }: ArrayDemands,
  emission: Emission,
): Expr | undefined {
  if (prefix.length > 0 || contains.length > 0) return undefined
  const values = new Map<string, unknown>()
  for (const option of emission.cases.of(rest)) {
    const listed = valuesOf(option)
    if (listed === undefined) return undefined
    for (const value of listed) values.set(canonicalOf(value), value)
  }
  if (values.size > maxUnique) return undefined
  const items = [...values.values()].map((value) => valuesExpr([value], emission))
  const most = Math.min(max, items.length)
  const comma = sequence(literal(','), emission.space)
  const states: Expr[] = []
  for (let used = 2 ** items.length - 1; used >= 0; used--) {
    const count = used.toString(2).replaceAll('0', '').length
    const ways: Expr[] = []
    if (count < most) {
      for (const [i, item] of items.entries()) {
        if ((used & (1 << i)) !== 0) continue
        ways.push(sequence(count === 0 ? emptyText : comma, item, states[used | (1 << i)] ?? never))
      }
    }
    if (count >= min) ways.push(count === 0 ? literal(']') : sequence(emission.space, literal(']')))
    states[used] = emission.named('unique', alternatives(...ways))
  }
  return sequence(literal('['), emission.space, states[0] ?? never)
}

/** The code that follows the grammar remembers the items. There are always enough different ones. */
function rememberedExpr(demands: ArrayDemands, unique: SchemaNode, emission: Emission): Expr {
  const { prefix, rest, min, max, contains } = demands
  const { path } = unique
  const refused = (why: string) => new SchemaError('uniqueItems', path, why)
  if (contains.length > 0) throw refused('it is not supported together with contains')
  const inside = emission.remembering({ keyword: 'uniqueItems', path })
  for (let index = 1; index < Math.min(min, max + 1); index++) {
    if (index >= prefix.length && index < min - 1) continue
    if (!emission.hasAtLeast(prefix[index] ?? rest, index + 1)) {
      throw refused('it is not certain that there are as many different items as it needs')
    }
  }
  const close = sequence(mark('close'), emission.space, literal(']'))
  const item = (nodes: readonly SchemaNode[]) => sequence(mark('item'), inside.value(nodes), mark('done'))
  return listExpr(demands, { item, open: mark('open'), close }, emission)
}
