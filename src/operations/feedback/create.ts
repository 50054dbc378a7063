import { type Caller, requireAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { JsonText, jsonList, type SharedText } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime, monotonicNow } from '../../domain/time.ts'
import { inSteps } from '../../domain/yielding.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'
import type { Database } from '../../storage/database.ts'
import { readFeedback } from '../../storage/feedback/feedback.ts'
import type { NewFeedback, StoredFeedback } from '../../storage/feedback/writes.ts'
import type { CallNames } from '../recording/named-calls.ts'
import { type Check, createCheck } from './check.ts'
import { type BatchBody, type FeedbackGiven, mostInBatch, type ReplaceBody } from './contract.ts'
import { atItem, atRoot, type FieldName } from './kinds.ts'
import { callOf } from './references.ts'

/** Feedback to store; its payload may be shared between threads. */
interface GivenFeedback extends Omit<NewFeedback, 'record'> {
  record: Omit<NewFeedback['record'], 'payload'> & { payload: string | SharedText }
}

interface FeedbackIntake {
  db: Database
  schemas: SchemaChecks
  names: CallNames
}

export async function createFeedback(
  { db, schemas, names }: FeedbackIntake,
  caller: Caller,
  given: FeedbackGiven,
) {
  requireAccess(caller, given.project_id)
  const named = await withCallIds(names, given)
  const check = createCheck(db, schemas, caller.name, isSentAgain(db))
  const checked = await feedbackToStore(check, caller, named, atRoot)
  const [kept] = await db.write('addFeedback', [checked])
  return answerOf(kept as StoredFeedback, caller)
}

/** All or nothing: every item is checked before the first is stored. */
export async function createFeedbackBatch(
  { db, schemas, names }: FeedbackIntake,
  caller: Caller,
  { batch }: BatchBody,
) {
  if (batch.length > mostInBatch) {
    throw refuse('too_many_ids', { field: 'batch', given: batch.length, limit: mostInBatch })
  }
  for (const [index, { project_id }] of batch.entries())
    requireAccess(caller, project_id, atItem(index)('project_id'))
  const check = createCheck(db, schemas, caller.name, isSentAgain(db))
  const checked: GivenFeedback[] = []
  await inSteps(batch, async (given, index) => {
    const named = await withCallIds(names, given)
    checked.push(await feedbackToStore(check, caller, named, atItem(index)))
  })
  const kept = checked.length > 0 ? await db.write('addFeedback', checked) : []
  const answers = kept.map((one) => answerOf(one, caller))
  return { res: await jsonList(answers) }
}

/** The new feedback is checked first; then it replaces the old one in one transaction. */
export async function replaceOneFeedback(
  { db, schemas, names }: FeedbackIntake,
  caller: Caller,
  given: ReplaceBody,
) {
  requireAccess(caller, given.project_id)
  const named = await withCallIds(names, given)
  const check = createCheck(db, schemas, caller.name)
  const checked = await feedbackToStore(check, caller, named, atRoot)
  const [kept] = await db.write('replaceFeedback', { ...checked, replaced: given.feedback_id })
  return answerOf(kept as StoredFeedback, caller)
}

/** Whether feedback with this id, queue and spec is stored. The write checks that the rest is the same, too. */
function isSentAgain(db: Database) {
  return async ({ project_id, id, queue_id, annotation_ref }: FeedbackGiven): Promise<boolean> => {
    const stored = id == null ? undefined : await readFeedback(db, project_id, id)
    return (
      stored !== undefined &&
      stored.queue_id === (queue_id ?? null) &&
      stored.annotation_ref === (annotation_ref ?? null)
    )
  }
}

/** References to a call by its completion are stored as references to the call. */
async function withCallIds(names: CallNames, given: FeedbackGiven): Promise<FeedbackGiven> {
  const { project_id, svc_ref, call_ref } = given
  return {
    ...given,
    svc_ref: await names.ref(project_id, svc_ref),
    call_ref: call_ref && (await names.ref(project_id, call_ref)),
  }
}

async function feedbackToStore(
  check: Check,
  caller: Caller,
  given: FeedbackGiven,
  at: FieldName,
): Promise<GivenFeedback> {
  return { record: await feedbackOf(check, caller, given, at), field: at('id') }
}

/** Checks the feedback and makes the record that is stored. */
export async function feedbackOf(
  check: Check,
  caller: Caller,
  given: FeedbackGiven,
  at: FieldName,
): Promise<GivenFeedback['record']> {
  const payload = await check(given, at)
  return {
    project_id: given.project_id,
    id: given.id ?? newId(),
    feedback_type: given.feedback_type,
    svc_ref: given.svc_ref,
    call_id: callOf(given),
    user_id: caller.name,
    creator: given.creator ?? null,
    created_at: monotonicNow(),
    payload,
    annotation_ref: given.annotation_ref ?? null,
    runnable_ref: given.runnable_ref ?? null,
    call_ref: given.call_ref ?? null,
    trigger_ref: given.trigger_ref ?? null,
    queue_id: given.queue_id ?? null,
  }
}

/** Equal content implies the same caller, so a record of an earlier request is the caller's own. */
function answerOf({ id, created_at, payload }: StoredFeedback, caller: Caller) {
  return {
    id,
    created_at: formatTime(created_at),
    svc_user_id: caller.name,
    wb_user_id: caller.name,
    payload: new JsonText(payload),
  }
}
