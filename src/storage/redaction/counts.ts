import { isLive } from '../calls/calls.ts'
import { join, rawSql, sql } from '../sql/sql.ts'
import type { BoundReader, Command, Reader } from '../transaction.ts'
import type { TextToRedact } from './texts.ts'

export interface RedactionCount {
  project_id: string
  /** A kind, the name of a pattern, `dropped`, `hashed` or `failed`. */
  kind: string
  count: number
}

/** Adds to what was replaced. In order, so that two writes cannot wait for each other. */
export const addRedactionCounts: Command<readonly RedactionCount[], void> = async (tx, added) => {
  const keyOf = ({ project_id, kind }: RedactionCount) => `${project_id} ${kind}`
  for (const { project_id, kind, count } of added.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    await tx.run(
      sql`INSERT INTO redaction_counts (project_id, kind, count) VALUES (${project_id}, ${kind}, ${count})
          ON CONFLICT (project_id, kind) DO UPDATE SET count = redaction_counts.count + excluded.count`,
    )
  }
}

/** How often each kind was replaced in the project. */
export async function readRedactionCounts(db: Reader, project: string): Promise<Record<string, number>> {
  const rows = await db.all<RedactionCount>(
    sql`SELECT kind, count FROM redaction_counts WHERE project_id = ${project} ORDER BY kind`,
  )
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, Number(count)]))
}

const texts = ['display_name', 'op_name', 'exception'] as const
const json = ['attributes', 'inputs', 'output', 'summary'] as const

type Row = Record<(typeof texts)[number] | (typeof json)[number], string | null>

/** Rows in memory at a time; each has a whole call. */
const rowsAtOnce = 8

/** What the latest calls of a project say, as it would be redacted. */
export async function* streamForRedaction(
  db: BoundReader,
  { project, limit, now }: { project: string; limit: number; now: number },
): AsyncGenerator<TextToRedact[][]> {
  const columns = rawSql(texts.join(', '))
  const stored = json.map((column) => sql`${db.dialect.stored(rawSql(column))} AS ${rawSql(column)}`)
  const statement = sql`SELECT ${columns}, ${join(stored, ', ')} FROM calls
    WHERE project_id = ${project} AND ${isLive(now)} AND ${db.dialect.cancellable} ORDER BY started_at DESC LIMIT ${limit}`
  for await (const rows of db.stream<Row>(statement, { rows: rowsAtOnce })) yield rows.map(textsOf)
}

const textsOf = (row: Row): TextToRedact[] => [
  ...texts.flatMap((column) => (row[column] === null ? [] : [{ text: row[column] }])),
  ...json.flatMap((column) => (row[column] === null ? [] : [{ text: row[column], root: column }])),
]
