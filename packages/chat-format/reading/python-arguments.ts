import { absent, type Ending, short } from './literals.ts'
import type { PartCollector } from './part-collector.ts'
import { readQuotedText } from './quoted-text.ts'
import { isSpace, type PieceReader, readUntil, type Source, untilCertain } from './source.ts'
import { textSearcher } from './text-searcher.ts'

const maxDepth = 64
const maxKeyLength = 512

/** Matches what follows `name(`: an argument with its key, or the end. */
export function pythonBegins(text: string, at: number): Ending {
  const found = argumentAt(text, at)
  return typeof found === 'object' || found >= 0 ? at : found
}

/**
 * Reads Python keyword arguments and emits them as JSON, up to the bracket that closes them. Anything unreadable ends
 * them, so that the result is JSON all the same. False when the text ends before they do.
 */
export function* readPython(source: Source, collector: PartCollector): PieceReader<boolean> {
  for (let isFirst = true; ; ) {
    const found = argumentAt(source.text, source.at, !isFirst)
    if (found === short) {
      if (source.isOver) return false
      yield
      continue
    }
    if (typeof found !== 'object') {
      if (found >= 0) source.at = found
      collector.arguments(isFirst ? '{}' : '}')
      return true
    }
    source.at = found.end
    collector.arguments(`${isFirst ? '{' : ', '}${JSON.stringify(found.key)}: `)
    isFirst = false
    const read = yield* readPythonValue(source, collector, 0)
    if (read === 'over') return false
  }
}

interface Argument {
  key: string
  end: number
}

/** An argument, or the position of the closing bracket. */
function argumentAt(text: string, at: number, isBehindAnother = false): Argument | Ending {
  let from = afterSpace(text, at)
  if (text[from] === ')') return from
  if (isBehindAnother) {
    if (from < text.length && text[from] !== ',') return absent
    from = afterSpace(text, from + 1)
    if (text[from] === ')') return from
  }
  let end = from
  while (end < text.length && end - from < maxKeyLength && !'=,()\'"'.includes(text[end] as string)) end++
  if (end >= text.length) return short
  const key = text.slice(from, end).trim()
  return text[end] === '=' && key !== '' ? { key, end: end + 1 } : absent
}

function afterSpace(text: string, at: number): number {
  let end = at
  while (end < text.length && isSpace(text.charCodeAt(end))) end++
  return end
}

/** Skips white space and waits for the next character; undefined when the text is over. */
function* readNext(source: Source): PieceReader<string | undefined> {
  for (;;) {
    source.at = afterSpace(source.text, source.at)
    if (source.at < source.text.length) return source.text[source.at]
    if (source.isOver) return undefined
    yield
  }
}

/** `strange`: there is no value here, or one that does not end as it began. */
type ReadValue = 'value' | 'strange' | 'over'

/**
 * Reads a value in Python or JSON syntax and emits it as JSON. If a further quote is given, texts between two of it
 * have no escapes.
 */
export function* readPythonValue(
  source: Source,
  collector: PartCollector,
  depth: number,
  quote?: string,
): PieceReader<ReadValue> {
  const first = yield* readNext(source)
  if (first === undefined) return 'over'
  if (quote !== undefined && (yield* untilCertain(source, textSearcher(quote, 'here').seek)) !== 'no')
    return yield* readPlainText(source, collector, quote)
  if (first === '"' || first === "'") {
    collector.arguments('"')
    if (!(yield* readQuotedText(source, collector.text, pythonEscapeAt))) return 'over'
    collector.arguments('"')
    return 'value'
  }
  if (first === '[' || first === '{')
    return depth === maxDepth ? 'strange' : yield* readMany(source, collector, depth, quote)
  return yield* readWord(source, collector)
}

/** A text without escapes. */
function* readPlainText(source: Source, collector: PartCollector, quote: string): PieceReader<ReadValue> {
  source.at += quote.length
  collector.arguments('"')
  if ((yield* readUntil(source, [textSearcher(quote, 'here')], collector.text)) === undefined) return 'over'
  source.at += quote.length
  collector.arguments('"')
  return 'value'
}

