import { batchesOf } from '../../domain/batches.ts'
import { now as clock } from '../../domain/time.ts'
import { fireForCalls } from '../alerts/firing.ts'
import { fireForQueues } from '../alerts/queues.ts'
import { removeCompletions, removeSwept } from '../answers/completions.ts'
import { removeResponses, removeSweptResponses } from '../answers/response-removals.ts'
import {
  lockTrialsForDeletion,
  lockTrialsOfParts,
  markTrialsOfDeleted,
  markTrialsOfParts,
} from '../evaluations/pending.ts'
import { refreshStale } from '../evaluations/trials.ts'
import { removeFeedbackOfEndedThreads } from '../feedback/writes.ts'
import { deleteJudgements, noteJudgements } from '../monitors/notes.ts'
import { applyRules, deleteRuleScores, findUnendedCalls } from '../queues/ended-calls.ts'
import { type LeftOfCall, leftOf, maxLeft } from '../queues/queued.ts'
import { markForSearch } from '../search/marks.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Command, Transaction } from '../transaction.ts'
import { factColumns, sentColumns } from './columns.ts'
import { derivation, nextDerivation, withoutPayload } from './facts.ts'
import { type CallPart, mergeIntoCalls } from './parts.ts'

/** Writes parts of calls; each call appears once in the list. */
export const upsertCalls: Command<readonly CallPart[], void> = async (tx, callParts) => {
  await lockTrialsOfParts(tx, callParts)
  const time = clock()
  const byProject = Map.groupBy(callParts, ({ project_id }) => project_id)
  for (const project of [...byProject.keys()].sort()) {
    const own = byProject.get(project) as CallPart[]
    const ids = own.map(({ id }) => id)
    const watched = await findUnendedCalls(tx, project, ids)
    await mergeIntoCalls(tx, own)
    await markTrialsOfParts(tx, project, own, time)
    const queued = watched === undefined ? [] : await applyRules(tx, watched, time)
    await noteJudgements(tx, project, own, time)
    await markForSearch(tx, project, ids)
    if (queued.length > 0) await fireForQueues(tx, project, queued, time)
    await fireForCalls(tx, project, own, time)
    tx.changed({ project, kind: 'call', ids })
  }
}

interface ReopenedCall {
  project_id: string
  id: string
  attributes: string
}

const nothingOfEnd = [...sentColumns('end'), ...factColumns('end')].map((column) =>
  column === 'end_bytes' ? 'end_bytes = 0' : `${column} = NULL`,
)

/** Removes the end of a call, so that it runs again. */
export async function reopenCall(
  tx: Transaction,
  { project_id, id, attributes }: ReopenedCall,
): Promise<void> {
  const found = await tx.get<{ attributes: string }>(
    sql`SELECT coalesce(${tx.dialect.stored(rawSql('attributes'))}, '{}') AS attributes FROM calls
      WHERE project_id = ${project_id} AND id = ${id}`,
  )
  const added = Buffer.byteLength(attributes) - Buffer.byteLength(found?.attributes ?? '{}')
  await tx.run(
    sql`UPDATE calls SET ${rawSql(nothingOfEnd.join(', '))}, attributes = ${attributes}, start_bytes = start_bytes + ${added},
      ${rawSql(nextDerivation('calls'))} WHERE project_id = ${project_id} AND id = ${id}`,
  )
  await markForSearch(tx, project_id, [id])
  tx.changed({ project: project_id, kind: 'call', ids: [id] })
}

export interface CallName {
  project_id: string
  id: string
  /** An empty text removes the name. */
  name: string
}

/** Stored apart from the parts of a call, so that no part, whether early, late or sent again, undoes the rename. */
export const renameCall: Command<CallName, void> = async (tx, { project_id, id, name }) => {
  await tx.run(
    sql`INSERT INTO calls (project_id, id, renamed, derivation) VALUES (${project_id}, ${id}, ${name}, ${derivation})
        ON CONFLICT (project_id, id) DO UPDATE SET renamed = excluded.renamed, ${rawSql(nextDerivation('calls'))}`,
  )
  await markForSearch(tx, project_id, [id])
  tx.changed({ project: project_id, kind: 'call', ids: [id] })
}

/**
 * Deleting a call also deletes its descendants in the same trace. Returns how many calls were deleted besides the named
 * ones, and what is left of all, one more than is named. The CROSS JOIN fixes SQLite's join order; left to choose, it reads every call of the project in each round.
 */
export const deleteCalls: Command<
  { project_id: string; ids: readonly string[]; now: number },
  { descendants: number; left: LeftOfCall[] }
