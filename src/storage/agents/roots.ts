import { readInBatches } from '../../domain/batches.ts'
import { isLive } from '../calls/calls.ts'
import { listOf, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'

/* Many instrumentations name the conversation on the root of a trace only. */

/** By trace: the conversation that its roots name. */
export const conversationsOfRoots = (project: string, conditions: Sql, now: number): Sql =>
  sql`SELECT trace_id, min(thread_id) AS thread_id FROM calls
    WHERE calls.project_id = ${project} AND thread_id <> '' AND parent_id IS NULL AND ${conditions} AND ${isLive(now)}
    GROUP BY trace_id`

/** The conversations of the traces that have one. */
export async function readConversationsOfTraces(
  db: BoundReader,
  project: string,
  traces: readonly string[],
  now: number,
): Promise<Map<string, string>> {
  const rows = await readInBatches([...new Set(traces)], 500, (some) => {
    const query = conversationsOfRoots(project, sql`trace_id IN (${listOf(some)})`, now)
    return allRows<{ trace_id: string; thread_id: string }>(db, query)
  })
  return new Map(rows.map(({ trace_id, thread_id }) => [trace_id, thread_id]))
}

/** Holds for the calls that name these conversations, and those that name none in the traces of their turns. */
export const ofConversations = (project: string, conversations: readonly string[], now: number): Sql => {
  const roots = conversationsOfRoots(project, sql`thread_id IN (${listOf(conversations)})`, now)
  // One condition with OR would read the whole project.
  return sql`calls.id IN (SELECT calls.id FROM calls
      WHERE calls.project_id = ${project} AND calls.thread_id IN (${listOf(conversations)})
    UNION ALL SELECT calls.id FROM (${roots}) AS turns CROSS JOIN calls
      WHERE calls.project_id = ${project} AND calls.trace_id = turns.trace_id AND coalesce(calls.thread_id, '') = '')`
}
