import { answersDiffer, type ReviewerAnswer } from '../../domain/queues/differing-answers.ts'
import { type ItemCalls, type Preference, preferenceType } from '../../domain/queues/pairs.ts'
import { parseRef } from '../../domain/refs.ts'
import { readValue, readVersion } from '../objects/objects.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'
import { findQueue, type QueueKey, queueLock } from './queues.ts'
import { reviewSettingsOf } from './review-settings.ts'

const annotationPrefix = 'wandb.annotation.'
const reaction = 'wandb.reaction.1'

/** Longer ones are free text or lists that nobody compares. */
const maxAnswerBytes = 64 * 1024
/** More than all annotators of an item give. */
const maxAnswers = 10_000

/** A condition on a type of feedback: it is what a reviewer answers. Notes are for everybody to read. */
export const isAnswer = (type: Sql): Sql =>
  sql`(substr(${type}, 1, ${annotationPrefix.length}) = ${annotationPrefix}
    OR ${type} IN (${reaction}, ${preferenceType}))`

/** Whether others have answered to the item. */
export async function isAnsweredByOthers(
  db: Reader,
  { project_id, queue_id, call_id }: QueueKey & { call_id: string },
  user: string,
): Promise<boolean> {
  const other = await db.get(
    sql`SELECT id FROM feedback WHERE project_id = ${project_id} AND call_id = ${call_id} AND queue_id = ${queue_id}
          AND user_id <> ${user} AND ${isAnswer(rawSql('feedback.feedback_type'))} LIMIT 1`,
  )
  return other !== undefined
}

interface StoredAnswer {
  user_id: string
  feedback_type: string
  payload: string
  annotation_ref: string | null
}

/** What is answered to an item, the latest of each type. The first call of a pair may be that of other pairs, too. */
function storedAnswers(
  tx: Reader,
  { project_id, queue_id }: QueueKey,
  item: ItemOfCall,
): Promise<StoredAnswer[]> {
  const isPreference = sql`feedback.feedback_type = ${preferenceType}`
  const other = tx.dialect.json(rawSql('feedback.payload'), ['other']).text
  const isAsked =
    item.other_call_id === null
      ? sql`NOT ${isPreference}`
      : sql`${isPreference} AND ${other} = ${item.other_call_id}`
  return tx.all<StoredAnswer>(
    sql`SELECT user_id, feedback_type, payload, annotation_ref FROM (
          SELECT feedback.user_id, feedback.feedback_type, feedback.payload, feedback.annotation_ref,
            row_number() OVER (PARTITION BY feedback.user_id, feedback.feedback_type
              ORDER BY feedback.created_at DESC, feedback.id DESC) AS age
          FROM feedback JOIN annotation_progress AS progress
            ON progress.project_id = feedback.project_id AND progress.item_id = ${item.id}
              AND progress.annotator = feedback.user_id
          WHERE feedback.project_id = ${project_id} AND feedback.call_id = ${item.call_id}
            AND feedback.queue_id = ${queue_id} AND progress.state = 'completed' AND progress.adjudicates = 0
            AND ${isAnswer(sql`feedback.feedback_type`)} AND ${isAsked}
            AND ${tx.dialect.bytes(sql`feedback.payload`)} <= ${maxAnswerBytes}
        ) AS given WHERE age = 1 LIMIT ${maxAnswers}`,
  )
}

interface ItemOfCall extends ItemCalls {
  id: string
}

/** Settles whether the answers of those who have completed the item differ. The queue must be locked. */
export async function settleAnswers(tx: Transaction, key: QueueKey, item: ItemOfCall): Promise<void> {
  const queue = await findQueue(tx, key.project_id, key.queue_id)
  if (queue === undefined) return
  const stored = await storedAnswers(tx, key, item)
  const answers =
    item.other_call_id === null ? await answersIn(tx, key.project_id, stored) : preferencesIn(stored)
  const differs = answersDiffer(answers, reviewSettingsOf(queue).tolerance)
  await tx.run(
    sql`UPDATE annotation_queue_items SET differs = ${differs === null ? null : Number(differs)}
        WHERE project_id = ${key.project_id} AND id = ${item.id}`,
  )
}

const optionOf = (user: string, field: string, value: unknown): ReviewerAnswer => ({
  user,
  field,
  value,
  schema: { enum: [] },
})

