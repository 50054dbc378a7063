import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { digestOfTable } from '../../domain/digests.ts'
import { jsonList } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { readTable, streamRowDigests } from '../../storage/objects/tables.ts'
import type { TableUpdate, UpdateBody } from './contract.ts'
import { refuseTooMany } from './create.ts'
import { applyChanges, type Change, RowOrder } from './row-order.ts'
import { type GivenRow, storeAllRows, storeOrder } from './store.ts'

const digestsAtOnce = 2000

/** Makes a new table from another one, which stays as it is. Stops if the client disconnects before it is written. */
export async function updateTable(db: BoundDatabase, caller: Caller, body: UpdateBody) {
  const { project_id, base_digest, updates } = body
  requireAccess(caller, project_id)
  const base = await readTable(db, project_id, base_digest)
  if (base === undefined) throw tableNotFound('base_digest', project_id, base_digest)
  refuseTooMany(base.row_count + updates.length, 'updates')
  const order = new RowOrder()
  const chunks = streamRowDigests(db, project_id, base_digest, digestsAtOnce)
  for await (const digests of chunks) for (const digest of digests) order.push(digest)
  const yieldToLoop = createYieldToLoop(db.signal)
  const updated = await applyChanges(order, changesOf(updates), yieldToLoop)
  const digest = await digestOfTable(order, yieldToLoop)
  db.signal.throwIfAborted()
  await storeAllRows(db, project_id, rowsOf(updates))
  await storeOrder(db, project_id, digest, order)
  return { digest, updated_row_digests: await jsonList(updated) }
}

function* changesOf(updates: readonly TableUpdate[]): Generator<Change> {
  for (const update of updates) {
    if ('pop' in update) yield { pop: update.pop.index }
    else if ('append' in update) yield { append: update.append.row.digest }
    else yield { insert: { index: update.insert.index, digest: update.insert.row.digest } }
  }
}

function* rowsOf(updates: readonly TableUpdate[]): Generator<GivenRow> {
  for (const update of updates) {
    if ('append' in update) yield update.append.row
    else if ('insert' in update) yield update.insert.row
  }
}

export function tableNotFound(field: string, project: string, digest: string) {
  return refuse('table_not_found', { field, digest, project })
}
