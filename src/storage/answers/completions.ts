import { batchesOf } from '../../domain/batches.ts'
import { isLive } from '../calls/calls.ts'
import { type Columns, namesOf, type RowOf } from '../sql/columns.ts'
import { insertInto } from '../sql/inserts.ts'
import { listOf, sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'

export type CompletionKind = 'chat' | 'text' | 'response' | 'message' | 'embedding' | 'ranking' | 'decision'

const kinds = {
  project_id: 'text',
  call_id: 'text',
  completion_id: 'text',
  kind: 'text',
  model: 'text',
  created_at: 'time',
  metadata: 'text?',
} as const satisfies Columns

/** What a call that is an answer can be found by, besides its own id. Metadata is a JSON object. */
export type CompletionRow = RowOf<typeof kinds> & { kind: CompletionKind }

const columns = namesOf(kinds)
/** Writing an answer again leaves its row as it is: its metadata may have been changed since. */
const insert = insertInto('completions', columns, 'ON CONFLICT (project_id, call_id) DO NOTHING')

export async function addCompletions(tx: Transaction, rows: readonly CompletionRow[]): Promise<void> {
  const values = rows.map((row) => columns.map((column) => row[column]))
  for (const statement of insert(values)) await tx.run(statement)
}

/** Called when calls are deleted. */
export async function removeCompletions(
  tx: Transaction,
  project: string,
  calls: readonly string[],
): Promise<void> {
  for (const some of batchesOf(calls, 100)) {
    await tx.run(sql`DELETE FROM completions WHERE project_id = ${project} AND call_id IN (${listOf(some)})`)
  }
}

/** Removes the completions of calls that were swept at this time. */
export async function removeSwept(tx: Transaction, sweptAt: number): Promise<void> {
  await tx.run(
    sql`DELETE FROM completions WHERE (project_id, call_id) IN (SELECT project_id, id FROM calls WHERE swept_at = ${sweptAt})`,
  )
}

/** Callers choose the ids, so they may repeat; matches beyond this number are not counted. */
export const maxMatches = 100

export interface CallOfCompletion {
  callId: string
  /** How many calls have this completion id, up to `maxMatches`. */
  matches: number
}

/** The call that a completion id names: the latest one that is live. */
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
          ORDER BY completions.created_at DESC, call_id DESC LIMIT ${maxMatches}
        ) AS latest ORDER BY created_at DESC, call_id DESC LIMIT 1`,
  )
  return row && { callId: row.call_id, matches: Number(row.matches) }
}
