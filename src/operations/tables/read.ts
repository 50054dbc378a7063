import { type Caller, requireAccess } from '../../domain/callers.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { viewOf } from '../../domain/view.ts'
import type { Database } from '../../storage/database.ts'
import { readTable, readTables, sizeOfTable, streamRows } from '../../storage/objects/tables.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { QueryBody, StatsBatchBody, StatsBody } from './contract.ts'
import { tableNotFound } from './update.ts'

/** One JSON text for each row. A table that does not exist has none. */
export async function* queryTable(
  db: Database,
  caller: Caller,
  body: QueryBody,
  signal: AbortSignal,
): AsyncGenerator<string> {
  requireAccess(caller, body.project_id)
  const rows = body.filter?.row_digests ?? undefined
  const view = { ...viewOf(body), digest: body.digest, rows }
  for await (const chunk of streamRows(db, view, signal)) {
    for (const { digest, val, original_index } of chunk) {
      yield writeJson({ digest, val: new JsonText(val), original_index })
    }
  }
}

export async function countRows(db: Reader, caller: Caller, { project_id, digest }: StatsBody) {
  requireAccess(caller, project_id)
  const table = await readTable(db, project_id, digest)
  if (table === undefined) throw tableNotFound('digest', project_id, digest)
  return { count: table.row_count }
}

/** In the order of the digests, each once; a table that does not exist is left out. */
export async function countTables(db: Database, caller: Caller, body: StatsBatchBody, signal: AbortSignal) {
  const { project_id, digests } = body
  requireAccess(caller, project_id)
  const once = [...new Set(digests)]
  const counts = new Map((await readTables(db, project_id, once)).map((table) => [table.digest, table.count]))
  const tables: { digest: string; count: number; storage_size_bytes: number | null }[] = []
  for (const digest of once) {
    const count = counts.get(digest)
    if (count === undefined) continue
    const size = body.include_storage_size ? await sizeOfTable(db, project_id, digest, signal) : null
    tables.push({ digest, count, storage_size_bytes: size })
  }
  return { tables }
}
