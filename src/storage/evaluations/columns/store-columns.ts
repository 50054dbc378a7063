import type { BoundDatabase } from '../../database.ts'
import { sql } from '../../sql/sql.ts'
import { onlyRow } from '../../transaction.ts'
import { gatherColumns, type StoredHeader, type VersionedEvaluation } from './gather.ts'

/** Stores the columns of an evaluation, unless its trials change meanwhile. Returns whether they were stored. */
export async function storeColumns(db: BoundDatabase, of: VersionedEvaluation): Promise<boolean> {
  const gathered = await gatherColumns(db, of.project_id, of.evaluation_id)
  if (gathered === undefined) return false
  const sums = await onlyRow<{ latency: number | null; tokens: number | string | null }>(
    db,
    sql`SELECT avg(latency) AS latency, sum(tokens) AS tokens FROM eval_trials AS trial
        WHERE project_id = ${of.project_id} AND evaluation_id = ${of.evaluation_id} AND ${db.dialect.trialsCancellable}`,
  )
  const header: StoredHeader = {
    ...gathered.header,
    latency: sums.latency,
    tokens: sums.tokens === null ? null : Number(sums.tokens),
  }
  for (const [name, bytes] of gathered.columns) {
    db.signal.throwIfAborted()
    if (!(await db.write('keepColumn', { ...of, name, bytes }))) return false
  }
  return db.write('finishColumns', { ...of, header: JSON.stringify(header) })
}
