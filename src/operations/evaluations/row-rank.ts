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
  const { neighbours, count } = await deriveThenOpen(db, view, signal)
  const near = await neighbours(row, body.neighbours ?? 1)
  const own = near.find(({ row_digest }) => row_digest === row)
  if (own === undefined) return { rank: null, total_rows: await count(view.intersect), before: [], after: [] }
  const digests = (some: typeof near) => some.map(({ row_digest }) => row_digest)
  return {
    rank: own.place,
    total_rows: own.total,
    before: digests(near.filter(({ place }) => place < own.place)),
    after: digests(near.filter(({ place }) => place > own.place)),
  }
}
