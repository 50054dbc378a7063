import { type Caller, requireAccess } from '../../domain/callers.ts'
import { writeJson } from '../../domain/json/text.ts'
import { viewOf } from '../../domain/view.ts'
import type { Database } from '../../storage/database.ts'
import { readLabels } from '../../storage/tables/object-labels.ts'
import { streamObjects } from '../../storage/tables/object-queries.ts'
import type { QueryBody } from './contract.ts'
import { objectRecord } from './read.ts'

/** One JSON text for each version. */
export async function* queryObjects(
  db: Database,
  caller: Caller,
  body: QueryBody,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { project_id } = body
  requireAccess(caller, project_id)
  const view = { ...viewOf(body), filter: body.filter ?? {}, values: !body.metadata_only }
  for await (const rows of streamObjects(db, view, signal)) {
    const labels =
      body.include_tags_and_aliases && rows.length > 0 ? await readLabels(db, project_id, rows) : []
    for (const [index, row] of rows.entries()) yield writeJson(objectRecord(row, row.val, labels[index]))
  }
}
