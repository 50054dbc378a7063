import {
  type Automaton,
  alternatives,
  type Emission,
  type Expr,
  literal,
  marked,
  never,
  type SchemaNode,
  sequence,
} from '../../constraints/index.ts'
import type { TaggedArguments, TaggedValue, ValueType } from '../call-format.ts'
import { propertyOf, typesOf } from '../reading/value-types.ts'
import { type NamedEntry, objectEntries } from './entries.ts'
import { type Entry, inAnyOrder } from './orders.ts'
import { pythonWords } from './python-arguments.ts'
import { quotedValue } from './quoted-values.ts'
import { classOf, rawText } from './raw-text.ts'

/** What tagged arguments are written with. */
interface Writing {
  format: TaggedArguments
  /** What may follow an argument that has no closing mark of its own. */
  ends: readonly string[]
  parameters: unknown
  emission: Emission
}

/** Arguments that have marks of their own. `close` is what follows the last of them. */
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
  const writing: Writing = { format, ends, parameters, emission }
  return objectEntries([root], emission, (entries) =>
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
  // No schema names a property this way.
  const expr = isWritten ? argumentExpr(key, name ?? '\0', nodes, writing) : never
  return { expr: emission.named('argument', expr), isRequired, mayRepeat: name === undefined }
}

/**
 * The text before the key, the key, the text in between, the value, and the text after it, by the types that the value
 * may have.
 */
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
      // If the schema says nothing about the types, the marks decide how the value is read.
      const value = valueExpr(new Map(fitting.length === 0 ? group : fitting), nodes, after, writing)
      return sequence(marked(before), key, marked(mid), value, marked(after))
    }),
  )
}

function valueExpr(
  types: ReadonlyMap<ValueType, TaggedValue>,
  nodes: readonly SchemaNode[],
  after: string,
  { emission, ends, format: { quote = '', words } }: Writing,
): Expr {
  const writtenAs = (written: TaggedValue['written']) =>
    [...types.keys()].filter((type) => types.get(type)?.written === written)
  const ofTypes = (...of: ValueType[]) => [
    ...nodes,
    emission.document.derive({ type: of }, nodes[0]?.path ?? '#'),
  ]
  const [json, quoted] = [writtenAs('json'), writtenAs('quoted')]
  return alternatives(
    ...(json.length === 0 ? [] : [emission.value(ofTypes(...json))]),
    ...(quoted.length === 0 ? [] : [quotedValue(ofTypes(...quoted), quote, emission)]),
    // Among texts, such a word is a text.
    ...(words === 'python' && !types.has('string') ? pythonWords(ofTypes('boolean', 'null'), emission) : []),
    ...(types.get('string')?.written === 'raw' ? [textExpr()] : []),
  )

  function textExpr(): Expr {
    const marks = after === '' ? ends : [after]
    const others = [...json, ...quoted]
    const wrap = types.get('string')?.wrap
    if (wrap === undefined) return rawText(ofTypes('string'), { marks, others }, emission)
    const plain = rawText(ofTypes('string'), { marks, others, begins: [wrap.open] }, emission)
    const wrapped = rawText(ofTypes('string'), { marks: [wrap.close] }, emission)
    return alternatives(plain, sequence(marked(wrap.open), wrapped, marked(wrap.close)))
  }
}

/** Names are written as they are, and end where the mark after them begins. */
function isKey(name: string, { format }: Writing): boolean {
  if (name === '' || name !== name.trim() || !name.isWellFormed()) return false
  return Object.values(format.values).every(({ mid }) => mid.trim() === '' || !name.includes(mid.trim()))
}

const maxKeyLength = 128

function undeclaredNames(names: Automaton | undefined, { format, emission: { texts } }: Writing): Automaton {
  const firsts = Object.values(format.values).map(({ mid }) => mid.trim().codePointAt(0) ?? 0x20)
  const excluded = [...new Set(firsts)].filter((point) => point < 0xd800 || point > 0xdfff)
  const written = excluded.map((point) => `\\u{${point.toString(16)}}`).join('')
  const keys = texts.both(texts.pattern(`^[^\\s${written}]+$`, '#'), texts.lengths(1, maxKeyLength))
  return names === undefined ? keys : texts.both(names, keys)
}
