import { matchingCalls } from '../calls/calls.ts'
import { join, rawSql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { type Aggregates, bucketOf, type Figures, figuresOf } from '../views/aggregates.ts'
import { numberOfField, readingOf, type SpanValue, textOfField } from './span-fields.ts'
import { type SpansView, spansQueryOf } from './spans.ts'

export interface SpanMetric extends Omit<Aggregates, 'column'>, SpanValue {
  /** How a refusal names it. */
  requestPath: string
  /** Only whether there is a value. */
  isText: boolean
}

interface StatsView extends SpansView {
  /** Microseconds: where each bucket begins. */
  edges: readonly number[]
  keys: readonly SpanValue[]
}

export interface SpanStat {
  bucket: number
  keys: (string | null)[]
  count: number
  figures: Figures
}

/** Figures of the spans that began in a bucket, by the values of fields. At most `limit` of the view. */
export async function readSpanStats(
  db: BoundReader,
  view: StatsView,
  metrics: readonly SpanMetric[],
  now: number,
): Promise<SpanStat[]> {
  const { dialect } = db
  const query = spansQueryOf(db, { ...view, sort: [] }, now)
  const names = view.keys.map((_, index) => `key_${index}`)
  const keys = view.keys.map((key, index) => {
    const reading = readingOf(key, dialect, `group_by.${index}.key`)
    return sql`, ${textOfField(reading, dialect)} AS ${rawSql(`key_${index}`)}`
  })
  const named = metrics.map((metric, index) => ({ ...metric, column: `value_${index}` }))
  const values = named.map(({ isText, column, ...metric }) => {
    const reading = readingOf(metric, dialect, metric.requestPath)
    const value = isText
      ? sql`CASE WHEN ${textOfField(reading, dialect)} IS NOT NULL THEN 1 END`
      : numberOfField(reading, dialect)
    return sql`, ${value} AS ${rawSql(column)}`
  })
  const { columns, read } = figuresOf(dialect, named)
  const valued = sql`SELECT ${bucketOf(rawSql('started_at'), view.edges)} AS bucket${join(keys, '')}${join(values, '')}
    ${matchingCalls(db, query, now)}`
  const by = rawSql(['bucket', ...names].join(', '))
  const rows = await allRows<Record<string, unknown> & { bucket: number; count: number }>(
    db,
    sql`SELECT ${by}, count(*) AS count${columns} FROM (${valued}) AS valued GROUP BY ${by} ORDER BY ${by} LIMIT ${view.limit}`,
  )
  return rows.map((row) => ({
    bucket: Number(row.bucket),
    keys: names.map((name) => row[name] as string | null),
    count: Number(row.count),
    figures: read(row),
  }))
}
