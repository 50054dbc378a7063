import { described } from '../../domain/described.ts'
import { membersOf, objectText } from '../../domain/json/scan.ts'
import type { JsonText } from '../../domain/json/text.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { FeedbackGiven } from './contract.ts'
import { emojiOf, withoutTone } from './emoji.ts'
import type { FieldName } from './kinds.ts'

const longestNote = 1024

/** What the kinds say about their payload before anything else is looked at. */
export function checkNote({ payload, feedback_type }: FeedbackGiven, at: FieldName): void {
  const note = memberOf(payload, 'note')
  // Characters, not the halves of which JavaScript counts two for an emoji.
  const length = typeof note === 'string' ? lengthUpTo(note, longestNote + 1) : 0
  if (length >= 1 && length <= longestNote) return
  const given = length > longestNote ? `more than ${longestNote} characters` : described(note)
  throw invalidPayload(at('payload.note'), given, feedback_type, `a text of 1 to ${longestNote} characters`)
}

export function checkReaction({ payload, feedback_type }: FeedbackGiven, at: FieldName): void {
  const emoji = memberOf(payload, 'emoji')
  if (typeof emoji === 'string') return
  throw invalidPayload(at('payload.emoji'), described(emoji), feedback_type, 'a text of one emoji')
}

/** The member may hold any value, null too, but it must be there. */
export function checkMember(given: FeedbackGiven, name: 'value' | 'output', at: FieldName): void {
  if (Object.hasOwn(given.payload.value as object, name)) return
  const type = given.feedback_type
  throw invalidPayload(at(`payload.${name}`), described(undefined), type, 'any value, null too')
}

/** The payload with the names of its emoji, with and without the tone of its skin. Other members keep every digit. */
export async function namedReaction(
  { payload, feedback_type }: FeedbackGiven,
  at: FieldName,
): Promise<string> {
  const text = memberOf(payload, 'emoji') as string
  const emoji = await emojiOf(text)
  if (emoji === undefined) {
    throw invalidPayload(at('payload.emoji'), described(text), feedback_type, 'exactly one emoji')
  }
  const plain = await withoutTone(emoji)
  const members = membersOf(payload.text)
  members.set('alias', JSON.stringify(`:${emoji.name}:`))
  members.set('detoned', JSON.stringify(plain.emoji))
  members.set('detoned_alias', JSON.stringify(`:${plain.name}:`))
  return objectText(members)
}

function memberOf(payload: JsonText, name: string): unknown {
  const object = payload.value as Record<string, unknown>
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function lengthUpTo(text: string, most: number): number {
  let length = 0
  for (const _ of text) if (++length >= most) break
  return length
}

function invalidPayload(field: string, given: string, type: string, accepted: string): Refusal {
  return refuse('invalid_payload', { field, given, type: JSON.stringify(type), accepted })
}

/** Of JSON as Python writes it, because the clients count so: in ASCII, with a space after each comma and colon. */
export const mostPayloadCharacters = 1_048_576

const escaped = 6

/** Whether the JSON text is longer than the limit when it is written in ASCII. Stops counting there. */
export function isBeyondLimit(json: string, limit = mostPayloadCharacters): boolean {
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
