import { Scan } from '../../../packages/json/index.ts'
import { storableText } from '../text.ts'
import { isListIndex } from './path.ts'

/**
 * A value inside stored JSON, as a slice of the text: parsing would lose digits, the order of keys and escapes. The
 * text is known to be JSON without spaces between its tokens.
 */
export function valueAt(json: string, path: readonly string[]): string | undefined {
  const scan = new Scan(json)
  let at = 0
  for (const segment of path) {
    const inner = memberAt(scan, at, segment)
    if (inner === undefined) return undefined
    at = inner
  }
  return json.slice(at, scan.skip(at))
}

function memberAt(scan: Scan, at: number, segment: string): number | undefined {
  const isObject = scan.isObject(at)
  if (!isObject && !(scan.isList(at) && isListIndex(segment))) return undefined
  let index = 0
  let end = 0
  for (let i = scan.enter(at); i !== -1; i = scan.after(end)) {
    const value = isObject ? scan.key(i) : i
    if ((isObject ? scan.name : String(index++)) === segment) return value
    end = scan.skip(value)
  }
  return undefined
}

/** The number of items of a list; null for any other value. */
export function sizeOfList(json: string | undefined): number | null {
  if (json?.[0] !== '[') return null
  const scan = new Scan(json)
  let count = 0
  for (let i = scan.enter(0); i !== -1; i = scan.after(scan.skip(i))) count++
  return count
}

/** The members of an object, in their JSON spelling. */
export function* membersOf(json: string): Generator<{ key: string; value: string }> {
  const scan = new Scan(json)
  let end = 0
  for (let i = scan.enter(0); i !== -1; i = scan.after(end)) {
    const value = scan.key(i)
    end = scan.skip(value)
    yield { key: json.slice(i, value - 1), value: json.slice(value, end) }
  }
}

export function isPresent(json: string | undefined): json is string {
  return json !== undefined && json !== 'null'
}

/**
 * How a JSON value reads as text. A string has no quotes. A number is as it was written, without trailing zeros (5.0 is
 * 5). Lists and objects are as they are stored. Null and missing values read as the empty text.
 */
export function textOfJson(json: string | undefined): string {
  if (!isPresent(json)) return ''
  if (json[0] === '"') return storableText(JSON.parse(json) as string)
  if (json[0] === '{' || json[0] === '[') return storableJson(json)
  return textOfNumber(json)
}

export function textOfNumber(token: string): string {
  return token.replace(/\.0+$/, '')
}

/** The escapes of what `storableText` replaces. A valid surrogate pair and an escaped backslash are skipped. */
const escapes = /\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u(?:0000|[dD][89a-fA-F]..)|\\./g

/** Joined this many at a time, so that a text that is all escapes is not in memory as millions of pieces. */
const piecesAtOnce = 10_000

function storableJson(json: string): string {
  if (!json.includes('\\u')) return json
  const joined: string[] = []
  let pieces: string[] = []
  let from = 0
  for (const { 0: found, index } of json.matchAll(escapes)) {
    if (found.length !== 6) continue
    pieces.push(json.slice(from, index), '\\ufffd')
    from = index + found.length
    if (pieces.length < piecesAtOnce) continue
    joined.push(pieces.join(''))
    pieces = []
  }
  return from === 0 ? json : `${joined.join('')}${pieces.join('')}${json.slice(from)}`
}