> = async (tx, { project_id, ids, now }) => {
  let descendants = 0
  const named = new Set(ids)
  const left: LeftOfCall[] = []
  await lockTrialsForDeletion(tx, project_id)
  for (const roots of batchesOf(ids, 100)) {
    const family = await tx.all<{ id: string }>(
      sql`WITH RECURSIVE family (id, trace_id) AS (
            SELECT id, trace_id FROM calls WHERE project_id = ${project_id} AND deleted_at IS NULL AND id IN (${listOf(roots)})
            UNION
            SELECT calls.id, calls.trace_id FROM family CROSS JOIN calls
            WHERE calls.parent_id = family.id AND calls.project_id = ${project_id} AND calls.trace_id = family.trace_id AND calls.deleted_at IS NULL
          ) SELECT id FROM family`,
    )
    const members = family.map(({ id }) => id)
    for (const some of batchesOf(members, 100)) {
      await tx.run(
        sql`UPDATE calls SET deleted_at = ${now} WHERE project_id = ${project_id} AND id IN (${listOf(some)})`,
      )
    }
    for (const some of batchesOf(members, 100)) await removeFeedbackOfEndedThreads(tx, project_id, some, now)
    for (const some of batchesOf(members, 100)) {
      if (left.length <= maxLeft) left.push(...(await leftOf(tx, project_id, some, maxLeft + 1)))
    }
    await removeCompletions(tx, project_id, members)
    await removeResponses(tx, project_id, members)
    await markTrialsOfDeleted(tx, project_id, members, now)
    tx.changed({ project: project_id, kind: 'call', ids: members })
    for (const id of members) {
      if (!named.has(id)) {
        named.add(id)
        descendants++
      }
    }
  }
  return { descendants, left }
}

interface SweepStep {
  now: number
  /** Deleted calls that were swept before this are removed for good. */
  forgetBefore: number
  /** The most rows of a step. */
  limit: number
  /** Bytes to free in one step; a step ends at the row that reaches this. */
  bytes: number
}

/**
 * Frees the space of deleted and expired calls, a few rows at a time. The empty row stays for a while, so that a late
 * part of a deleted call cannot restore it. Returns how many rows it touched.
 */
export const sweepCalls: Command<SweepStep, number> = async (tx, { now, forgetBefore, limit, bytes }) => {
  if (!(await tx.tryLock('the sweep of calls'))) return 0
  // Emptying a row frees its pages one by one, and marking it writes it again.
  const light = (condition: Sql, oldest: Sql) =>
    sql`(project_id, id) IN (
      SELECT project_id, id FROM (
        SELECT project_id, id, sum(size) OVER (ORDER BY project_id, id ROWS UNBOUNDED PRECEDING) - size AS before
        FROM (SELECT project_id, id, start_bytes + end_bytes AS size FROM calls WHERE ${condition}
              ORDER BY ${oldest} LIMIT ${limit}) AS chosen
      ) AS summed WHERE before < ${bytes})`
  const expired = await tx.run(
    sql`UPDATE calls SET deleted_at = expire_at WHERE ${light(sql`expire_at <= ${now} AND deleted_at IS NULL`, rawSql('expire_at'))}`,
  )
  const emptied = await tx.all<{ project_id: string; id: string }>(
    sql`UPDATE calls SET ${withoutPayload}, start_bytes = 0, end_bytes = 0, swept_at = ${now} WHERE ${light(rawSql('deleted_at IS NOT NULL AND swept_at IS NULL'), rawSql('deleted_at'))} RETURNING project_id, id`,
  )
  for (const [project, calls] of Map.groupBy(emptied, ({ project_id }) => project_id)) {
    const ids = calls.map(({ id }) => id)
    await markForSearch(tx, project, ids)
    await removeFeedbackOfEndedThreads(tx, project, ids, now)
  }
  if (emptied.length > 0) {
    await removeSwept(tx, now)
    await removeSweptResponses(tx, now)
  }
  const forgotten = await deleteCallRows(tx, forgetBefore, limit)
  const results = await refreshStale(tx, { now, project_id: null, limit })
  return expired + emptied.length + forgotten + results
}

/** Removes the rows, and what other tables store about these calls alone. Returns how many were removed. */
async function deleteCallRows(tx: Transaction, before: number, limit: number): Promise<number> {
  const calls = await tx.all<{ project_id: string; id: string }>(
    sql`SELECT project_id, id FROM calls WHERE swept_at < ${before} ORDER BY swept_at LIMIT ${limit}`,
  )
  for (const [project, own] of Map.groupBy(calls, ({ project_id }) => project_id)) {
    const ids = own.map(({ id }) => id)
    await deleteJudgements(tx, project, ids)
    await deleteRuleScores(tx, project, ids)
    await tx.run(sql`DELETE FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)})`)
  }
  return calls.length
}
