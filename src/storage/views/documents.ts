import { matchingCalls } from '../calls/calls.ts'
import { type LargeColumn, largeColumns } from '../calls/columns.ts'
import { type CallsView, streamMatching } from '../calls/queries.ts'
import { rawSql, sql } from '../sql/sql.ts'
import type { BoundReader } from '../transaction.ts'

/** The largest document in bytes that is opened to see what it contains. */
const maxDocumentBytes = 64 * 1024

type CallDocuments = Record<LargeColumn, string | null> & {
  /** The number of documents that are too large to be opened. */
  left_out: number
}

/** The contents of the newest calls of a view, some at a time. */
export async function* streamDocuments(
  db: BoundReader,
  view: CallsView,
  most: number,
  now: number,
): AsyncGenerator<CallDocuments[]> {
  const { dialect } = db
  const isLarge = (name: string) => `${dialect.bytes(rawSql(name)).text} > ${maxDocumentBytes}`
  const columns = largeColumns.map((name) => `CASE WHEN NOT ${isLarge(name)} THEN ${name} END AS ${name}`)
  const leftOut = largeColumns.map((name) => `CASE WHEN ${isLarge(name)} THEN 1 ELSE 0 END`).join(' + ')
  const found = streamMatching<CallDocuments>(
    db,
    { ...view, sort: [] },
    (
      query,
    ) => sql`SELECT calls.project_id, calls.id, ${rawSql(columns.join(', '))}, ${rawSql(leftOut)} AS left_out ${matchingCalls(db, query, now)}
        ORDER BY calls.started_at DESC, calls.id DESC LIMIT ${most}`,
    now,
    { rows: 20 },
  )
  for await (const rows of found) yield rows.map(withSmall)
}

/** Documents of cold calls are seen here for the first time. */
function withSmall(row: CallDocuments): CallDocuments {
  let { inputs, output, left_out } = row
  const isTooLarge = (text: string | null) => text !== null && Buffer.byteLength(text) > maxDocumentBytes
  if (isTooLarge(inputs)) [inputs, left_out] = [null, left_out + 1]
  if (isTooLarge(output)) [output, left_out] = [null, left_out + 1]
  return { ...row, inputs, output, left_out }
}
