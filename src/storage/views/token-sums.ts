import { matchingCalls } from '../calls/calls.ts'
import { type CallsView, narrowedQuery } from '../calls/queries.ts'
import { rawSql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import type { TokenSum } from './bucket-parts.ts'
import { startIn } from './examined.ts'
import { type BucketsView, groupAmong } from './groups.ts'

const summed = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_creation_tokens', 'stated_cost']
const sums = summed.map((name) => `CAST(coalesce(sum(${name}), 0) AS DOUBLE PRECISION) AS ${name}`)

export interface TokensView extends CallsView {
  /** Microseconds. Buckets begin at multiples of the step from here on. */
  from: number
  step: number
  end: number
  by: BucketsView['by']
  /** Each date splits the bucket that contains it, because prices change there. */
  dates: readonly number[]
}

/** Sums over the calls that used any tokens. Everything is read from the index of calls by time. */
export async function readTokenSums(
  db: BoundReader,
  { from, step, end, by, dates, ...view }: TokensView,
  now: number,
): Promise<TokenSum[]> {
  const query = await narrowedQuery(db, { ...view, sort: [] }, now)
  const group = groupAmong(by, db.dialect)
  const conditions = [
    sql`calls.started_at >= ${startIn(view, from)} AND calls.started_at < ${end}`,
    rawSql('(input_tokens IS NOT NULL OR output_tokens IS NOT NULL)'),
    ...query.conditions,
  ]
  const passed = dates.map((date) => ` + CASE WHEN calls.started_at >= ${date} THEN 1 ELSE 0 END`)
  const slot = rawSql(`(calls.started_at - ${from}) / ${step} * ${dates.length + 1}${passed.join('')}`)
  const rows = await allRows<Record<string, string | number | null>>(
    db,
    sql`SELECT place, grp, model, count(*) AS count, count(stated_cost) AS stated_count, ${rawSql(sums.join(', '))}
        FROM (SELECT ${slot} AS place, ${group} AS grp, model, ${rawSql(summed.join(', '))}
          ${matchingCalls(db, { ...query, conditions }, now)}) AS used
        GROUP BY place, grp, model`,
  )
  return rows.map((row) => ({
    bucket: Math.floor(Number(row.place) / (dates.length + 1)),
    period: Number(row.place) % (dates.length + 1),
    group: row.grp as string | null,
    model: row.model as string | null,
    count: Number(row.count),
    input: Number(row.input_tokens),
    output: Number(row.output_tokens),
    cache_read: Number(row.cache_read_tokens),
    cache_creation: Number(row.cache_creation_tokens),
    stated: Number(row.stated_cost),
    stated_count: Number(row.stated_count),
  }))
}
