import { removeCompletions } from '../answers/completions.ts'
import { removeResponses } from '../answers/response-removals.ts'
import { withoutPayload } from '../calls/facts.ts'
import { markTrialsOfDeleted } from '../evaluations/pending.ts'
import { removeFeedback, removeFeedbackOfEndedThreads } from '../feedback/writes.ts'
import { deleteJudgements } from '../monitors/notes.ts'
import { deleteRuleScores } from '../queues/ended-calls.ts'
import { entriesOf } from '../search/entries.ts'
import { searchLock } from '../search/indexing.ts'
import { listOf, sql } from '../sql/sql.ts'
import { type Command, countOf, type Transaction } from '../transaction.ts'
import { countErased, type ErasedCounts, type ErasureKey, lockErasure } from './progress.ts'
import { eraseItems, itemsOf } from './queue-items.ts'

interface CallsToErase extends ErasureKey {
  /** So few that no other write waits for long. */
  ids: readonly string[]
  now: number
}

/** Feedback and items of queues that are removed in one transaction. */
const besidesAtOnce = 50

/**
 * Erases calls and what is stored about them, a transaction at a time: feedback, then items of queues, then the calls with
 * the rest. Returns whether there is more of it.
 */
export const eraseCalls: Command<CallsToErase, boolean> = async (tx, { ids, now, ...key }) => {
  const { project_id } = key
  await lockErasure(tx, key)
  const feedback = await tx.all<{ id: string }>(
    sql`SELECT id FROM feedback WHERE project_id = ${project_id} AND call_id IN (${listOf(ids)}) LIMIT ${besidesAtOnce}`,
  )
  if (feedback.length > 0) {
    await eraseFeedback(tx, { ...key, ids: feedback.map(({ id }) => id) })
    return true
  }
  const items = await tx.all<{ id: string; queue_id: string; finished_by: number }>(
    sql`SELECT id, queue_id, finished_by FROM annotation_queue_items WHERE ${itemsOf(project_id, ids)} LIMIT ${besidesAtOnce}`,
  )
  if (items.length > 0) {
    await countErased(tx, key, await eraseItems(tx, project_id, items, now))
    return true
  }
  const counts = await countBesides(tx, project_id, ids)
  const erased = await eraseRows(tx, project_id, ids, now)
  await countErased(tx, key, { ...counts, ...erased })
  return false
}

/** Feedback of the subject itself, and of erased calls. */
export const eraseFeedback: Command<ErasureKey & { ids: readonly string[] }, void> = async (
  tx,
  { ids, ...key },
) => {
  await lockErasure(tx, key)
  const { project_id } = key
  const found = await tx.all(
    sql`SELECT id FROM feedback WHERE project_id = ${project_id} AND id IN (${listOf(ids)})`,
  )
  await removeFeedback(tx, { project_id, ids })
  await countErased(tx, key, { feedback: found.length })
}

/** What is counted is read before it is removed by what removes it for others, too. */
async function countBesides(
  tx: Transaction,
  project: string,
  ids: readonly string[],
): Promise<Partial<ErasedCounts>> {
  const kinds = ['judgements', 'shadow_pairs', 'search_entries', 'completions', 'responses'] as const
  const counts: Partial<ErasedCounts> = {}
  for (const kind of kinds) counts[kind] = await countOf(tx, besides[kind](project, ids))
  return counts
}

const ofCalls = (project: string, ids: readonly string[]) =>
  sql`project_id = ${project} AND call_id IN (${listOf(ids)})`

/** Rows about these calls, by kind. Monitors and shadows are few, and their tables are in the order of their ids. */
export const besides = {
  judgements: (project: string, ids: readonly string[]) =>
    sql`judgements WHERE ${ofCalls(project, ids)} AND monitor_id IN (SELECT id FROM monitors WHERE project_id = ${project} AND deleted_at IS NULL)`,
  shadow_pairs: (project: string, ids: readonly string[]) =>
    sql`shadow_pairs WHERE ${ofCalls(project, ids)} AND shadow_id IN (SELECT id FROM label_shadows WHERE project_id = ${project})`,
  search_entries: (project: string, ids: readonly string[]) =>
    sql`search_entries WHERE ${ofCalls(project, ids)}`,
  completions: (project: string, ids: readonly string[]) => sql`completions WHERE ${ofCalls(project, ids)}`,
  responses: (project: string, ids: readonly string[]) => sql`responses WHERE ${ofCalls(project, ids)}`,
}

/**
 * The empty row stays until the sweep removes it, so that a late part cannot restore the call. It has nothing of the
 * subject. Returns how many calls it were, and how much feedback on conversations went with their last ones.
 */
async function eraseRows(
  tx: Transaction,
  project: string,
  ids: readonly string[],
  now: number,
): Promise<Pick<ErasedCounts, 'calls' | 'feedback'>> {
  const ofThreads = sql`feedback WHERE project_id = ${project} AND thread_id IN (
    SELECT thread_id FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)}))`
  const before = await countOf(tx, ofThreads)
  const which = sql`project_id = ${project} AND id IN (${listOf(ids)})`
  const calls = await countOf(tx, sql`calls WHERE ${which} AND swept_at IS NULL`)
  await tx.run(sql`UPDATE calls SET deleted_at = ${now} WHERE ${which} AND deleted_at IS NULL`)
  await removeFeedbackOfEndedThreads(tx, project, ids, now)
  const feedback = before - (await countOf(tx, ofThreads))
  await removeCompletions(tx, project, ids)
  await removeResponses(tx, project, ids)
  await markTrialsOfDeleted(tx, project, ids, now)
  await deleteJudgements(tx, project, ids)
  await deleteRuleScores(tx, project, ids)
  await tx.run(sql`DELETE FROM ${besides.shadow_pairs(project, ids)}`)
  await tx.lock(searchLock)
  await entriesOf(tx).remove(tx, project, ids)
  await tx.run(
    sql`UPDATE calls SET ${withoutPayload}, start_bytes = 0, end_bytes = 0, swept_at = ${now}, user_id = NULL,
          thread_id = NULL, turn_id = NULL, display_name = NULL, renamed = NULL, run_id = NULL WHERE ${which}`,
  )
  tx.changed({ project, kind: 'call', ids })
  return { calls, feedback }
}
