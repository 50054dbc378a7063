import { type Automaton, extent, isEmpty, wordsOf } from '../automaton/automaton.ts'
import { BudgetExceededError } from '../grammar/budget.ts'
import { SchemaError } from '../grammar/errors.ts'
import {
  alternatives,
  type Expr,
  emptyText,
  literal,
  never,
  optional,
  sequence,
} from '../grammar/expressions.ts'
import { mark } from '../grammar/marks.ts'
import { anyOrderExpr } from './any-order.ts'
import { hasNoOthers } from './closed-objects.ts'
import type { Emission } from './emission.ts'
import { furtherMembers, type Others } from './further-members.ts'
import { isRecord } from './keywords.ts'
import type { Member } from './member.ts'
import { allowedNames, fewNames, nameHolds } from './names.ts'
import { countsOf, excludedBy, requiredBy, type SchemaNode, stepped } from './schema-document.ts'
import { type SomeMember, waysToHave } from './some-member.ts'
import { memberSchemas } from './value-check.ts'
import { byRank } from './values.ts'

interface ObjectParts {
  members: readonly Member[]
  others: readonly Others[]
  counts: Counts
}

/** Schemas that hold together for one object. */
interface Whole {
  bases: readonly SchemaNode[]
  /** How many schemas the object was asked to fit, before they were split into cases. */
  asked: number
  required: ReadonlySet<string>
  /** No schema mentions further members, and so there are none. */
  closed: boolean
}

interface Counts {
  min: number
  max: number
}

const maxPatterns = 6
const maxStates = 20_000
/** The engine follows each of them at once. */
const maxFirst = 900

/** The JSON objects for which all of these schemas hold: declared members in their order, then the others. */
export function objectExpr(bases: readonly SchemaNode[], asked: number, emission: Emission): Expr {
  const { alike } = emission
  const found = waysToHave(bases, emission).flatMap((way) => {
    const object = objectParts(way.bases, asked, emission)
    return object === undefined ? [] : [{ way, object }]
  })
  if (alike !== undefined && found.some(({ object }) => object.others.length > 0)) {
    if (!found.every(({ way, object }) => way.open.length === 0 && canAlwaysGrow(object, emission))) {
      const why =
        'the order of members that are not declared is open, and it is not certain that there can be one more'
      throw new SchemaError('uniqueItems', bases[0]?.path ?? '#', why)
    }
    alike.loose = true
    return sequence(mark('loose'), objectExpr(bases, asked, alike.plain), mark('tight'))
  }
  if (alike !== undefined && found.length > 1) alike.forks = true
  const ways = found.map(({ way, object }) => membersExpr(object, way.open, bases, emission))
  return sequence(literal('{'), emission.space, alternatives(...ways))
}

/** Whether there is always a name for one more member, and a value for it. */
function canAlwaysGrow({ others, counts }: ObjectParts, emission: Emission): boolean {
  return (
    counts.max === Number.POSITIVE_INFINITY &&
    others.some(
      ({ names, nodes }) =>
        (names === undefined || extent(names).longest === Number.POSITIVE_INFINITY) &&
        emission.hasAtLeast(nodes, 1),
    )
  )
}

/** The parts of the objects for which all of these schemas hold; undefined if there are none. */
export function objectParts(
  bases: readonly SchemaNode[],
  asked: number,
  emission: Emission,
): ObjectParts | undefined {
  const counts = memberCounts(bases)
  const whole = wholeOf(bases, asked, counts, emission)
  const allowed = allowedNames(bases, emission)
  const members = membersOf(whole, allowed, emission)
  if (members === undefined || counts.max < counts.min) return undefined
  const first = members.findIndex(({ required }) => required)
  if ((first < 0 ? members.length : first) > maxFirst) {
    throw new BudgetExceededError(`more than ${maxFirst} optional members may come first`)
  }
  const others = othersOf(whole, members, allowed, emission)
  const { alike } = emission
  const possible = members.filter(isPossible)
  if (alike !== undefined) possible.sort((a, b) => byRank(alike.rankOf, a.name, b.name))
  return { members: possible, others, counts }
}

/** Whether the required members are possible. */
export function someObject(
  bases: readonly SchemaNode[],
  asked: number,
  emission: Emission,
  depth: number,
): boolean {
  const counts = memberCounts(bases)
  const { min, max } = counts
  if (max < min) return false
  const whole = wholeOf(bases, asked, counts, emission)
  const names = whole.required
  for (const name of names) {
    if (!nameHolds(bases, name, emission)) return false
    const nodes = nodesOf(whole, name, emission)
    if (nodes.some(({ never: none }) => none) || !emission.possible(nodes, depth - 1)) return false
  }
  return names.size <= max
}

