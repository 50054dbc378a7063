import type { TaggedValue, ValueType } from '../call-format.ts'
import { readJson } from './json-arguments.ts'
import { absent, inSequence, short, space, tolerantly } from './literals.ts'
import type { PartCollector } from './part-collector.ts'
import { readPythonValue } from './python-arguments.ts'
import { isSpace, type PieceReader, readUntil, type Searcher, type Source, untilCertain } from './source.ts'
import { textSearcher } from './text-searcher.ts'
import { typeOf } from './value-types.ts'

interface TypedValue {
  /** How the types with these marks are written. */
  of: ReadonlyMap<ValueType, TaggedValue['written']>
  /** The types that the schema allows. */
  types: ReadonlySet<ValueType>
  /** The quote around texts inside a value that is written `quoted`. */
  quote?: string | undefined
  /** The marks that may surround a text. */
  wrap?: TaggedValue['wrap']
  /** The mark after the value; if it is empty, one of `ends` ends the value, and is not read. */
  after: string
  ends: readonly string[]
}

/** No number is longer; anything longer is a text. */
const maxNumberLength = 64

/**
 * Reads a value and the mark after it, and emits it as JSON. A value that may be a text or another type is of the other
 * type if it can be. False when the text ends first.
 */
export function* readTypedValue(
  source: Source,
  collector: PartCollector,
  { of, types, quote, wrap, after, ends }: TypedValue,
): PieceReader<boolean> {
  const fitting = [...of.keys()].filter((type) => types.has(type))
  const possible = new Set(fitting.length === 0 ? of.keys() : fitting)
  // The number of characters of the match that are read.
  const end = after === '' ? ends.map((text) => textSearcher(text, 0)) : [textSearcher(after, after.length)]
  if (of.get('string') !== 'raw' || !possible.delete('string'))
    return yield* readJsonValue(source, collector, after, end, quote)
  if (wrap !== undefined && (yield* untilCertain(source, textSearcher(wrap.open, 0).seek)) !== 'no') {
    source.at += wrap.open.length
    return yield* readText(source, collector, [
      textSearcher(wrap.close + after, wrap.close.length + after.length),
    ])
  }
  if (possible.size === 0) return yield* readText(source, collector, end)
  return yield* readEither(source, collector, end, possible)
}

function* readText(
  source: Source,
  collector: PartCollector,
  end: readonly Searcher<number>[],
): PieceReader<boolean> {
  collector.arguments('"')
  return yield* readRest(source, end, collector.text, () => collector.arguments('"'))
}

function* readRest(
  source: Source,
  end: readonly Searcher<number>[],
  say: (text: string) => void,
  finish: () => void,
): PieceReader<boolean> {
  const length = yield* readUntil(source, end, say)
  if (length === undefined) return false
  source.at += length
  finish()
  return true
}

/** Holds back what may be another type than a text. */
function* readEither(
  source: Source,
  collector: PartCollector,
  end: readonly Searcher<number>[],
  types: ReadonlySet<ValueType>,
): PieceReader<boolean> {
  let held = ''
  let isText = false
  function say(text: string): void {
    if (isText) {
      collector.text(text)
      return
    }
    held += text
    isText = !mayBe(types, held)
    if (!isText) return
    collector.arguments('"')
    collector.text(held)
  }
  return yield* readRest(source, end, say, () => {
    if (!isText && types.has(typeOfJson(held))) collector.arguments(held)
    else {
      if (!isText) collector.arguments('"')
      if (!isText) collector.text(held)
      collector.arguments('"')
    }
  })
}

const words: readonly (readonly [ValueType, string])[] = [
  ['null', 'null'],
  ['boolean', 'true'],
  ['boolean', 'false'],
]

/** Whether a JSON value of one of these types may begin like this. */
function mayBe(types: ReadonlySet<ValueType>, text: string): boolean {
  if (words.some(([type, word]) => types.has(type) && word.startsWith(text))) return true
  if (types.has('object') && text.startsWith('{')) return true
  if (types.has('array') && text.startsWith('[')) return true
  return types.has('number') && text.length <= maxNumberLength && /^-?[\d.eE+-]*$/.test(text)
}

/** `string` if it is not JSON. */
function typeOfJson(text: string): ValueType {
  try {
    return typeOf(JSON.parse(text))
  } catch {
    return 'string'
  }
}

/** Reads a value in JSON or with the given quote. A word that is not JSON is a text. */
function* readJsonValue(
  source: Source,
  collector: PartCollector,
  after: string,
  end: readonly Searcher<number>[],
  quote: string | undefined,
): PieceReader<boolean> {
  for (;;) {
    while (source.at < source.text.length && isSpace(source.text.charCodeAt(source.at))) source.at++
    if (source.at < source.text.length) break
    if (source.isOver) return false
    yield
  }
  if (!'{["'.includes(source.text[source.at] as string)) {
    let held = ''
    return yield* readRest(
      source,
      end,
      (text) => {
        held += text
      },
      () => collector.arguments(jsonOf(held.trim())),
    )
  }
  const isWhole =
    quote === undefined
      ? yield* readJson(source, collector.arguments)
      : (yield* readPythonValue(source, collector, 0, quote)) !== 'over'
  if (!isWhole) return false
  const behind = inSequence([
    space,
    tolerantly([after], { isAfterName: false, isBeforeName: false, isJson: false }),
  ])
  for (;;) {
    const position = behind(source.text, source.at)
    if (position !== short) {
      if (position !== absent) source.at = position
      return true
    }
    if (source.isOver) return false
    yield
  }
}

const pythonWords: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' }

function jsonOf(text: string): string {
  if (Object.hasOwn(pythonWords, text)) return pythonWords[text] as string
  return typeOfJson(text) === 'string' ? JSON.stringify(text) : text
}
