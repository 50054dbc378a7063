import { LRUCache } from 'lru-cache'
import type { TaggedArguments, TaggedValue, ValueType } from '../../tools/call-format.ts'
import { propertyOf, typesOf } from '../../tools/reading/value-types.ts'
import { type Automaton, isEmpty } from '../automaton/automaton.ts'
import { SchemaError } from '../grammar/errors.ts'
import {
  alternatives,
  charClass,
  type Expr,
  literal,
  never,
  type Range,
  sequence,
} from '../grammar/expressions.ts'
import { marked } from '../grammar/symbols.ts'
import type { Emission } from '../schema/emission.ts'
import { countsOf, type SchemaNode } from '../schema/schema-document.ts'
import { stringAutomaton } from '../schema/strings.ts'
import { closedBy } from './closing-texts.ts'
import { type NamedEntry, objectEntries } from './entries.ts'
import { type Entry, inAnyOrder } from './orders.ts'

/** A length is counted by states, as many as it has characters times those that look for the mark behind the text. */
const mostStates = 4000

/** What tagged arguments are written with. */
interface Writing {
  format: TaggedArguments
  /** What may stand behind an argument that has no mark of its own there. */
  ends: readonly string[]
  parameters: unknown
  emission: Emission
  /** The texts up to each mark. */
  texts: Map<string, Expr>
}

/** Arguments that have marks of their own. `close` is what stands behind the last of them. */
export function taggedExpr(
  format: TaggedArguments,
  close: string,
  parameters: unknown,
  root: SchemaNode,
  emission: Emission,
): Expr {
  const befores = Object.values(format.values).map(({ before }) => before)
  const { head, between, tail, empty = head + tail } = format
  const ends = [...new Set([...befores.map((before) => between + before), tail + close])].filter(
    (end) => end !== '',
  )
  const writing: Writing = { format, ends, parameters, emission, texts: new Map() }
  return objectEntries(root, emission, (entries) =>
    inAnyOrder(
      entries.map((entry) => entryOf(entry, writing)),
      { head: marked(head), between: marked(between), tail: marked(tail), empty: marked(empty) },
      emission,
    ),
  )
}

function entryOf({ name, names, nodes, isRequired }: NamedEntry, writing: Writing): Entry {
  const { emission } = writing
  const key = name === undefined ? emission.write(undeclaredNames(names, writing), classOf) : literal(name)
  const isWritten = name === undefined || isKey(name, writing)
  // No schema names a property so.
  const expr = isWritten ? argumentExpr(key, name ?? '\0', nodes, writing) : never
  return { expr: emission.named('argument', expr), isRequired, mayRepeat: name === undefined }
}

/** Before the key, the key, what stands between, the value, and what stands behind it, by the types that it may have. */
function argumentExpr(key: Expr, name: string, nodes: readonly SchemaNode[], writing: Writing): Expr {
  const types = typesOf(propertyOf(writing.parameters, name, writing.parameters), writing.parameters)
  const groups = Map.groupBy(
    Object.entries(writing.format.values) as [ValueType, TaggedValue][],
    ([, value]) => JSON.stringify([value.before, value.mid, value.after]),
  )
  return alternatives(
    ...[...groups.values()].map((group) => {
      const fitting = group.filter(([type]) => types.has(type))
      const [[, { before, mid, after }] = group[0] as [ValueType, TaggedValue]] = group
      // What the schema says nothing of is read as the marks say.
      const value = valueExpr(new Map(fitting.length === 0 ? group : fitting), nodes, after, writing)
      return sequence(marked(before), key, marked(mid), value, marked(after))
    }),
  )
}

function valueExpr(
  types: ReadonlyMap<ValueType, TaggedValue>,
  nodes: readonly SchemaNode[],
  after: string,
  writing: Writing,
): Expr {
  const { emission } = writing
  const isRaw = types.get('string')?.written === 'raw'
  const others = [...types.keys()].filter((type) => !(isRaw && type === 'string'))
  const ofTypes = (...of: ValueType[]) => [
    ...nodes,
    emission.document.derive({ type: of }, nodes[0]?.path ?? '#'),
  ]
  return alternatives(
    ...(others.length === 0 ? [] : [emission.value(ofTypes(...others))]),
    ...(isRaw ? [rawExpr(ofTypes('string'), others, after, writing)] : []),
  )
}

