import {
  type Automaton,
  alternatives,
  charClass,
  countsOf,
  createGroupCache,
  type Emission,
  type Expr,
  isEmpty,
  isSymbol,
  never,
  pointsOf,
  type Range,
  repetition,
  runOf,
  SchemaError,
  type SchemaNode,
  stringAutomaton,
} from '../../constraints/index.ts'
import type { ValueType } from '../call-format.ts'
import { closedBy } from './closing-texts.ts'

/** A text between marks, where nothing is escaped. */
interface Between {
  /** The marks that may follow the text, which ends at the first of them. */
  marks: readonly string[]
  /** The value may also be of one of these types: a text that looks like such a value is read as one. */
  others?: readonly ValueType[]
  /** A text that begins with one of these, ignoring white space, is read as something else. */
  begins?: readonly string[]
}

/** Counting a length takes a state for each character, multiplied by the states that look for the mark after the text. */
const maxStates = 4000

/** Shared by all tools of a catalogue, so that they are compiled once. */
const readableTexts = createGroupCache<Automaton>({ max: 200 })
const readableLanguages = new WeakMap<Automaton, Map<string, Automaton>>()

/** The texts as they are, except for those that would be read as something else. */
export function rawText(
  nodes: readonly SchemaNode[],
  { marks, others = [], begins = [] }: Between,
  emission: Emission,
): Expr {
  const { texts } = emission
  const starts = begins.filter((text) => !pointsOf(text).some(isSymbol))
  const key = JSON.stringify([marks, others, starts])
  const readable = () => {
    const before = readableTexts.get(key)
    if (before !== undefined) return before
    const unread = [...others.map((type) => jsonOf[type]), ...starts.map((text) => `^\\s*${literalIn(text)}`)]
    const left = unread.reduce(
      (all, pattern) => texts.without(all, texts.pattern(pattern, '#')),
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
      if (language === undefined)
        return emission.valueIn(`text ${key}`, [], () => emission.write(readable(), classOf))
      const automaton = readableOf(language)
      if (isEmpty(automaton)) return never
      const run = runOf(automaton)
      return run === undefined
        ? emission.write(automaton, classOf)
        : repetition(classOf(run.ranges), run.min, run.max)
    }),
  )
}

function counted(bases: readonly SchemaNode[], marks: readonly string[]): readonly SchemaNode[] {
  const { min, max } = countsOf(bases, 'Length')
  const states = Math.max(...marks.map(({ length }) => length))
  const most = Math.floor(maxStates / states)
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

/** What a text must not look like if the value may be of the type. */
const jsonOf: Readonly<Record<ValueType, string>> = {
  string: '^"',
  number: '^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$',
  boolean: '^(true|false)$',
  null: '^null$',
  object: '^\\{',
  array: '^\\[',
}

function literalIn(text: string): string {
  return Array.from(text, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join('')
}

export function classOf(ranges: readonly Range[]): Expr {
  return charClass(...ranges)
}
