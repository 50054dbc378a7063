import { Scan } from '../../../packages/json/index.ts'
import { JsonText } from '../../domain/json/text.ts'

/** The payload of a request, and what is found out about it while the body is read, because it may be large. */
export interface Payload {
  /** Only an outline if the payload is too large: it will be refused, and earlier rules read few members. */
  json: JsonText
  isTooLarge: boolean
}

export function payloadGiven(json: JsonText): Payload {
  const { text } = json
  return isBeyondLimit(text) ? { json: outlineOf(text), isTooLarge: true } : { json, isTooLarge: false }
}

const membersWithRules = new Set(['note', 'emoji', 'value', 'output'])

/** A longer value is refused; the message shows only its beginning. */
const maxShownLength = 2048

function outlineOf(text: string): JsonText {
  const members: string[] = []
  const scan = new Scan(text)
  let end = 0
  for (let i = scan.enter(0); i !== -1; i = scan.after(end)) {
    const from = scan.key(i)
    end = scan.skip(from)
    if (membersWithRules.has(scan.name))
      members.push(`${JSON.stringify(scan.name)}:${beginningOf(text.slice(from, end))}`)
  }
  return new JsonText(`{${members.join()}}`)
}

function beginningOf(member: string): string {
  if (member.length <= maxShownLength) return member
  if (member.startsWith('"')) return JSON.stringify((JSON.parse(member) as string).slice(0, maxShownLength))
  return member.startsWith('{') ? '{}' : '[]'
}

/**
 * Counted in JSON as Python writes it, because the clients count so: in ASCII, with a space after each comma and colon.
 */
export const maxPayloadCharacters = 1_048_576

const escaped = 6

/** Whether the JSON text exceeds the limit when it is written in ASCII. Stops counting there. */
export function isBeyondLimit(json: string, limit = maxPayloadCharacters): boolean {
  if (json.length * escaped <= limit) return false
  let size = 0
  let inString = false
  for (let at = 0; at < json.length && size <= limit; at++) {
    const code = json.charCodeAt(at)
    if (code === 0x22) inString = !inString
    if (inString && code === 0x5c) {
      size += json[at + 1] === 'u' ? sizeOfEscaped(json.slice(at + 2, at + 6)) : sizeOfShort(json[at + 1])
      at += json[at + 1] === 'u' ? 5 : 1
    } else if (!inString && (code === 0x2c || code === 0x3a)) size += 2
    else size += code > 0x7e ? escaped : 1
  }
  return size > limit
}

/** `\u0041` is one letter; a quote and a tab keep an escape of two. */
function sizeOfEscaped(hex: string): number {
  const code = Number.parseInt(hex, 16)
  if (code === 0x22 || code === 0x5c || (code >= 0x08 && code <= 0x0d && code !== 0x0b)) return 2
  return code >= 0x20 && code <= 0x7e ? 1 : escaped
}

function sizeOfShort(letter: string | undefined): number {
  return letter === '/' ? 1 : 2
}
