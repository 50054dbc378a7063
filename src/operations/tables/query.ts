import { type Caller, requireAccess } from '../../domain/callers.ts'
import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import type { Dialect } from '../../storage/sql/dialect.ts'
import { compileSorting, firstOfEach, type Sort, type Sorting } from '../../storage/sql/expressions.ts'
import { listOf, sql, trusted } from '../../storage/sql/sql.ts'
import { type RowOfTable, selectRows } from '../../storage/tables/tables.ts'
import type { QueryBody } from './contract.ts'

type SortBy = NonNullable<QueryBody['sort_by']>[number]

/** One JSON text for each row. A table that is not there has none. */
export async function* queryTable(
  db: Database,
  caller: Caller,
  body: QueryBody,
  signal: AbortSignal,
): AsyncGenerator<string> {
  requireAccess(caller, body.project_id)
  const digests = body.filter?.row_digests
  const statement = selectRows(db, {
    projectId: body.project_id,
    digest: body.digest,
    conditions: digests ? [sql`entry.row_digest IN (${listOf(digests)})`] : [],
    ...sortingOf(body.sort_by ?? [], db.dialect),
    limit: body.limit ?? null,
    offset: body.offset ?? 0,
  })
  for await (const rows of db.stream<RowOfTable>(statement, { signal })) {
    for (const { digest, val, original_index } of rows) {
      yield writeJson({ digest, val: new JsonText(val), original_index })
    }
  }
}

function sortingOf(sortBy: readonly SortBy[], dialect: Dialect): Sorting {
  return sortBy.length === 0 ? { order: [] } : compileSorting(firstOfEach(sortBy.map(sortedBy)), dialect)
}

function sortedBy({ field, direction }: SortBy, index: number): Sort & { field: string } {
  const place = `sort_by.${index}.field`
  checkPath(field, place)
  const path = splitPath(field)
  if (path.includes('')) {
    const given = `${JSON.stringify(field)} has an empty step`
    throw refuse('invalid_value', { field: place, given, accepted: 'a path such as a.b' })
  }
  return { field, reading: { kind: 'json', column: trusted('table_rows.val'), path }, direction }
}
