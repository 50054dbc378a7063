import { storableText } from '../text.ts'
import { isListIndex } from './path.ts'

/**
 * Values inside stored JSON, as slices of the text itself: parsing would lose digits, the order of keys and the escapes.
 * The text is known to be JSON without space between its tokens.
 */
export function valueAt(json: string, path: readonly string[]): string | undefined {
  let value: string | undefined = json
  for (const segment of path) {
    if (value === undefined) return undefined
    value = value[0] === '[' && !isListIndex(segment) ? undefined : memberOf(value, segment)
  }
  return value
}

/** The members of an object, as they are written. */
export function* membersOf(json: string): Generator<{ key: string; value: string }> {
  for (let at = 1; at < json.length - 1; ) {
    const keyEnd = stringEnd(json, at)
    const end = valueEnd(json, keyEnd + 1)
    yield { key: json.slice(at, keyEnd), value: json.slice(keyEnd + 1, end) }
    at = end + 1
  }
}

function memberOf(json: string, segment: string): string | undefined {
  const isList = json[0] === '['
  if (!isList && json[0] !== '{') return undefined
  let index = 0
  let at = 1
  while (at < json.length - 1) {
    let key = String(index++)
    if (!isList) {
      const end = stringEnd(json, at)
      key = keyOf(json.slice(at + 1, end - 1))
      at = end + 1
    }
    const end = valueEnd(json, at)
    if (key === segment) return json.slice(at, end)
    at = end + 1
  }
  return undefined
}

/** Where the string that starts here has ended: behind the next quote that no backslash takes. */
export function stringEnd(json: string, start: number): number {
  let end = json.indexOf('"', start + 1)
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1)
  return end + 1
}

function isEscaped(json: string, at: number): boolean {
  let from = at
  while (json[from - 1] === '\\') from--
  return (at - from) % 2 === 1
}

/** Most keys stand as they are. */
function keyOf(inner: string): string {
  return inner.includes('\\') ? (JSON.parse(`"${inner}"`) as string) : inner
}

function valueEnd(json: string, start: number): number {
  let at = start
  let depth = 0
  do {
    const token = json[at]
    if (token === '"') at = stringEnd(json, at)
    else if (token === '{' || token === '[') {
      depth++
      at++
    } else if (token === '}' || token === ']') {
      depth--
      at++
    } else if (token === ',' || token === ':') at++
    else while (at < json.length && !',]}'.includes(json[at] as string)) at++
  } while (depth > 0)
  return at
}

export function isPresent(json: string | undefined): json is string {
  return json !== undefined && json !== 'null'
}

/**
 * What a JSON value reads as: a string without quotes, a number as it was written except for a tail of zeros (5.0 is 5),
 * lists and objects as they are stored, and the empty text for null and for what is not there.
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

/** The escapes of what `storableText` replaces. A pair that belongs together and an escaped backslash are stepped over. */
const escapes = /\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u(?:0000|[dD][89a-fA-F]..)|\\./g

/** What is joined at a time, so that a text of escapes alone is not held as millions of pieces. */
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
