import type { Dialect } from '../sql/dialect.ts'
import { allOf, emptySql, join, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { type Aggregates, bucketOf, type Figures, figuresOf } from './aggregates.ts'

/** How a value inside payloads becomes a number: as it is, as 1 or 0, or as 1 wherever there is one. */
export type FeedbackValue = 'numeric' | 'boolean' | 'categorical'

export interface FeedbackMetric extends Omit<Aggregates, 'column'> {
  path: readonly string[]
  type: FeedbackValue
}

/** Times are microseconds. */
export interface FeedbackRange {
  project: string
  start: number
  end: number
  type: string | undefined
  /** A reference, of any version if it names none or ends in `:*`. */
  trigger: string | undefined
}

function matching(dialect: Dialect, { project, start, end, type, trigger }: FeedbackRange): Sql {
  const conditions = [sql`project_id = ${project} AND created_at >= ${start} AND created_at < ${end}`]
  if (type !== undefined) conditions.push(sql`feedback_type = ${type}`)
  if (trigger !== undefined) {
    const versions = `${trigger.replace(/:\*$/, '')}:`
    conditions.push(
      sql`(trigger_ref = ${trigger} OR ${dialect.position(rawSql('trigger_ref'), sql`${versions}`)} = 1)`,
    )
  }
  return sql`FROM feedback WHERE ${allOf([...conditions, dialect.cancellable])}`
}

interface FeedbackSum {
  /** Null for the whole range. */
  bucket: number | null
  count: number
  figures: Figures
}

/** Figures of each bucket, and of the whole range at the end. */
export async function readFeedbackSums(
  db: BoundReader,
  range: FeedbackRange,
  edges: readonly number[],
  metrics: readonly FeedbackMetric[],
): Promise<FeedbackSum[]> {
  const { dialect } = db
  const named = metrics.map((metric, index) => ({ ...metric, column: `value_${index}` }))
  const values = named.map(
    ({ path, type, column }) => sql`, ${numberOf(dialect, path, type)} AS ${rawSql(column)}`,
  )
  const { columns, read } = figuresOf(dialect, named)
  const valued = sql`SELECT ${bucketOf(rawSql('created_at'), edges)} AS bucket${join(values, '')} ${matching(dialect, range)}`
  const sums = async (bucket: Sql, group: Sql): Promise<FeedbackSum[]> => {
    const rows = await allRows<{ bucket: number | null; count: number }>(
      db,
      sql`SELECT ${bucket} AS bucket, count(*) AS count${columns} FROM (${valued}) AS valued${group}`,
    )
    return rows.map((row) => ({
      bucket: row.bucket === null ? null : Number(row.bucket),
      count: Number(row.count),
      figures: read(row),
    }))
  }
  const ofBuckets = await sums(rawSql('bucket'), rawSql(' GROUP BY bucket ORDER BY bucket'))
  return [...ofBuckets, ...(await sums(rawSql('CAST(NULL AS INTEGER)'), emptySql))]
}

function numberOf(dialect: Dialect, path: readonly string[], type: FeedbackValue): Sql {
  const { text, number, exists } = dialect.json(rawSql('payload'), path)
  if (type === 'numeric') return sql`CAST(${number} AS DOUBLE PRECISION)`
  if (type === 'categorical') return sql`CASE WHEN ${exists} THEN 1 END`
  return sql`CASE ${text} WHEN 'true' THEN 1 WHEN 'false' THEN 0 END`
}

/** The largest payload in bytes that is opened to see what it contains. */
const maxPayloadBytes = 64 * 1024

/** The newest payload of each type and trigger, the newest first; those that are too large are left out. */
export async function* newestPayloads(
  db: BoundReader,
  range: FeedbackRange,
  limit: number,
): AsyncGenerator<string[]> {
  const newest = sql`SELECT feedback_type AS kind, trigger_ref AS cause, max(created_at) AS latest
    ${matching(db.dialect, range)} GROUP BY feedback_type, trigger_ref ORDER BY latest DESC LIMIT ${limit}`
  const own = sql`feedback.project_id = ${range.project} AND feedback.created_at = newest.latest
    AND feedback_type = newest.kind AND trigger_ref IS NOT DISTINCT FROM newest.cause`
  const query = sql`SELECT payload FROM (${newest}) AS newest CROSS JOIN feedback
    WHERE ${own} AND ${db.dialect.bytes(rawSql('payload'))} <= ${rawSql(String(maxPayloadBytes))} AND ${db.dialect.cancellable}`
  for await (const rows of db.stream<{ payload: string }>(query, { rows: 20 })) {
    yield rows.map(({ payload }) => payload)
  }
}
