import { inSteps } from '../../../packages/waiting/index.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { JsonText, jsonList, type SharedText } from '../../domain/json/text.ts'
import { requireFew } from '../../domain/refusals.ts'
import { formatTime, monotonicNow } from '../../domain/time.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'
import type { Database } from '../../storage/database.ts'
import { readFeedback } from '../../storage/feedback/feedback.ts'
import type { NewFeedback, StoredFeedback } from '../../storage/feedback/writes.ts'
import {
  feedbackOwner,
  isBlind,
  mayReadObject,
  requireQueued,
  requireUnsettled,
  seesQueuesOnly,
} from '../queues/annotator-view.ts'
import type { CallNames } from '../recording/named-calls.ts'
import type { MayRead } from './annotation-checks.ts'
import { type Check, createCheck } from './check.ts'
import { type BatchBody, type FeedbackGiven, maxInBatch, type ReplaceBody } from './contract.ts'
import { withJudged } from './judged-columns.ts'
import { atItem, atRoot, type FieldName } from './kinds.ts'
import { subjectOf } from './references.ts'

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
  feedback: FeedbackGiven,
) {
  requireAccess(caller, feedback.project_id)
  const named = await withCallIds({ db, names }, caller, feedback, atRoot)
  const check = createCheck(db, schemas, caller.name, isSentAgain(db), reading(db, caller))
  const checked = await feedbackToStore(db, check, caller, named, atRoot)
  const [stored] = await db.write('addFeedback', [checked])
  return answerOf(stored as StoredFeedback, caller)
}

/** All or nothing: every item is checked before the first is stored. */
export async function createFeedbackBatch(
  { db, schemas, names }: FeedbackIntake,
  caller: Caller,
  { batch }: BatchBody,
) {
  requireFew('batch', batch, maxInBatch)
  for (const [index, { project_id }] of batch.entries())
    requireAccess(caller, project_id, atItem(index)('project_id'))
  const check = createCheck(db, schemas, caller.name, isSentAgain(db), reading(db, caller))
  const checked: GivenFeedback[] = []
  await inSteps(batch, async (feedback, index) => {
    const named = await withCallIds({ db, names }, caller, feedback, atItem(index))
    checked.push(await feedbackToStore(db, check, caller, named, atItem(index)))
  })
  const stored = checked.length > 0 ? await db.write('addFeedback', checked) : []
  const answers = stored.map((record) => answerOf(record, caller))
  return { res: await jsonList(answers) }
}

/** The new feedback is checked first; then it replaces the old one in one transaction. */
export async function replaceOneFeedback(
  { db, schemas, names }: FeedbackIntake,
  caller: Caller,
  replacement: ReplaceBody,
) {
  requireAccess(caller, replacement.project_id)
  const named = await withCallIds({ db, names }, caller, replacement, atRoot)
  const check = createCheck(db, schemas, caller.name, undefined, reading(db, caller))
  const checked = await feedbackToStore(db, check, caller, named, atRoot)
  const replaced = await readFeedback(db, replacement.project_id, replacement.feedback_id)
  if (replaced) await requireUnsettled(db, caller, replaced, atRoot('feedback_id'))
  const [stored] = await db.write('replaceFeedback', {
    ...checked,
    replaced: replacement.feedback_id,
    of: feedbackOwner(caller, replacement.project_id),
  })
  return answerOf(stored as StoredFeedback, caller)
}

const reading =
  (db: Database, caller: Caller): MayRead =>
  (project, name) =>
    mayReadObject(db, caller, project, name)

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

/** References to a call by its completion are stored as references to the call, which the caller must be able to see. */
async function withCallIds(
  { db, names }: Pick<FeedbackIntake, 'db' | 'names'>,
  caller: Caller,
  feedback: FeedbackGiven,
  at: FieldName,
): Promise<FeedbackGiven> {
  const { project_id, svc_ref, call_ref } = feedback
  // For an annotator, most calls do not exist: the id of one would tell that it does.
  const isOpen = !seesQueuesOnly(caller, project_id)
  const named = {
    ...feedback,
    svc_ref: await names.ref(project_id, svc_ref),
    call_ref: isOpen && call_ref ? await names.ref(project_id, call_ref) : call_ref,
  }
  const about = { field: at('svc_ref'), shown: named.svc_ref }
  await requireQueued(db, caller, project_id, subjectOf(named).call_id, about)
  return named
}

async function feedbackToStore(
  db: Database,
  check: Check,
  caller: Caller,
  feedback: FeedbackGiven,
  at: FieldName,
): Promise<GivenFeedback> {
  const record = await feedbackOf(check, caller, feedback, at)
  if (isBlind(caller, record.project_id) && !(await isSentAgain(db)(feedback)))
    await requireUnsettled(db, caller, record, at('queue_id'))
  return { record, field: at('id') }
}

/** Checks the feedback and makes the record that is stored. */
export async function feedbackOf(
  check: Check,
  caller: Caller,
  feedback: FeedbackGiven,
  at: FieldName,
): Promise<GivenFeedback['record']> {
  const payload = await check(withJudged(feedback, at), at)
  return {
    project_id: feedback.project_id,
    id: feedback.id ?? newId(),
    feedback_type: feedback.feedback_type,
    svc_ref: feedback.svc_ref,
    ...subjectOf(feedback),
    user_id: caller.name,
    creator: feedback.creator ?? null,
    created_at: monotonicNow(),
    payload,
    annotation_ref: feedback.annotation_ref ?? null,
    runnable_ref: feedback.runnable_ref ?? null,
    call_ref: feedback.call_ref ?? null,
    trigger_ref: feedback.trigger_ref ?? null,
    queue_id: feedback.queue_id ?? null,
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
