import {
  alternatives,
  ConstraintError,
  charClass,
  type Expr,
  emptyText,
  isNever,
  literal,
  never,
  type Range,
  repetition,
  rule,
  sequence,
} from '../../constraints/index.ts'
import type { Path } from './paths.ts'

/** Texts that begin like a mark in more ways than this are left out. */
const maxStates = 2_000
/** Characters of all states: each is known by its whole rest, which for a choice may be a million characters. */
const maxSource = 8_000_000

/** Rules that begin with one another. */
const maxDepth = 1_000

const white = /\s/u
/** White space as `trimStart` defines it. */
const spaces: readonly number[] = Array.from({ length: 0x10000 }, (_, point) => point).filter((point) =>
  white.test(String.fromCharCode(point)),
)

/**
 * The texts of an expression that do not begin with a complete mark, with or without white space before it: such a
 * beginning is read as what the mark opens. Rules that it needs are added, with names that begin with the prefix.
 */
export function withoutPrefix(expr: Expr, mark: Path, prefix: string, rules: Map<string, Expr>): Expr {
  const split = createSplitting(rules)
  const names = new Map<string, string>()
  const numbers = new Map<Path, number>([[mark, 0]])
  let left = maxSource

  const numberOf = (path: Path): number => {
    const known = numbers.get(path) ?? numbers.size
    numbers.set(path, known)
    return known
  }

  const without = (rest: Expr, path: Path): Expr => {
    if (path.armed !== undefined || isNever(rest)) return never
    const wanted = new Set([...path.steps.keys(), ...(path === mark ? spaces : [])])
    const { behind, others, isEmpty } = split(rest, wanted, `${numberOf(path)}`)
    if (behind.size === 0) return rest
    const source = JSON.stringify([rest, numberOf(path)], withInfinity)
    const known = names.get(source)
    if (known !== undefined) return rule(known)
    left -= source.length
    if (names.size === maxStates || left < 0) return never
    const name = `${prefix}-${names.size}`
    names.set(source, name)
    const rests = Array.from(behind, ([point, next]): [number, Expr] => [
      point,
      without(next, path.steps.get(point) ?? mark),
    ])
    rules.set(name, alternatives(...(isEmpty ? [emptyText] : []), others, ...byRest(rests)))
    return rule(name)
  }
  return without(expr, mark)
}

/** Characters with the same rest form one class: there may be two dozen kinds of white space. */
function byRest(rests: readonly (readonly [point: number, rest: Expr])[]): Expr[] {
  const classes = Map.groupBy(rests, ([, rest]) => JSON.stringify(rest, withInfinity))
  return Array.from(classes.values(), (same) => {
    const ranges = same.map(([point]): Range => [point, point])
    return sequence(charClass(...ranges), (same[0] as readonly [number, Expr])[1])
  })
}

/** The texts of an expression by their first character. */
interface Split {
  /** What follows each of the characters that are asked for. */
  behind: ReadonlyMap<number, Expr>
  /** The texts that begin with another character. */
  others: Expr
  /** Whether the empty text is one of them. */
  isEmpty: boolean
}

/** No text at all. */
const nothing: Split = { behind: new Map(), others: never, isEmpty: false }

function createSplitting(rules: ReadonlyMap<string, Expr>) {
  const known = new Map<string, Split>()
  const open = new Set<string>()

  function split(expr: Expr, wanted: ReadonlySet<number>, kind: string): Split {
    switch (expr.kind) {
      case 'literal': {
        const point = expr.text.codePointAt(0) as number
        if (!wanted.has(point)) return { ...nothing, others: expr }
        return { ...nothing, behind: new Map([[point, literal(expr.text.slice(point > 0xffff ? 2 : 1))]]) }
      }
      case 'class': {
        const has = [...wanted].filter((point) => expr.ranges.some(([a, b]) => a <= point && point <= b))
        if (has.length === 0) return { ...nothing, others: expr }
        const behind = new Map(has.map((point) => [point, emptyText]))
        return { ...nothing, behind, others: charClass(...lessPoints(expr.ranges, has)) }
      }
      case 'sequence': {
        const [head, ...tail] = expr.of
        if (head === undefined) return { ...nothing, isEmpty: true }
        const first = followed(split(head, wanted, kind), sequence(...tail))
        if (!first.isEmpty) return first
        const second = split(sequence(...tail), wanted, kind)
        return { ...joined([first, second]), isEmpty: second.isEmpty }
      }
      case 'alternatives': {
        const options = expr.of.map((option) => split(option, wanted, kind))
        return { ...joined(options), isEmpty: options.some(({ isEmpty }) => isEmpty) }
      }
      case 'repetition': {
        const once = split(expr.of, wanted, kind)
        const rest = repetition(expr.of, Math.max(expr.min - 1, 0), expr.max - 1)
        return { ...followed(once, rest), isEmpty: expr.min === 0 || once.isEmpty }
      }
      case 'rule':
        return splitRule(expr, wanted, kind)
    }
  }

  function splitRule(
    expr: Extract<Expr, { kind: 'rule' }>,
    wanted: ReadonlySet<number>,
    kind: string,
  ): Split {
    const key = `${kind} ${expr.name}`
    const before = known.get(key)
    if (before !== undefined) return before
    // A rule that begins with itself is refused when the grammar is packed.
    if (open.has(key)) return { ...nothing, others: expr }
    if (open.size === maxDepth)
      throw new ConstraintError('unsupported', `more than ${maxDepth} rules begin with one another`)
    open.add(key)
    const found = split(rules.get(expr.name) ?? never, wanted, kind)
    const isUntouched = found.behind.size === 0 && !found.isEmpty
    const result = isUntouched ? { ...found, others: expr } : found
    open.delete(key)
    known.set(key, result)
    return result
  }
  return split
}

function followed({ behind, others, isEmpty }: Split, rest: Expr): Split {
  return {
    behind: new Map(Array.from(behind, ([point, next]) => [point, sequence(next, rest)])),
    others: sequence(others, rest),
    isEmpty,
  }
}

function joined(all: readonly Split[]): Omit<Split, 'isEmpty'> {
  const behind = new Map<number, Expr>()
  for (const entry of all) {
    for (const [point, next] of entry.behind) {
      const before = behind.get(point)
      behind.set(point, before === undefined ? next : alternatives(before, next))
    }
  }
  return { behind, others: alternatives(...all.map(({ others }) => others)) }
}

function lessPoints(ranges: readonly Range[], points: readonly number[]): Range[] {
  return ranges.flatMap(([first, last]) => {
    const within = points.filter((point) => first <= point && point <= last).toSorted((a, b) => a - b)
    const starts = [first, ...within.map((point) => point + 1)]
    const ends = [...within.map((point) => point - 1), last]
    return starts.flatMap((start, at): Range[] => {
      const end = ends[at] as number
      return start <= end ? [[start, end]] : []
    })
  })
}

function withInfinity(_key: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? 'without end' : value
}
