import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { digestOfTable } from '../../domain/digests.ts'
import { type JsonText, jsonList } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { missingRows } from '../../storage/objects/tables.ts'
import type { CreateBody, FromDigestsBody } from './contract.ts'
import { type GivenRow, storeAllRows, storeOrder, withoutDuplicates } from './store.ts'

const maxRows = 1_000_000
const digestsAtOnce = 512

export async function createTable(db: Database, caller: Caller, { table }: CreateBody) {
  requireAccess(caller, table.project_id, 'table.project_id')
  return storeTable(db, table.project_id, table.rows, ['table'], table.expected_digest)
}

/** The same rows in the same order are the same table. `path` is their path in the request. */
export async function storeTable(
  db: Database,
  projectId: string,
  rows: readonly GivenRow[],
  path: readonly string[],
  expected?: string | null,
): Promise<{ digest: string; row_digests: JsonText }> {
  refuseTooMany(rows.length, [...path, 'rows'].join('.'))
  const yieldToLoop = createYieldToLoop()
  const rowDigests = rows.map((row) => row.digest)
  const digest = await digestOfTable(rowDigests, yieldToLoop)
  refuseOther(digest, expected, [...path, 'expected_digest'].join('.'))
  await storeAllRows(db, projectId, rows)
  await storeOrder(db, projectId, digest, rowDigests)
  return { digest, row_digests: await jsonList(rowDigests) }
}

/** Makes a table of rows that the project has already. */
export async function createFromDigests(db: BoundDatabase, caller: Caller, body: FromDigestsBody) {
  const { project_id, row_digests } = body
  requireAccess(caller, project_id)
  refuseTooMany(row_digests.length, 'row_digests')
  const yieldToLoop = createYieldToLoop(db.signal)
  const digest = await digestOfTable(row_digests, yieldToLoop)
  refuseOther(digest, body.expected_digest, 'expected_digest')
  const once = await withoutDuplicates(row_digests, yieldToLoop)
  for (let from = 0; from < once.length; from += digestsAtOnce) {
    const [missing] = await missingRows(db, project_id, once.slice(from, from + digestsAtOnce))
    if (missing !== undefined)
      throw rowNotFound(`row_digests.${row_digests.indexOf(missing)}`, project_id, missing)
    const pause = yieldToLoop()
    if (pause) await pause
  }
  await storeOrder(db, project_id, digest, row_digests)
  return { digest }
}

function rowNotFound(field: string, project: string, digest: string) {
  return refuse('row_not_found', { field, digest, project })
}

export function refuseTooMany(count: number, field: string): void {
  if (count > maxRows) throw refuse('too_many_rows', { field, received: count, limit: maxRows })
}

function refuseOther(digest: string, expected: string | null | undefined, field: string): void {
  if (expected == null || expected === digest) return
  throw refuse('digest_differs', { field, received: expected, digest })
}
