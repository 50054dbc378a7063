import { exactJson } from '../../../packages/json/index.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { fireForFeedback } from '../alerts/firing.ts'
import { isLive } from '../calls/calls.ts'
import { type QueuedFeedback, queuesOfAnswers, settleChangedAnswers } from '../queues/answers.ts'
import { rulesLock } from '../queues/queues.ts'
import { applyRulesToScores, lockScoreRules } from '../queues/scores.ts'
import { insertInto } from '../sql/inserts.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import type { Command, Transaction } from '../transaction.ts'
import { feedbackColumns as columns, type Feedback, readFeedback } from './feedback.ts'

/** The columns that make two records the same record, sent twice. */
const contentColumns = columns.filter(
  (name) => !['call_id', 'thread_id', 'created_at', 'payload'].includes(name),
)

export interface NewFeedback {
  record: Feedback
  /** How a refusal names the id. */
  field: string
}

/** What is stored under the id: the given record, or the same one from an earlier request. */
export type StoredFeedback = Pick<Feedback, 'id' | 'created_at' | 'payload'>

/**
 * All or nothing. If an id already exists with the same content, it is the same record, so that a client can repeat a
 * request that got no answer. Different content is a conflict.
 */
export const addFeedback: Command<readonly NewFeedback[], StoredFeedback[]> = async (tx, additions) => {
  const byKey = new Map<string, Feedback>()
  for (const { record, field } of additions) {
    const first = byKey.get(keyOf(record))
    if (first === undefined) byKey.set(keyOf(record), record)
    else if (!isSame(first, record)) throw conflict(record, field, first)
  }
  // Two requests that add the same ids take them in the same order, so that they cannot deadlock.
  const records = [...byKey.keys()].sort().map((key) => byKey.get(key) as Feedback)
  // Several queues are locked below, and rules put calls into queues too.
  if (queuesOfAnswers(records).size > 1) await lockRules(tx, records)
  const watched = await lockScoreRules(tx, records)
  const known = new Map<string, Feedback>()
  for (const record of await addNew(tx, records)) {
    const stored = await storedOrAdded(tx, record)
    if (stored !== undefined) known.set(keyOf(record), stored)
  }
  const added = records.filter((record) => !known.has(keyOf(record)))
  await applyRulesToScores(tx, watched, added)
  await settleChangedAnswers(tx, added)
  await fireForFeedback(tx, added, now())
  for (const [project, own] of Map.groupBy(records, ({ project_id }) => project_id)) {
    reportFeedback(tx, project, own)
  }
  return additions.map(({ record, field }) => {
    const stored = known.get(keyOf(record)) ?? (byKey.get(keyOf(record)) as Feedback)
    if (stored !== record && !isSame(stored, record)) throw conflict(record, field, stored)
    return { id: stored.id, created_at: stored.created_at, payload: stored.payload }
  })
}

interface FeedbackReplacement extends NewFeedback {
  /** Removed when the new record is stored. */
  replaced: string
  /** Only if it is of this user; null means anyone's. */
  of?: string | null
}

export const replaceFeedback: Command<FeedbackReplacement, StoredFeedback[]> = async (tx, replacement) => {
  const { record, replaced, of = null } = replacement
  await lockRules(tx, [record])
  const gone = await remove(tx, record.project_id, replaced, of)
  const stored = await addFeedback(tx, [replacement])
  await settleChangedAnswers(tx, gone)
  return stored
}

async function lockRules(tx: Transaction, records: readonly Pick<Feedback, 'project_id'>[]): Promise<void> {
  const projects = new Set(records.map(({ project_id }) => project_id))
  for (const project of [...projects].sort()) await tx.lock(rulesLock(project))
}

interface FeedbackRemoval {
  project_id: string
  ids: readonly string[]
  /** Only that of this user; null means anyone's. */
  of?: string | null
}