/** The same for all tools of a catalogue, so that they are written once. */
const readableTexts = new LRUCache<string, Automaton>({ max: 200 })
const readableLanguages = new WeakMap<Automaton, Map<string, Automaton>>()

/** The characters of a text as they are, but for those that would be read as something else. */
function rawExpr(
  nodes: readonly SchemaNode[],
  others: readonly ValueType[],
  after: string,
  { emission, ends, texts: known }: Writing,
): Expr {
  const { texts } = emission
  const marks = after === '' ? ends : [after]
  const key = JSON.stringify([marks, others])
  const readable = () => {
    const before = readableTexts.get(key)
    if (before !== undefined) return before
    const left = others.reduce(
      (all, type) => texts.without(all, texts.pattern(jsonOf[type], '#')),
      closedBy(marks),
    )
    readableTexts.set(key, left)
    return left
  }
  const readableOf = (language: Automaton) => {
    const byKey = readableLanguages.get(language) ?? new Map<string, Automaton>()
    readableLanguages.set(language, byKey)
    const automaton = byKey.get(key) ?? texts.both(language, readable())
    byKey.set(key, automaton)
    return automaton
  }
  return alternatives(
    ...emission.cases.of(nodes).map(({ bases, values }) => {
      const language =
        values === undefined
          ? stringAutomaton(counted(bases, marks), texts)
          : texts.exactly(values.filter((value) => typeof value === 'string'))
      if (language !== undefined) {
        const automaton = readableOf(language)
        return isEmpty(automaton) ? never : emission.write(automaton, classOf)
      }
      const expr = known.get(key) ?? emission.named('text', emission.write(readable(), classOf))
      known.set(key, expr)
      return expr
    }),
  )
}

function counted(bases: readonly SchemaNode[], marks: readonly string[]): readonly SchemaNode[] {
  const { min, max } = countsOf(bases, 'Length')
  const states = Math.max(...marks.map(({ length }) => length))
  const most = Math.floor(mostStates / states)
  for (const [keyword, count] of [
    ['minLength', min],
    ['maxLength', Number.isFinite(max) ? max : 0],
  ] as const) {
    if (count <= most) continue
    const path = bases.find(({ schema }) => Number(schema[keyword]) === count)?.path ?? '#'
    throw new SchemaError(keyword, path, `a text between marks is counted up to ${most} characters`)
  }
  return bases
}

/** What a text must not look like where the value may be of the type. */
const jsonOf: Readonly<Record<ValueType, string>> = {
  string: '^"',
  number: '^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$',
  boolean: '^(true|false)$',
  null: '^null$',
  object: '^\\{',
  array: '^\\[',
}

/** Names are written as they are, and end where the mark behind them begins. */
function isKey(name: string, { format }: Writing): boolean {
  if (name === '' || name !== name.trim() || !name.isWellFormed()) return false
  return Object.values(format.values).every(({ mid }) => mid.trim() === '' || !name.includes(mid.trim()))
}

const mostOfKey = 128

function undeclaredNames(names: Automaton | undefined, { format, emission: { texts } }: Writing): Automaton {
  const firsts = Object.values(format.values).map(({ mid }) => mid.trim().codePointAt(0) ?? 0x20)
  const excluded = [...new Set(firsts)].filter((point) => point < 0xd800 || point > 0xdfff)
  const written = excluded.map((point) => `\\u{${point.toString(16)}}`).join('')
  const keys = texts.both(texts.pattern(`^[^\\s${written}]+$`, '#'), texts.lengths(1, mostOfKey))
  return names === undefined ? keys : texts.both(names, keys)
}

function classOf(ranges: readonly Range[]): Expr {
  return charClass(...ranges)
}
