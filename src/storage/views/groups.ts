import { matchingCalls } from '../calls/calls.ts'
import { comparedPrices, costOfCall } from '../calls/cost.ts'
import { callFields } from '../calls/fields.ts'
import { originOf } from '../calls/origin.ts'
import { type CallsView, narrowedQuery } from '../calls/queries.ts'
import type { Dialect } from '../sql/dialect.ts'
import { join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { groupValue } from '../sums/counting.ts'
import { readSums } from '../sums/reading.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import type { BucketPart, Group } from './bucket-parts.ts'
import { type Examined, examinedOf, startIn } from './examined.ts'
import { binOf } from './histogram.ts'
import { summedGroups } from './summed-groups.ts'

/** What calls are grouped by. */
export const groupFields = ['op', 'model', 'status', 'user', 'origin'] as const
export type GroupField = (typeof groupFields)[number]

/**
 * The empty text stands for calls without a value. Nearly all is in the index; SQLite opens the rows of roots for their
 * status, which are few or the newest.
 */
const groupOf = (field: GroupField, dialect: Dialect): Sql =>
  field === 'origin' ? originOf(dialect) : groupValue(field)

/** The group of a call; null if it is none of these. */
export function groupAmong(by: BucketsView['by'], dialect: Dialect): Sql {
  if (by === undefined) return rawSql('CAST(NULL AS TEXT)')
  const group = groupOf(by.field, dialect)
  return sql`CASE WHEN ${group} IN (${listOf(by.values)}) THEN ${group} END`
}

interface Groups {
  /** Largest first. */
  top: Group[]
  total: number
  /** How many of the newest calls were looked at; null if all were. */
  sampled: number | null
}

/**
 * The most frequent values among the calls of the view. Where sums do not know them, only the newest `max` calls are
 * looked at, once for all fields: a condition may need the JSON of each.
 */
export async function topGroups(
  db: BoundReader,
  view: CallsView,
  fields: readonly GroupField[],
  { most, max }: { most: number; max?: Examined },
  now: number,
): Promise<Map<GroupField, Groups>> {
  const found = new Map<GroupField, Groups>()
  for (const field of fields) {
    const units = await readSums(db, view, { field }, now)
    if (units !== undefined) found.set(field, { ...summedGroups(units, most), sampled: null })
  }
  const counted = fields.filter((field) => !found.has(field))
  if (counted.length === 0) return found
  const query = await narrowedQuery(db, { ...view, sort: [] }, now)
  const newest = await examinedOf(db, view, query, max, now)
  const conditions = [...(newest ? [sql`started_at > ${newest.since}`] : []), ...query.conditions]
  const values = counted.map((field) => sql`${groupOf(field, db.dialect)} AS ${rawSql(`by_${field}`)}`)
  const count = 'count(*) AS count FROM matching GROUP BY value'
  const each = counted.map((field) => rawSql(`SELECT '${field}' AS field, by_${field} AS value, ${count}`))
  const rows = await allRows<Group & { field: GroupField; total: number }>(
    db,
    sql`WITH matching AS MATERIALIZED (SELECT ${join(values, ', ')} ${matchingCalls(db, { ...query, conditions }, now)})
        SELECT field, value, count, total FROM (
          SELECT field, value, count, sum(count) OVER (PARTITION BY field) AS total,
            row_number() OVER (PARTITION BY field ORDER BY count DESC, value) AS place
          FROM (${join(each, ' UNION ALL ')}) AS counted
        ) AS placed WHERE place <= ${most} ORDER BY place`,
  )
  const byField = Map.groupBy(rows, ({ field }) => field)
  for (const field of counted) {
    const top = (byField.get(field) ?? []).map(({ value, count }) => ({ value, count }))
    const total = Number(byField.get(field)?.[0]?.total ?? 0)
    found.set(field, { top, total, sampled: newest?.max ?? null })
  }
  return found
}

/** Groups of a chart: the largest by their calls, and those beside them that are the largest by another measure. */
export const maxByCalls = 20
export const maxByMeasure = 6
const measures = ['errors', 'asked', 'said', 'cost'] as const
export const maxGroups = maxByCalls + maxByMeasure * measures.length

/**
 * The groups of the calls that began between these times in microseconds. Few calls may have most of the errors, tokens
 * or costs.
 */
export async function largestGroups(
  db: BoundReader,
  view: CallsView,
  { field, from, end, costs }: { field: GroupField; from: number; end: number; costs: boolean },
  now: number,
): Promise<string[]> {
  const query = await narrowedQuery(db, { ...view, sort: [] }, now)
  const conditions = [
    sql`calls.started_at >= ${startIn(view, from)} AND calls.started_at < ${end}`,
    ...query.conditions,
  ]
  const prices = costs ? await comparedPrices(db, view.project) : undefined
  const cost = costs
    ? sql`CASE WHEN input_tokens IS NULL AND output_tokens IS NULL THEN 0 ELSE ${costOfCall(db.dialect, prices)} END`
    : rawSql('0')
  const narrow = sql`SELECT ${groupOf(field, db.dialect)} AS value, CASE WHEN status = 'error' THEN 1 ELSE 0 END AS errors,
    input_tokens AS asked, output_tokens AS said, ${cost} AS cost ${matchingCalls(db, { ...query, conditions }, now)}`
  const sums = measures.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')
  const ranks = measures.map(
    (name) => `row_number() OVER (ORDER BY ${name} DESC, count DESC, value) AS by_${name}`,
  )
  const shown = measures.map((name) => `(by_${name} <= ${maxByMeasure} AND ${name} > 0)`)
  const rows = await allRows<{ value: string }>(
    db,
    sql`SELECT value FROM (
        SELECT value, count, ${rawSql([...measures, ...ranks].join(', '))},
          row_number() OVER (ORDER BY count DESC, CASE value WHEN '' THEN 1 ELSE 0 END, value) AS by_count
        FROM (SELECT value, count(*) AS count, ${rawSql(sums)} FROM (${narrow}) AS narrow GROUP BY value) AS counted
      ) AS placed
      WHERE by_count <= ${maxByCalls} OR ${rawSql(shown.join(' OR '))} ORDER BY by_count`,
  )
  return rows.map(({ value }) => value)
}

/** The longest value in bytes that is counted separately. */
const maxValueBytes = 300

/** The same for a value inside the JSON of the newest calls. The empty text stands for a value that is too long. */
export async function topValues(
  db: BoundReader,
  view: CallsView,
  field: string,
  { most, sample }: { most: number; sample: number },
  now: number,
): Promise<Omit<Groups, 'top'> & { top: (Omit<Group, 'value'> & { value: string | null })[] }> {
  const { dialect } = db
  const reading = callFields(dialect, 'fields')(field)
  if (reading.kind !== 'json') throw new Error('only values inside of calls are sampled')
  const query = await narrowedQuery(db, { ...view, sort: [] }, now)
  const token = dialect.token(reading.column, reading.path)
  const sampled = sql`SELECT ${token} AS value ${matchingCalls(db, query, now)}
    ORDER BY calls.started_at DESC, calls.id DESC LIMIT ${sample}`
  const short = sql`SELECT CASE WHEN ${dialect.bytes(rawSql('value'))} > ${maxValueBytes} THEN '' ELSE value END AS value
    FROM (${sampled}) AS sampled`
  const rows = await allRows<{ value: string | null; count: number; total: number }>(
    db,
    sql`SELECT value, count, sum(count) OVER () AS total
        FROM (SELECT value, count(*) AS count FROM (${short}) AS short GROUP BY value) AS counted
        ORDER BY count DESC, value LIMIT ${most}`,
  )
  const total = Number(rows[0]?.total ?? 0)
  return { top: rows.map(({ value, count }) => ({ value, count })), total, sampled: total }
}

type Timed = 'latency' | 'first_token'

const micros: Record<Timed, string> = { latency: '(ended_at - started_at)', first_token: 'first_token_us' }

export interface BucketsView extends CallsView {
  /** Microseconds: each bucket begins at one of these and ends before the next. */
  edges: readonly number[]
  by?: { field: GroupField; values: readonly string[] } | undefined
  timed?: Timed | undefined
}

/**
 * Each bucket is a time range of the index and is grouped separately, so that nothing sorts all calls. A few that are
 * known are read once, and not for each bucket.
 */
export async function readBuckets(db: BoundReader, view: BucketsView, now: number): Promise<BucketPart[]> {
  const { dialect } = db
  const { edges, by, timed } = view
  const time = timed ? micros[timed] : micros.latency
  const bin = timed
    ? sql`CASE WHEN ${rawSql(time)} IS NOT NULL THEN ${rawSql(binOf(time))} END`
    : rawSql('CAST(NULL AS INTEGER)')
  const query = await narrowedQuery(db, { ...view, sort: [] }, now)
  const group = groupAmong(by, dialect)
  const within = rawSql('calls.started_at >= edges.from_time AND calls.started_at < edges.to_time')
  const joined = query.isFew ? { source: rawSql(' CROSS JOIN edges') } : {}
  const narrow = sql`SELECT edges.bucket AS of_bucket, ${group} AS grp, ${bin} AS bin, CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END AS ended,
      CASE WHEN status = 'error' THEN 1 ELSE 0 END AS failed, CAST(${rawSql(time)} AS DOUBLE PRECISION) AS micros,
      CAST(input_tokens AS DOUBLE PRECISION) AS asked, CAST(output_tokens AS DOUBLE PRECISION) AS said
    ${matchingCalls(db, { ...query, ...joined, conditions: [within, ...query.conditions] }, now)}`
  const sums = [
    'count(*)',
    'sum(failed)',
    'sum(ended)',
    ...['micros', 'asked', 'said'].map((column) => `coalesce(sum(${column}), 0)`),
  ]
  const numbers = rawSql(sums.map((column) => `CAST(${column} AS TEXT)`).join(" || ',' || "))
  const entry = sql`'[' || ${dialect.quoted(rawSql('grp'))} || ',' || coalesce(CAST(bin AS TEXT), 'null') || ',' || ${numbers} || ']'`
  const own = rawSql(query.isFew ? 'of_bucket, ' : '')
  const entries = sql`SELECT ${own}${entry} AS entry FROM (${narrow}) AS narrow GROUP BY ${own}grp, bin`
  const written = rawSql("string_agg(entry, ',') AS entries")
  const all = query.isFew
    ? sql`SELECT of_bucket AS bucket, ${written} FROM (${entries}) AS written GROUP BY of_bucket ORDER BY of_bucket`
    : sql`SELECT bucket, (SELECT ${written} FROM (${entries}) AS written) AS entries FROM edges
        WHERE ${dialect.cancellable} ORDER BY bucket`
  const rows = edges.slice(0, -1).map((from, n) => [n, from, edges[n + 1] as number])
  const shown = rows.filter(([, from = 0, to = 0]) => to > startIn(view, from))
  if (shown.length === 0) return []
  const values = shown.map(([n, from, to]) => `(${n}, ${from}, ${to})`).join(', ')
  const found = await allRows<{ bucket: number; entries: string | null }>(
    db,
    sql`WITH edges (bucket, from_time, to_time) AS (VALUES ${rawSql(values)}) ${all}`,
  )
  return found.flatMap(({ bucket, entries }) => (entries === null ? [] : partsIn(bucket, entries)))
}

type Written = [string | null, number | null, number, number, number, number, number, number]

function partsIn(bucket: number, entries: string): BucketPart[] {
  return (JSON.parse(`[${entries}]`) as Written[]).map(
    ([group, bin, count, errors, ended, micros, input_tokens, output_tokens]) => ({
      ...{ bucket, group, bin, count, errors, ended, micros, input_tokens, output_tokens },
    }),
  )
}
