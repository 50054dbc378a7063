import { type Caller, reach } from '../../domain/callers.ts'
import { digestOfTable } from '../../domain/digests.ts'
import type { JsonText } from '../../domain/json-text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import { readTable, selectRowDigests } from '../../storage/tables.ts'
import { applyChanges, type Change } from './apply.ts'
import type { TableUpdate, UpdateBody } from './contract.ts'
import { refuseTooMany } from './create.ts'
import { digestRows, keepAllRows, keepOrder } from './keep.ts'

const digestsAtOnce = 2000

/** Makes a new table out of another one, which stays as it is. */
export async function updateTable(db: Database, caller: Caller, body: UpdateBody, signal: AbortSignal) {
  const { project_id, base_digest, updates } = body
  reach(caller, project_id)
  const base = await readTable(db, project_id, base_digest)
  if (base === undefined) throw tableNotFound('base_digest', project_id, base_digest)
  refuseTooMany(base.row_count + updates.length, 'updates')
  const order: string[] = []
  const statement = selectRowDigests(db, project_id, base_digest)
  for await (const rows of db.stream<{ row_digest: string }>(statement, { signal, rows: digestsAtOnce })) {
    for (const { row_digest } of rows) order.push(row_digest)
  }
  const rows = await digestRows(updates.map(rowOf).filter((row) => row !== undefined))
  const digests = rows.values()
  const changes = updates.map((update): Change => {
    if ('pop' in update) return { pop: update.pop.index }
    const { digest } = digests.next().value as { digest: string }
    return 'append' in update ? { append: digest } : { insert: { index: update.insert.index, digest } }
  })
  const updated = await applyChanges(order, changes)
  const digest = digestOfTable(order)
  await keepAllRows(db, project_id, rows)
  await keepOrder(db, project_id, digest, order)
  return { digest, updated_row_digests: updated }
}

function rowOf(update: TableUpdate): JsonText | undefined {
  if ('append' in update) return update.append.row
  return 'insert' in update ? update.insert.row : undefined
}

export function tableNotFound(field: string, project: string, digest: string) {
  return refuse('table_not_found', {
    field,
    digest: JSON.stringify(digest),
    project: JSON.stringify(project),
  })
}
