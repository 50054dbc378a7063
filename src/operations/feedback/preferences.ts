import { described } from '../../domain/described.ts'
import { refuse } from '../../domain/refusals.ts'
import { hasPair } from '../../storage/queues/queued.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { FeedbackGiven } from './contract.ts'
import type { FieldName } from './kinds.ts'
import { invalidPayload, lengthUpTo, memberOf } from './payloads.ts'
import { subjectOf } from './references.ts'

const maxReason = 4_096

/** Which of two calls a reviewer prefers: the first is what the feedback is about, the other is in the payload. */
export function checkPreference(feedback: FeedbackGiven, at: FieldName): void {
  const { payload, feedback_type: type, queue_id } = feedback
  const first = subjectOf(feedback).call_id
  if (first === null) {
    throw refuse('invalid_value', {
      field: at('svc_ref'),
      given: JSON.stringify(feedback.svc_ref),
      accepted: 'a reference to the first call of a pair in the same project',
    })
  }
  if (queue_id == null) {
    const accepted = 'the id of the annotation queue that has the pair'
    throw refuse('invalid_value', { field: at('queue_id'), given: 'null', accepted })
  }
  const wrong = (member: string, accepted: string) =>
    invalidPayload(at(`payload.${member}`), described(memberOf(payload, member)), type, accepted)
  const other = memberOf(payload, 'other')
  if (typeof other !== 'string') throw wrong('other', 'the id of the second call of the pair')
  const preferred = memberOf(payload, 'preferred')
  if (preferred !== null && preferred !== first && preferred !== other) {
    throw wrong('preferred', `${JSON.stringify(first)}, the call in payload.other, or null for neither`)
  }
  const reason = memberOf(payload, 'reason') ?? null
  if (reason === null) return
  if (typeof reason === 'string' && lengthUpTo(reason, maxReason + 1) <= maxReason) return
  throw wrong('reason', `a string of at most ${maxReason} characters, or null`)
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