export const removeFeedback: Command<FeedbackRemoval, void> = async (tx, { project_id, ids, of = null }) => {
  if (ids.length > 1) await tx.lock(rulesLock(project_id))
  const gone: QueuedFeedback[] = []
  for (const id of ids) gone.push(...(await remove(tx, project_id, id, of)))
  await settleChangedAnswers(tx, gone)
}

async function remove(
  tx: Transaction,
  projectId: string,
  id: string,
  of: string | null,
): Promise<QueuedFeedback[]> {
  // A removed user of the same name may have written earlier ones.
  const since = sql`coalesce((SELECT users.created_at FROM users WHERE users.name = ${of}), 0)`
  const isOwn = of === null ? rawSql('1 = 1') : sql`user_id = ${of} AND created_at >= ${since}`
  const gone = await tx.all<QueuedFeedback>(
    sql`DELETE FROM feedback WHERE project_id = ${projectId} AND id = ${id} AND ${isOwn}
        RETURNING project_id, feedback_type, call_id, queue_id, payload`,
  )
  reportFeedback(tx, projectId, gone)
  return gone
}

/**
 * Removes what was said of the conversations of these deleted calls, of which no call is left: their names may be used
 * again, for conversations of which nothing was said.
 */
export async function removeFeedbackOfEndedThreads(
  tx: Transaction,
  project: string,
  calls: readonly string[],
  now: number,
): Promise<void> {
  await tx.run(
    sql`DELETE FROM feedback WHERE project_id = ${project} AND thread_id IN (
          SELECT thread_id FROM calls WHERE project_id = ${project} AND id IN (${listOf(calls)}) AND thread_id IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.project_id = feedback.project_id
          AND calls.thread_id = feedback.thread_id AND ${isLive(now)})`,
  )
}

type OfCall = Pick<Feedback, 'call_id'>

/** Feedback on objects names no call. */
function reportFeedback(tx: Transaction, project: string, affected: readonly OfCall[]): void {
  const ids = affected.map(({ call_id }) => call_id).filter((id) => id !== null)
  tx.changed({ project, kind: 'feedback', ids })
}

const insertFeedback = insertInto(
  'feedback',
  columns,
  'ON CONFLICT (project_id, id) DO NOTHING RETURNING project_id, id',
)

/** Returns the records whose id already existed. */
async function addNew(tx: Transaction, records: readonly Feedback[]): Promise<Feedback[]> {
  const left = new Map(records.map((record) => [keyOf(record), record]))
  const rows = records.map((record) => columns.map((column) => record[column]))
  for (const statement of insertFeedback(rows)) {
    const added = await tx.all<Pick<Feedback, 'project_id' | 'id'>>(statement)
    for (const row of added) left.delete(keyOf(row))
  }
  return [...left.values()]
}

/**
 * The stored record that a new one collides with; undefined if it was removed meanwhile and the new record was stored.
 */
async function storedOrAdded(tx: Transaction, record: Feedback): Promise<Feedback | undefined> {
  for (;;) {
    const stored = await readFeedback(tx, record.project_id, record.id)
    if (stored !== undefined) return stored
    if ((await addNew(tx, [record])).length === 0) return undefined
  }
}

function keyOf({ project_id, id }: Pick<Feedback, 'project_id' | 'id'>): string {
  return `${project_id} ${id}`
}

function isSame(record: Feedback, other: Feedback): boolean {
  if (contentColumns.some((column) => record[column] !== other[column])) return false
  return record.payload === other.payload || exactJson(record.payload) === exactJson(other.payload)
}

/** The user can be named: whoever may write to the project may also read who wrote what in it. */
function conflict(record: Feedback, field: string, stored: Feedback) {
  const { id, project_id, user_id } = record
  const values = { field, received: id, project: project_id }
  const isOthers = stored.user_id !== user_id && isSame({ ...stored, user_id }, record)
  if (!isOthers) return refuse('feedback_conflict', values)
  return refuse('feedback_of_other_user', { ...values, user: stored.user_id })
}
