import { matchingCalls } from '../calls/calls.ts'
import type { Dialect } from '../sql/dialect.ts'
import { join, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, onlyRow } from '../transaction.ts'
import { type Aggregates, bucketOf, type Figures, figuresOf } from '../views/aggregates.ts'
import { numberOfField, readingOf, type SpanValue, textOfField } from './span-fields.ts'
import { narrowedSpansQuery, type SpansView } from './spans.ts'

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
  /** Buckets of a value instead of those of times. */
  bins?: NumberBins
}

/** So many of the same width from `min` to `max`. */
export interface NumberBins {
  value: SpanValue
  requestPath: string
  count: number
  min: number
  max: number
}

export interface SpanStat {
  bucket: number
  keys: (string | null)[]
  count: number
  figures: Figures
}

/** Different values are counted as texts, whatever else is computed of them. */
function apart(metric: SpanMetric): (SpanMetric & { isDistinct: boolean })[] {
  const { count_distinct, ...names } = Object.fromEntries(metric.names)
  const others = new Map(Object.entries(names)) as typeof metric.names
  const own = { ...metric, names: others, isDistinct: false }
  if (count_distinct === undefined) return [own]
  const distinct = new Map([['count_distinct', count_distinct]] as const)
  return [own, { ...metric, names: distinct, percentiles: new Map(), isDistinct: true }]
}

/** The index of the bucket of a value; NULL outside of them. */
function binOf({ value, requestPath, count, min, max }: NumberBins, dialect: Dialect): Sql {
  const number = numberOfField(readingOf(value, dialect, requestPath), dialect)
  const [low, high] = [min, max].map((bound) => sql`CAST(${bound} AS DOUBLE PRECISION)`) as [Sql, Sql]
  const width = sql`CAST(${(max - min) / count} AS DOUBLE PRECISION)`
  const index = max > min ? sql`floor((number - ${low}) / ${width})` : rawSql('0')
  const last = rawSql(String(count - 1))
  return sql`(SELECT CASE WHEN number >= ${low} AND number <= ${high}
    THEN CASE WHEN ${index} > ${last} THEN ${last} ELSE ${index} END END FROM (SELECT ${number} AS number) AS read)`
}

/** The smallest and the largest value. */
export async function readEnds(
  db: BoundReader,
  view: SpansView,
  { value, requestPath }: Pick<NumberBins, 'value' | 'requestPath'>,
  now: number,
): Promise<{ min: number; max: number } | undefined> {
  const query = await narrowedSpansQuery(db, { ...view, sort: [] }, now)
  const number = numberOfField(readingOf(value, db.dialect, requestPath), db.dialect)
  const { min, max } = await onlyRow<Record<'min' | 'max', number | null>>(
    db,
    sql`SELECT min(number) AS min, max(number) AS max FROM (SELECT ${number} AS number ${matchingCalls(db, query, now)}) AS valued`,
  )
  return min === null || max === null ? undefined : { min, max }
}

/** Figures of the spans that began in a bucket, by the values of fields. At most `limit` of the view. */
export async function readSpanStats(
  db: BoundReader,
  view: StatsView,
  metrics: readonly SpanMetric[],
  now: number,
): Promise<SpanStat[]> {
  const { dialect } = db
  const query = await narrowedSpansQuery(db, { ...view, sort: [] }, now)
  const names = view.keys.map((_, index) => `key_${index}`)
  const keys = view.keys.map((key, index) => {
    const reading = readingOf(key, dialect, `group_by.${index}.key`)
    return sql`, ${textOfField(reading, dialect)} AS ${rawSql(`key_${index}`)}`
  })
  const named = metrics.flatMap(apart).map((metric, index) => ({ ...metric, column: `value_${index}` }))
  const values = named.map(({ isText, isDistinct, column, ...metric }) => {
    const reading = readingOf(metric, dialect, metric.requestPath)
    if (isDistinct) return sql`, ${textOfField(reading, dialect)} AS ${rawSql(column)}`
    const value = isText
      ? sql`CASE WHEN ${textOfField(reading, dialect)} IS NOT NULL THEN 1 END`
      : numberOfField(reading, dialect)
    return sql`, ${value} AS ${rawSql(column)}`
  })
  const { columns, read } = figuresOf(dialect, named)
  const bucket = view.bins ? binOf(view.bins, dialect) : bucketOf(rawSql('started_at'), view.edges)
  const valued = sql`SELECT ${bucket} AS bucket${join(keys, '')}${join(values, '')}
    ${matchingCalls(db, query, now)}`
  const by = rawSql(['bucket', ...names].join(', '))
  const rows = await allRows<Record<string, unknown> & { bucket: number; count: number }>(
    db,
    sql`SELECT ${by}, count(*) AS count${columns} FROM (${valued}) AS valued WHERE bucket IS NOT NULL GROUP BY ${by} ORDER BY ${by} LIMIT ${view.limit}`,
  )
  return rows.map((row) => ({
    bucket: Number(row.bucket),
    keys: names.map((name) => row[name] as string | null),
    count: Number(row.count),
    figures: read(row),
  }))
}