function memberCounts(bases: readonly SchemaNode[]): Counts {
  const counts = countsOf(bases, 'Properties')
  for (const base of bases) {
    for (const value of excludedBy(base).filter(isRecord)) {
      if (Object.keys(value).length > 0) {
        throw new SchemaError('enum', base.path, 'objects cannot be excluded')
      }
      counts.min = Math.max(counts.min, 1)
    }
  }
  return counts
}

function wholeOf(bases: readonly SchemaNode[], asked: number, { min }: Counts, emission: Emission): Whole {
  const closed = hasNoOthers(bases, min, emission)
  return { bases, asked, required: new Set(bases.flatMap(requiredBy)), closed }
}

function isPossible({ nodes }: Member): boolean {
  return !nodes.some((node) => node.never)
}

/** Undefined if a name is required that is not possible. */
function membersOf(whole: Whole, allowed: Automaton | undefined, emission: Emission): Member[] | undefined {
  const { bases, required } = whole
  const names = new Set(bases.flatMap(({ schema }) => Object.keys(schema.properties ?? {})))
  for (const name of required) names.add(name)
  for (const name of fewNames(allowed)) names.add(name)
  const members: Member[] = []
  for (const name of names) {
    emission.budget.spend(bases.length)
    const fits = nameHolds(bases, name, emission)
    const nodes = fits ? nodesOf(whole, name, emission) : [emission.document.node(false, '#')]
    const member = { name, required: required.has(name), nodes }
    if (member.required && !isPossible(member)) return undefined
    members.push(member)
  }
  return members
}

/** All that the schemas say about the member of a name, or about undeclared names that match these patterns. */
function nodesOf(whole: Whole, name: string | ReadonlySet<string>, emission: Emission): SchemaNode[] {
  const { bases, required } = whole
  const nodes: SchemaNode[] = []
  let evaluated = false
  for (const base of bases) {
    const found = memberSchemas(base, name, emission.texts)
    if (found.length > 0 && !base.derived) evaluated = true
    for (const { schema, keys } of found) {
      nodes.push(emission.document.node(schema, stepped(base.path, ...keys)))
    }
  }
  if (evaluated) return nodes
  // A required name was asked for, declared or not.
  const wanted = typeof name === 'string' && required.has(name)
  const closed = whole.closed && !(emission.closing === 'silent' && wanted)
  nodes.push(...undeclared({ ...whole, closed }, emission))
  return nodes
}

/** What holds for members that no schema declares. */
function undeclared({ bases, asked, closed }: Whole, emission: Emission): SchemaNode[] {
  const { document } = emission
  const nodes: SchemaNode[] = []
  for (const [i, { schema, path }] of bases.entries()) {
    if (schema.unevaluatedProperties === undefined || schema.unevaluatedProperties === true) continue
    if (i > 0 || asked > 1) {
      throw new SchemaError('unevaluatedProperties', path, 'it is inside a branch or next to other schemas')
    }
    nodes.push(document.node(schema.unevaluatedProperties, stepped(path, 'unevaluatedProperties')))
  }
  if (closed) nodes.push(document.node(false, '#'))
  return nodes
}

/** The undeclared names, split by the patterns that they match. */
function othersOf(
  whole: Whole,
  members: readonly Member[],
  allowed: Automaton | undefined,
  emission: Emission,
): Others[] {
  const { texts, budget } = emission
  const { bases } = whole
  const patterns = new Map<string, Automaton>()
  for (const { schema, path } of bases) {
    for (const source of Object.keys(schema.patternProperties ?? {})) {
      patterns.set(source, texts.pattern(source, stepped(path, 'patternProperties')))
    }
    if (patterns.size > maxPatterns) {
      throw new SchemaError('patternProperties', path, `more than ${maxPatterns} patterns apply at once`)
    }
  }
  const sources = [...patterns.keys()]
  let declared: Automaton | undefined
  const others: Others[] = []
  for (let set = 0; set < 2 ** sources.length; set++) {
    const matched = new Set(sources.filter((_, i) => (set & (1 << i)) !== 0))
    const nodes = nodesOf(whole, matched, emission)
    if (nodes.some((node) => node.never)) continue
    if (sources.length === 0 && members.length === 0 && allowed === undefined) {
      return [{ names: undefined, nodes }]
    }
    let names = allowed ?? texts.lengths(0, Number.POSITIVE_INFINITY)
    for (const [source, automaton] of patterns) {
      budget.spend(names.accepting.length)
      names = matched.has(source) ? texts.both(names, automaton) : texts.without(names, automaton)
    }
    declared ??= texts.exactly(members.map(({ name }) => name))
    names = texts.without(names, declared)
    if (!isEmpty(names)) others.push({ names, nodes })
  }
  return others
}

