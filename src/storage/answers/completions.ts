import { batchesOf } from '../../domain/batches.ts'
import { isLive } from '../calls/calls.ts'
import { type Columns, namesOf, type RowOf } from '../sql/columns.ts'
import { insertInto } from '../sql/inserts.ts'
import { listOf, sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'

export type CompletionKind = 'chat' | 'text' | 'response' | 'message' | 'embedding' | 'ranking'

const kinds = {
  project_id: 'text',
  call_id: 'text',
  completion_id: 'text',
  kind: 'text',
  model: 'text',
  created_at: 'time',
  metadata: 'text?',
} as const satisfies Columns

/** What a call that is an answer is found by beside its own id. Metadata is a JSON object. */
export type CompletionRow = RowOf<typeof kinds> & { kind: CompletionKind }

const columns = namesOf(kinds)
/** An answer that is written again is the same one, whose metadata may have been changed meanwhile. */
const insert = insertInto('completions', columns, 'ON CONFLICT (project_id, call_id) DO NOTHING')

export async function addCompletions(tx: Transaction, rows: readonly CompletionRow[]): Promise<void> {
  const values = rows.map((row) => columns.map((column) => row[column]))
  for (const statement of insert(values)) await tx.run(statement)
}

/** With calls that are deleted. */
export async function removeCompletions(
  tx: Transaction,
  project: string,
  calls: readonly string[],
): Promise<void> {
  for (const some of batchesOf(calls, 100)) {
    await tx.run(sql`DELETE FROM completions WHERE project_id = ${project} AND call_id IN (${listOf(some)})`)
  }
}

/** Of calls that were emptied at this time. */
export async function removeSwept(tx: Transaction, sweptAt: number): Promise<void> {
  await tx.run(
    sql`DELETE FROM completions WHERE (project_id, call_id) IN (SELECT project_id, id FROM calls WHERE swept_at = ${sweptAt})`,
  )
}

/** Ids that callers choose may repeat; beyond so many nobody counts. */
export const mostMatches = 100

export interface CallOfCompletion {
  callId: string
  /** How many calls have this id of a completion, up to `mostMatches`. */
  matches: number
}

/** The call that the id of a completion names: the latest that there is to see. */
export async function callOfCompletion(
  db: Reader,
  project: string,
  completionId: string,
  now: number,
): Promise<CallOfCompletion | undefined> {
  const row = await db.get<{ call_id: string; matches: number }>(
    sql`SELECT call_id, count(*) OVER () AS matches FROM (
          SELECT call_id, completions.created_at FROM completions
          CROSS JOIN calls WHERE calls.project_id = completions.project_id AND calls.id = completions.call_id
            AND completions.project_id = ${project} AND completion_id = ${completionId} AND ${isLive(now)}
          ORDER BY completions.created_at DESC, call_id DESC LIMIT ${mostMatches}
        ) AS latest ORDER BY created_at DESC, call_id DESC LIMIT 1`,
  )
  return row && { callId: row.call_id, matches: Number(row.matches) }
}
