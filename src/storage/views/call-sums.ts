import { statedPerUnit } from '../../domain/call-facts/facts.ts'
import type { Expression } from '../../domain/expressions/expression.ts'
import { matchingCalls } from '../calls/calls.ts'
import type { CallsFilter } from '../calls/filter.ts'
import { narrowedQuery } from '../calls/queries.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { type Aggregates, bucketOf, type Figures, figuresOf } from './aggregates.ts'
import { countsOnce, usesTokens } from './own-usage.ts'

const double = (value: string) => `CAST(${value} AS DOUBLE PRECISION)`
const orZero = (column: string) => `coalesce(${column}, 0)`

/** What is known of the tokens of a call. Costs need the price of its model. */
const ofTokens = {
  input_tokens: double('input_tokens'),
  output_tokens: double('output_tokens'),
  total_tokens: double(`${orZero('input_tokens')} + ${orZero('output_tokens')}`),
  cache_read_input_tokens: double('cache_read_tokens'),
  cache_creation_input_tokens: double('cache_creation_tokens'),
}
const inputCost = `((${orZero('input_tokens')} - ${orZero('cache_read_tokens')} - ${orZero('cache_creation_tokens')}) * prompt_token_cost
  + ${orZero('cache_read_tokens')} * cache_read_input_token_cost + ${orZero('cache_creation_tokens')} * cache_creation_input_token_cost)`
const outputCost = `(${orZero('output_tokens')} * completion_token_cost)`
const ofCosts = {
  input_cost: inputCost,
  output_cost: outputCost,
  total_cost: `coalesce(${inputCost} + ${outputCost}, ${double('stated_cost')} / ${statedPerUnit})`,
}
const ofUsage = { ...ofTokens, ...ofCosts }
const ofCalls = {
  latency_ms: `${double('ended_at - started_at')} / 1000`,
  call_count: double('1'),
  error_count: double("CASE WHEN status = 'error' THEN 1 ELSE 0 END"),
}

export type UsageMetric = keyof typeof ofUsage
export type CallMetric = keyof typeof ofCalls
export const usageMetrics = Object.keys(ofUsage) as UsageMetric[]
export const callMetrics = Object.keys(ofCalls) as CallMetric[]

type Of<Metric extends string> = Aggregates & { column: Metric }

interface SumsView {
  project: string
  filters: readonly CallsFilter[]
  query?: Expression | undefined
  /** Microseconds; see `Buckets`. */
  start: number
  end: number
  edges: readonly number[]
  /** The most rows that are read. */
  limit: number
}

interface UsageSum {
  bucket: number
  model: string | null
  figures: Figures
}

/** The tokens and costs of calls that began in a bucket, by model. */
export async function readUsageSums(
  db: BoundReader,
  view: SumsView,
  metrics: readonly Of<UsageMetric>[],
  now: number,
): Promise<UsageSum[]> {
  const { dialect } = db
  const { project, filters, limit } = view
  const once = countsOnce(dialect, project, filters, now)
  const calls = await callsIn(
    db,
    view,
    'model, input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, stated_cost',
    now,
    [usesTokens, once],
  )
  const isPriced = metrics.some(({ column }) => column in ofCosts)
  const values = rawSql(metrics.map(({ column }) => `${ofUsage[column]} AS ${column}`).join(', '))
  const valued = sql`SELECT bucket, model, ${values} FROM (${calls}) AS counted${isPriced ? priceOf(project) : rawSql('')}`
  const { columns, read } = figuresOf(dialect, metrics)
  const rows = await allRows<{ bucket: number; model: string | null }>(
    db,
    sql`SELECT bucket, model${columns} FROM (${valued}) AS valued GROUP BY bucket, model ORDER BY bucket, model LIMIT ${limit}`,
  )
  return rows.map((row) => ({ bucket: Number(row.bucket), model: row.model, figures: read(row) }))
}

/** The times, counts and errors of calls that began in a bucket. */
export async function readCallSums(
  db: BoundReader,
  view: SumsView,
  metrics: readonly Of<CallMetric>[],
  now: number,
): Promise<Omit<UsageSum, 'model'>[]> {
  const values = metrics.map(({ column }) => `${ofCalls[column]} AS ${column}`).join(', ')
  const { columns, read } = figuresOf(db.dialect, metrics)
  const calls = await callsIn(db, view, values, now)
  const rows = await allRows<{ bucket: number }>(
    db,
    sql`SELECT bucket${columns} FROM (${calls}) AS valued GROUP BY bucket ORDER BY bucket`,
  )
  return rows.map((row) => ({ bucket: Number(row.bucket), figures: read(row) }))
}

async function callsIn(
  db: BoundReader,
  { project, filters, query: asked, start, end, edges }: SumsView,
  columns: string,
  now: number,
  others: readonly Sql[] = [],
): Promise<Sql> {
  const all = { project, filters, query: asked, sort: [], limit: null, offset: 0 }
  const query = await narrowedQuery(db, all, now)
  const within = sql`calls.started_at >= ${start} AND calls.started_at < ${end}`
  const conditions = [within, ...query.conditions, ...others]
  return sql`SELECT ${bucketOf(rawSql('started_at'), edges)} AS bucket, started_at, ${rawSql(columns)}
    ${matchingCalls(db, { ...query, conditions }, now)}`
}

/** The price in force when the call began, else the first one after it, as in operations/calls/costs.ts. */
function priceOf(project: string): Sql {
  const nearest = (side: '<=' | '>', order: 'DESC' | 'ASC') =>
    sql`(SELECT near.id FROM prices AS near WHERE near.project_id = ${project} AND near.llm_id = counted.model
      AND near.effective_date ${rawSql(side)} counted.started_at
      ORDER BY near.effective_date ${rawSql(order)}, near.created_at DESC LIMIT 1)`
  return sql` LEFT JOIN prices ON prices.project_id = ${project}
    AND prices.id = coalesce(${nearest('<=', 'DESC')}, ${nearest('>', 'ASC')})`
}
