import { membersOf, objectText } from '../../../packages/json/index.ts'
import { described } from '../../domain/described.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import { hasPair } from '../../storage/queues/queued.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { FeedbackGiven } from './contract.ts'
import { emojiOf, withoutTone } from './emoji.ts'
import type { FieldName } from './kinds.ts'
import type { Payload } from './payload-size.ts'
import { subjectOf, wrong } from './references.ts'

const maxNote = 1024
const maxReason = 4_096

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

/** Which of two calls a reviewer prefers: the first is what the feedback is about, the other is in the payload. */
export function checkPreference(feedback: FeedbackGiven, at: FieldName): void {
  const { payload, feedback_type: type, queue_id } = feedback
  const first = subjectOf(feedback).call_id
  if (first === null) {
    const accepted = 'a reference to the first call of a pair in the same project'
    throw wrong(at('svc_ref'), feedback.svc_ref, accepted)
  }
  if (queue_id == null) {
    throw wrong(at('queue_id'), null, 'the id of the annotation queue that has the pair')
  }
  const unfit = (member: string, accepted: string) =>
    invalidPayload(at(`payload.${member}`), described(memberOf(payload, member)), type, accepted)
  const other = memberOf(payload, 'other')
  if (typeof other !== 'string') throw unfit('other', 'the id of the second call of the pair')
  const preferred = memberOf(payload, 'preferred')
  if (preferred !== null && preferred !== first && preferred !== other) {
    throw unfit('preferred', `${JSON.stringify(first)}, the call in payload.other, or null for neither`)
  }
  const reason = memberOf(payload, 'reason') ?? null
  if (reason === null) return
  if (typeof reason === 'string' && lengthUpTo(reason, maxReason + 1) <= maxReason) return
  throw unfit('reason', `a string of at most ${maxReason} characters, or null`)
}

export async function checkPair(db: Reader, feedback: FeedbackGiven, at: FieldName): Promise<void> {
  const { project_id, payload, queue_id, feedback_type } = feedback
  const key = { project_id, queue_id: queue_id as string }
  const call_id = subjectOf(feedback).call_id as string
  const other_call_id = memberOf(payload, 'other') as string
  if (await hasPair(db, key, { call_id, other_call_id })) return
  const accepted = `the other_call_id of an item of the queue whose call_id is ${JSON.stringify(call_id)}`
  throw invalidPayload(at('payload.other'), described(other_call_id), feedback_type, accepted)
}

function memberOf({ json }: Payload, name: string): unknown {
  const object = json.value as Record<string, unknown>
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function lengthUpTo(text: string, most: number): number {
  let length = 0
  for (const _ of text) if (++length >= most) break
  return length
}

function invalidPayload(field: string, value: string, type: string, accepted: string): Refusal {
  return refuse('invalid_payload', { field, received: value, type, accepted })
}