function* readMany(
  source: Source,
  collector: PartCollector,
  depth: number,
  quote: string | undefined,
): PieceReader<ReadValue> {
  const isList = source.text[source.at] === '['
  const end = isList ? ']' : '}'
  source.at++
  collector.arguments(isList ? '[' : '{')
  for (let isFirst = true; ; isFirst = false) {
    let next = yield* readNext(source)
    if (next === ',' && !isFirst) {
      source.at++
      next = yield* readNext(source)
      if (next !== end && next !== undefined) collector.arguments(', ')
    } else if (!isFirst && next !== end && next !== undefined) {
      collector.arguments(end)
      return 'strange'
    }
    if (next === undefined) return 'over'
    if (next === end) {
      source.at++
      collector.arguments(end)
      return 'value'
    }
    const read = isList
      ? yield* readPythonValue(source, collector, depth + 1, quote)
      : yield* readMember(source, collector, depth + 1, quote)
    if (read === 'strange') collector.arguments(end)
    if (read !== 'value') return read
  }
}

function* readMember(
  source: Source,
  collector: PartCollector,
  depth: number,
  quote: string | undefined,
): PieceReader<ReadValue> {
  const first = source.text[source.at]
  const isText =
    first === '"' ||
    first === "'" ||
    (quote !== undefined && (yield* untilCertain(source, textSearcher(quote, 'here').seek)) !== 'no')
  if (!isText) collector.arguments('"')
  const key = isText
    ? yield* readPythonValue(source, collector, depth, quote)
    : yield* readWord(source, collector, true)
  if (!isText && key === 'value') collector.arguments('"')
  if (key !== 'value') return key
  const next = yield* readNext(source)
  if (next === undefined) return 'over'
  collector.arguments(': ')
  if (next !== ':') {
    collector.arguments('null')
    return 'strange'
  }
  source.at++
  const read = yield* readPythonValue(source, collector, depth, quote)
  return read
}

const words: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' }
const maxWord = 512

/** A number, or a word such as a constant. */
function* readWord(source: Source, collector: PartCollector, isKey = false): PieceReader<ReadValue> {
  for (;;) {
    const { text, at } = source
    let end = at
    while (end < text.length && end - at < maxWord && !',:)]}\'"[({'.includes(text[end] as string)) end++
    if (end === text.length && !source.isOver && end - at < maxWord) {
      yield
      continue
    }
    const word = text.slice(at, end).trim()
    if (end === text.length) return 'over'
    source.at = end
    collector.arguments(isKey ? JSON.stringify(word).slice(1, -1) : jsonOf(word))
    return word === '' ? 'strange' : 'value'
  }
}

function jsonOf(word: string): string {
  if (word === '') return 'null'
  if (Object.hasOwn(words, word)) return words[word] as string
  if (/^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/.test(word)) return word
  const number = /^[+-]?[\d_]*\.?[\d_]*([eE][+-]?\d+)?$/.test(word)
    ? Number(word.replaceAll('_', ''))
    : Number.NaN
  return JSON.stringify(Number.isFinite(number) ? number : word)
}

const single: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  // Also an escape in JSON.
  '/': '/',
}

const digitsOf: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

/** An escape of a Python string. */
function pythonEscapeAt(
  text: string,
  at: number,
  isOver: boolean,
): { says: string; end: number } | undefined {
  const kind = text[at + 1]
  if (kind === undefined) return undefined
  const says = single[kind]
  if (says !== undefined) return { says, end: at + 2 }
  if (kind >= '0' && kind <= '7') {
    const digits = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4))?.[0] ?? ''
    if (digits.length < 3 && at + 1 + digits.length === text.length && !isOver) return undefined
    return { says: String.fromCodePoint(Number.parseInt(digits, 8)), end: at + 1 + digits.length }
  }
  const length = digitsOf[kind]
  // An unknown escape is kept unchanged.
  const plain = { says: `\\${kind}`, end: at + 2 }
  if (length === undefined) return plain
  const digits = text.slice(at + 2, at + 2 + length)
  if (!/^[\da-f]*$/i.test(digits)) return plain
  if (digits.length < length) return isOver ? plain : undefined
  const point = Number.parseInt(digits, 16)
  const end = at + 2 + length
  if (point > 0x10ffff) return plain
  if (kind !== 'u' || point < 0xd800 || point > 0xdbff) return { says: String.fromCodePoint(point), end }
  // A character beyond the first plane may be written as a surrogate pair, as in JSON.
  const second = /^\\u(d[c-f][\da-f]{2})/i.exec(text.slice(end, end + 6))?.[1]
  if (second !== undefined) {
    return { says: String.fromCharCode(point, Number.parseInt(second, 16)), end: end + 6 }
  }
  const isMore = text.length < end + 6 && '\\u'.startsWith(text.slice(end, end + 2))
  return isMore && !isOver ? undefined : { says: String.fromCharCode(point), end }
}