function membersExpr(
  { members, others, counts: { min, max } }: ObjectParts,
  asked: readonly SomeMember[],
  bases: readonly SchemaNode[],
  emission: Emission,
): Expr {
  const comma = sequence(literal(','), emission.space)
  const colon = sequence(literal(':'), emission.gap)
  const some = others.length > 0
  const entries = members.map(({ name, nodes }) =>
    sequence(literal(JSON.stringify(name)), colon, emission.value(nodes)),
  )
  const required = members.filter((member) => member.required).length
  const counted = min > required || (Number.isFinite(max) && (some || max < members.length))
  const path = bases.find(({ schema }) => schema.minProperties !== undefined)?.path ?? '#'
  const isRemembered = some && min - required > 1
  if (isRemembered && !hasNames(others, min, emission)) {
    const why = 'it is not certain that there are as many names as it needs'
    throw new SchemaError('minProperties', path, why)
  }
  const names = isRemembered ? emission.remembering({ keyword: 'minProperties', path }) : undefined
  const further = furtherMembers({ others, asked, min: counted ? min : 0, max, names }, emission)
  if (emission.anyOrder && members.length > 1) {
    const path = bases.find(({ schema }) => schema.properties !== undefined)?.path ?? '#'
    return anyOrderExpr({ members, entries, further, max, path }, emission)
  }
  if (!counted) return plainMembers(members, entries, further, comma, emission)

  // How many members have been written, as far as it matters.
  const last = Number.isFinite(max) ? max : min
  if ((members.length + 1) * (last + 1) > maxStates) {
    throw new BudgetExceededError('minProperties or maxProperties has too many combinations')
  }
  let next: Expr[] = Array.from({ length: last + 1 }, (_, count) => further(count))
  for (const [i, member] of members.entries().toArray().reverse()) {
    const entry = entries[i] ?? never
    next = next.map((without, count) => {
      // At most this many members can have been written before this one.
      if (count > i) return never
      const behind = count < last ? next[count + 1] : Number.isFinite(max) ? undefined : next[count]
      const ways: Expr[] = []
      if (behind !== undefined) ways.push(sequence(count === 0 ? emptyText : comma, entry, behind))
      if (!member.required) ways.push(without)
      return emission.named('members', alternatives(...ways))
    })
  }
  return next[0] ?? never
}

/** Only names whose values are possible count. */
function hasNames(others: readonly Others[], count: number, emission: Emission): boolean {
  const certain = others.filter(({ nodes }) => emission.hasAtLeast(nodes, 1))
  return certain.some(({ names }) => names === undefined || wordsOf(names, count - 1) === undefined)
}

/** Without counting: after the first required member nothing depends on what came before. */
function plainMembers(
  members: readonly Member[],
  entries: readonly Expr[],
  further: (written: number) => Expr,
  comma: Expr,
  emission: Emission,
): Expr {
  const firstRequired = members.findIndex(({ required }) => required)
  // behind[i]: at least one member is written, and those from i on follow.
  let behind: Expr = further(1)
  let first: Expr = firstRequired < 0 ? further(0) : never
  for (let i = members.length - 1; i >= 0; i--) {
    const entry = entries[i] ?? never
    const required = members[i]?.required === true
    // Every optional member up to the first required one may come first.
    const shared = firstRequired < 0 || i <= firstRequired
    if (shared) {
      const rest = isShort(behind) ? behind : emission.named('members', behind)
      first = required
        ? sequence(entry, rest)
        : alternatives(sequence(entry, rest), isShort(first) ? first : emission.named('members', first))
      behind = rest
    }
    const follow = sequence(comma, entry)
    behind = sequence(required ? follow : optional(follow), behind)
  }
  return first
}

function isShort(expr: Expr): boolean {
  return expr.kind === 'rule' || expr.kind === 'literal'
}
