import { type Automaton, isEmpty } from '../automaton/automaton.ts'
import { BudgetExceededError } from '../grammar/budget.ts'
import { SchemaError } from '../grammar/errors.ts'
import { alternatives, type Expr, literal, never, repetition, sequence } from '../grammar/expressions.ts'
import { mark } from '../grammar/marks.ts'
import type { Emission } from './emission.ts'
import { inJsonString } from './json-characters.ts'
import { namesThat } from './names.ts'
import type { SchemaNode } from './schema-document.ts'
import { memberValue, type SomeMember } from './some-member.ts'
import { quoted } from './strings.ts'
import { separated } from './values.ts'

/** Undeclared names and the schemas of their values. */
export interface Others {
  /** Undefined for all names. */
  names: Automaton | undefined
  nodes: readonly SchemaNode[]
}

/** What may be written after the declared members of an object. */
interface Further {
  others: readonly Others[]
  /** Each of these has to be found among the undeclared members. */
  asked: readonly SomeMember[]
  min: number
  max: number
  /** Present if none of their names may be written twice. */
  names: Emission | undefined
}

const maxStates = 2_000

/** The undeclared members and the closing brace, after `written` declared members. */
export function furtherMembers(further: Further, emission: Emission): (written: number) => Expr {
  const { others, min, max, names } = further
  if (further.asked.length > 0) {
    if (names !== undefined) {
      const why = 'it needs members without a declared name in addition to those that a negation requires'
      throw new SchemaError('minProperties', further.asked[0]?.path ?? '#', why)
    }
    return askedMembers(further, emission)
  }
  const other = alternatives(...others.map((group) => entryOf(group, emission, names)))
  const { comma, close } = ends(emission)
  if (names !== undefined) return rememberedMembers(other, further, emission)
  return (written) =>
    written === 0
      ? separated(other, min, max, '}', emission.space)
      : sequence(repetition(sequence(comma, other), Math.max(min - written, 0), max - written), close)
}

/** The code that follows the grammar remembers the names. */
function rememberedMembers(
  other: Expr,
  { min, max }: Further,
  emission: Emission,
): (written: number) => Expr {
  const { comma, close } = ends(emission)
  const more = (least: number, most: number) => repetition(sequence(comma, other), Math.max(least, 0), most)
  return (written) => {
    if (written > 0) {
      const none = min > written ? never : close
      const some = sequence(
        mark('open'),
        more(Math.max(min - written, 1), max - written),
        mark('close'),
        close,
      )
      return alternatives(some, none)
    }
    const some = sequence(mark('open'), other, more(min - 1, max - 1), mark('close'), close)
    return min > 0 ? some : alternatives(some, literal('}'))
  }
}

/**
 * A rule for each set of those that were found, as bits. Names may repeat, and then the last value counts. So once one
 * was found, every later member with a name that qualifies has to be such a member as well.
 */
function askedMembers({ others, asked, min, max }: Further, emission: Emission): (written: number) => Expr {
  const all = 2 ** asked.length - 1
  const values = asked.map((member) => memberValue(member, emission))
  /** Those that any value satisfies. */
  const certain = asked.reduce((bits, { value }, i) => (value === true ? bits | (1 << i) : bits), 0)
  const groups = partsOf(others, asked, emission)
  const { comma, close } = ends(emission)
  const last = Number.isFinite(max) ? max : min
  if ((last + 1) * (all + 1) > maxStates) {
    throw new BudgetExceededError('minProperties or maxProperties has too many combinations')
  }
  const states = new Map<string, Expr>()

  const ways = (written: number, found: number, between: Expr): { next: Expr[]; loops: Expr[] } => {
    const next: Expr[] = []
    const loops: Expr[] = []
    const count = written < last ? written + 1 : Number.isFinite(max) ? undefined : written
    for (const { names, nodes, within } of count === undefined ? [] : groups) {
      for (let more = 0; more <= all; more++) {
        // What the entry counts for: at least everything that includes its name and was found before.
        if ((more & ~within) !== 0 || (within & (found | certain) & ~more) !== 0) continue
        const demanded = values.filter((_, i) => (more & (1 << i)) !== 0)
        const entry = sequence(between, entryOf({ names, nodes: [...nodes, ...demanded] }, emission))
        if (count === written && (found | more) === found) loops.push(entry)
        else next.push(sequence(entry, behind(count ?? written, found | more)))
      }
    }
    return { next, loops }
  }

  const behind = (written: number, found: number): Expr => {
    const key = `${written}:${found}`
    const known = states.get(key)
    if (known !== undefined) return known
    const { next, loops } = ways(written, found, comma)
    if (written >= min && found === all) next.push(close)
    const expr = sequence(repetition(alternatives(...loops), 0), alternatives(...next))
    const state = emission.named('members', expr)
    states.set(key, state)
    return state
  }

  return (written) => {
    const count = Math.min(written, last)
    if (written > 0) return written > max ? never : behind(count, 0)
    const { next, loops } = ways(0, 0, sequence())
    return alternatives(...next, ...loops.map((entry) => sequence(entry, behind(0, 0))))
  }
}

/** Splits the names by what is asked for that may be among them, as bits. */
function partsOf(
  others: readonly Others[],
  asked: readonly SomeMember[],
  emission: Emission,
): (Others & { within: number })[] {
  const { texts } = emission
  const languages = asked.map(({ names }) => namesThat([names], emission))
  const groups: (Others & { within: number })[] = []
  for (const { names, nodes } of others) {
    const every = names ?? texts.lengths(0, Number.POSITIVE_INFINITY)
    for (let within = 0; within < 2 ** asked.length; within++) {
      let own = every
      for (const [i, language] of languages.entries()) {
        own = (within & (1 << i)) === 0 ? texts.without(own, language) : texts.both(own, language)
      }
      if (!isEmpty(own)) groups.push({ names: own, nodes, within })
    }
  }
  return groups
}

/** `alike` is given if the names are remembered. */
function entryOf({ names, nodes }: Others, emission: Emission, alike?: Emission): Expr {
  const any = (alike ?? emission).string
  const key = names === undefined ? any : quoted(emission.write(names, inJsonString))
  const name = alike === undefined ? key : sequence(mark('item'), key, mark('done'))
  return sequence(name, literal(':'), emission.gap, emission.value(nodes))
}

function ends({ space }: Emission): { comma: Expr; close: Expr } {
  return { comma: sequence(literal(','), space), close: sequence(space, literal('}')) }
}
