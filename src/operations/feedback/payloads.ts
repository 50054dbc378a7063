import { membersOf, objectText } from '../../../packages/json/index.ts'
import { described } from '../../domain/described.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { FeedbackGiven } from './contract.ts'
import { emojiOf, withoutTone } from './emoji.ts'
import type { FieldName } from './kinds.ts'
import type { Payload } from './payload-size.ts'

const maxNote = 1024

/** Checks of payloads that come before all others. */
export function checkNote({ payload, feedback_type }: FeedbackGiven, at: FieldName): void {
  const note = memberOf(payload, 'note')
  // Counts characters, not UTF-16 units: an emoji has two of those.
  const length = typeof note === 'string' ? lengthUpTo(note, maxNote + 1) : 0
  if (length >= 1 && length <= maxNote) return
  const found = length > maxNote ? `more than ${maxNote} characters` : described(note)
  throw invalidPayload(at('payload.note'), found, feedback_type, `a string of 1 to ${maxNote} characters`)
}

export function checkReaction({ payload, feedback_type }: FeedbackGiven, at: FieldName): void {
  const emoji = memberOf(payload, 'emoji')
  if (typeof emoji === 'string') return
  throw invalidPayload(at('payload.emoji'), described(emoji), feedback_type, 'a string with one emoji')
}

/** The member may have any value, even null, but it must be present. */
export function checkMember(feedback: FeedbackGiven, name: 'value' | 'output', at: FieldName): void {
  if (Object.hasOwn(feedback.payload.json.value as object, name)) return
  const type = feedback.feedback_type
  throw invalidPayload(at(`payload.${name}`), described(undefined), type, 'any value, including null')
}

/** The payload with the names of its emoji, with and without skin tone. Other members keep every digit. */
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
  const members = membersOf(payload.json.text)
  members.set('alias', JSON.stringify(`:${emoji.name}:`))
  members.set('detoned', JSON.stringify(plain.emoji))
  members.set('detoned_alias', JSON.stringify(`:${plain.name}:`))
  return objectText(members)
}

export function memberOf({ json }: Payload, name: string): unknown {
  const object = json.value as Record<string, unknown>
  return Object.hasOwn(object, name) ? object[name] : undefined
}

export function lengthUpTo(text: string, most: number): number {
  let length = 0
  for (const _ of text) if (++length >= most) break
  return length
}

export function invalidPayload(field: string, value: string, type: string, accepted: string): Refusal {
  return refuse('invalid_payload', { field, given: value, type: JSON.stringify(type), accepted })
}