async function answersIn(
  tx: Reader,
  project: string,
  stored: readonly StoredAnswer[],
): Promise<ReviewerAnswer[]> {
  const schemas = new Map<string, unknown>()
  const answers: ReviewerAnswer[] = []
  for (const { user_id, feedback_type, payload, annotation_ref } of stored) {
    const { value, emoji } = JSON.parse(payload) as { value?: unknown; emoji?: unknown }
    if (feedback_type === reaction) {
      answers.push(optionOf(user_id, 'reaction', emoji))
      continue
    }
    const ref = annotation_ref ?? ''
    if (!schemas.has(ref)) schemas.set(ref, await schemaOf(tx, project, ref))
    const field = feedback_type.slice(annotationPrefix.length)
    answers.push({ user: user_id, field, value, schema: schemas.get(ref) })
  }
  return answers
}

const preferencesIn = (stored: readonly StoredAnswer[]): ReviewerAnswer[] =>
  stored.map(({ user_id, payload }) =>
    optionOf(user_id, 'preference', (JSON.parse(payload) as Preference).preferred ?? 'tie'),
  )

/** Of a spec that was deleted, or that an import left behind, nothing is known. */
async function schemaOf(tx: Reader, project: string, text: string): Promise<unknown> {
  const ref = parseRef(text)
  if (ref?.kind !== 'object' || ref.project !== project) return undefined
  const version = await readVersion(tx, project, ref)
  const value =
    version === undefined ? null : await readValue(tx, project, { ...ref, digest: version.digest })
  const spec: unknown = value === null ? undefined : JSON.parse(value)
  return typeof spec === 'object' && spec !== null
    ? (spec as Record<string, unknown>).field_schema
    : undefined
}

/** Feedback as far as it matters to queues. */
export interface QueuedFeedback {
  project_id: string
  feedback_type: string
  call_id: string | null
  queue_id: string | null
  payload: string
}

const isQueuedAnswer = ({ feedback_type, call_id, queue_id }: QueuedFeedback): boolean =>
  queue_id !== null &&
  call_id !== null &&
  (feedback_type.startsWith(annotationPrefix) || [reaction, preferenceType].includes(feedback_type))

/** The queues of these answers: who changes answers of several locks the rules of the project first. */
export const queuesOfAnswers = (records: readonly QueuedFeedback[]): Set<string> =>
  new Set(records.filter(isQueuedAnswer).map(({ project_id, queue_id }) => `${project_id} ${queue_id}`))

/** What the feedback answers: a call, or the pair that a preference names. */
function itemOfAnswer({ feedback_type, call_id, payload }: QueuedFeedback): ItemCalls {
  const { other = null } =
    feedback_type === preferenceType ? (JSON.parse(payload) as Partial<Preference>) : {}
  return { call_id: call_id as string, other_call_id: typeof other === 'string' ? other : null }
}

/**
 * Called after answers were written or removed: those of the item, if it is finished, are compared again. Other pairs of
 * the same call are left alone.
 */
export async function settleChangedAnswers(
  tx: Transaction,
  records: readonly QueuedFeedback[],
): Promise<void> {
  const changed = new Map(
    records.filter(isQueuedAnswer).map((record) => {
      const { project_id, queue_id } = record
      const calls = itemOfAnswer(record)
      const key = [project_id, queue_id, calls.call_id, calls.other_call_id ?? ''].join(' ')
      return [key, { project_id, queue_id: queue_id as string, ...calls }] as const
    }),
  )
  for (const [, { project_id, queue_id, call_id, other_call_id }] of [...changed].sort(([a], [b]) =>
    a < b ? -1 : 1,
  )) {
    const key = { project_id, queue_id }
    await tx.lock(queueLock(key))
    const isAsked =
      other_call_id === null ? sql`other_call_id IS NULL` : sql`other_call_id = ${other_call_id}`
    const items = await tx.all<ItemOfCall>(
      sql`SELECT id, call_id, other_call_id FROM annotation_queue_items WHERE project_id = ${project_id}
          AND queue_id = ${queue_id} AND call_id = ${call_id} AND ${isAsked} AND finished_by > 1`,
    )
    for (const item of items) await settleAnswers(tx, key, item)
  }
}
