import { type Caller, requireAccess } from '../../domain/callers.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { viewOf } from '../../domain/view.ts'
import type { Database } from '../../storage/database.ts'
import { streamRows } from '../../storage/tables/tables.ts'
import type { QueryBody } from './contract.ts'

/** One JSON text for each row. A table that is not there has none. */
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
