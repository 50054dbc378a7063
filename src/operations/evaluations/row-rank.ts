import { type Caller, hasAccess, requireAccess } from '../../domain/callers.ts'
import type { Database } from '../../storage/database.ts'
import { deriveThenOpen } from '../../storage/evaluations/results.ts'
import { viewOf } from './view.ts'
import type { RankAnswer, RankBody } from './views-contract.ts'

/** The position of a row in an order of rows, and its neighbours. */
export async function rankRow(
  db: Database,
  caller: Caller,
  body: RankBody,
  signal: AbortSignal,
): Promise<RankAnswer> {
  const { project_id: project, row_digest: row } = body
  requireAccess(caller, project)
  const view = viewOf(project, body, (other) => hasAccess(caller, other))
  const { rankOf } = await deriveThenOpen(db, view, signal)
  return rankOf(row, body.neighbours ?? 1)
}
