import type { TextToRedact } from '../redaction/texts.ts'
import { join, rawSql, sql } from '../sql/sql.ts'
import type { LongReader } from '../transaction.ts'
import { isLive } from './calls.ts'

const texts = ['display_name', 'op_name', 'exception'] as const
const json = ['attributes', 'inputs', 'output', 'summary'] as const

type Row = Record<(typeof texts)[number] | (typeof json)[number], string | null>

/** Rows in memory at a time; each has a whole call. */
const rowsAtOnce = 8

/** What the latest calls of a project say, as it would be redacted. */
export async function* streamForRedaction(
  db: LongReader,
  { project, limit, now }: { project: string; limit: number; now: number },
  signal: AbortSignal,
): AsyncGenerator<TextToRedact[][]> {
  const columns = rawSql(texts.join(', '))
  const stored = json.map((column) => sql`${db.dialect.stored(rawSql(column))} AS ${rawSql(column)}`)
  const statement = sql`SELECT ${columns}, ${join(stored, ', ')} FROM calls
    WHERE project_id = ${project} AND ${isLive(now)} AND ${db.dialect.cancellable} ORDER BY started_at DESC LIMIT ${limit}`
  for await (const rows of db.stream<Row>(statement, { signal, rows: rowsAtOnce })) yield rows.map(textsOf)
}

const textsOf = (row: Row): TextToRedact[] => [
  ...texts.flatMap((column) => (row[column] === null ? [] : [{ text: row[column] }])),
  ...json.flatMap((column) => (row[column] === null ? [] : [{ text: row[column], root: column }])),
]
