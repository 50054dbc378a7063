import { inSteps } from '../../../packages/waiting/index.ts'
import { failedBelow } from '../calls/calls.ts'
import { originOf } from '../calls/origin.ts'
import type { Dialect } from '../sql/dialect.ts'
import { allOf, emptySql, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { binOf } from '../views/histogram.ts'
import { apart } from '../views/own-usage.ts'
import { addCount, addFigures, addUsage, type Figures, figureNames, noFigures } from './figures.ts'
import { addLargest, keysOfCall, type Largest, largestOfGroup, noLargest } from './largest.ts'
import type { SummedPrices } from './priced.ts'

/** What sums are kept by. */
export const summedFields = ['op', 'model', 'status', 'user'] as const
export type SummedField = (typeof summedFields)[number]

/** Whether it is the root of its trace, and its origin. */
export const kinds = ['root', 'child'].flatMap((depth) =>
  ['app', 'judge', 'evaluation'].map((origin) => `${depth} ${origin}`),
)

/** The group of a call; the empty text stands for calls without a value. */
export function groupValue(field: SummedField): Sql {
  switch (field) {
    case 'op':
      return rawSql("coalesce(calls.op, '')")
    case 'model':
      return rawSql("coalesce(calls.model, calls.asked_model, '')")
    case 'user':
      return rawSql("coalesce(calls.user_id, '')")
    case 'status':
      return sql`CASE WHEN calls.ended_at IS NULL THEN 'running' WHEN calls.status = 'success' AND ${failedBelow} THEN 'descendant_error'
        ELSE coalesce(calls.status, '') END`
  }
}

const kindOf = (dialect: Dialect) =>
  sql`(CASE WHEN calls.parent_id IS NULL THEN 'root ' ELSE 'child ' END || ${originOf(dialect)})`

/** Calls that began in it are counted under its start. */
export interface Range {
  from: number
  end: number
}

interface Counting {
  ranges: readonly Range[]
  /** Others are not told apart. */
  fields: readonly SummedField[]
  /** Without it only calls are counted. */
  figures: boolean
  /** The largest calls, by these prices, too. */
  largest?: { prices: SummedPrices | undefined }
  /** Leaves out calls that have expired by then. Sums hold them until they are swept. */
  now?: number
  /** Rows that are returned. */
  max?: number
}

interface Counted {
  at: number
  kind: string
  values: Record<SummedField, string>
  figures: Figures
  largest: Largest
}

type Row = Largest &
  Record<SummedField | 'kind', string> & {
    used: string | null
    latency_bin: number | null
    first_bin: number | null
  } & Record<(typeof added)[number] | 'at' | 'calls', number | string>

const added = [
  ...[
    'errors',
    'ended',
    'latency',
    'first_token',
    'input',
    'output',
    'cache_read',
    'cache_creation',
    'stated',
    'stated_calls',
    'bytes',
  ],
] as const

/**
 * PostgreSQL guesses that two compared columns leave a ninth of all rows, and would read the whole table for some ranges.
 * With OFFSET it looks up each range by itself.
 */
export const ofRange = (
  engine: Dialect['engine'],
  table: 'calls' | 'call_sums',
  conditions: readonly Sql[],
): Sql => {
  const rows = sql`${rawSql(table)} WHERE ${allOf(conditions)}`
  return engine === 'sqlite' ? rows : sql`LATERAL (SELECT * FROM ${rows} OFFSET 0) AS ${rawSql(table)}`
}

/** Counts the calls of these ranges. Each is a range of the index of calls by time, which holds nearly all that is read. */
export async function countIn(
  db: BoundReader,
  project: string,
  { ranges, fields, figures, largest, now, max }: Counting,
): Promise<Counted[]> {
  if (ranges.length === 0) return []
  const { dialect } = db
  const double = (value: string) => `CAST(${value} AS DOUBLE PRECISION)`
  const numbers: Record<(typeof added)[number], string> = {
    errors: "CASE WHEN calls.status = 'error' THEN 1.0 ELSE 0.0 END",
    ended: 'CASE WHEN calls.ended_at IS NULL THEN 0.0 ELSE 1.0 END',
    latency: double('calls.ended_at - calls.started_at'),
    first_token: double('calls.first_token_us'),
    input: double('calls.input_tokens'),
    output: double('calls.output_tokens'),
    cache_read: double('calls.cache_read_tokens'),
    cache_creation: double('calls.cache_creation_tokens'),
    stated: double('calls.stated_cost'),
    stated_calls: 'CASE WHEN calls.stated_cost IS NULL THEN 0.0 ELSE 1.0 END',
    bytes: double('calls.start_bytes + calls.end_bytes'),
  }
  const bin = (time: string, name: string) =>
    `CASE WHEN ${time} IS NOT NULL THEN ${binOf(time)} END AS ${name}`
  const ofFigures = figures
    ? `, CASE WHEN calls.input_tokens IS NOT NULL OR calls.output_tokens IS NOT NULL THEN coalesce(calls.model, '') END AS used,
        ${bin('(calls.ended_at - calls.started_at)', 'latency_bin')}, ${bin('calls.first_token_us', 'first_bin')},
        ${added.map((name) => `${numbers[name]} AS ${name}`).join(', ')}`
    : ''
  const values = summedFields.map(
    (field) => sql`${fields.includes(field) ? groupValue(field) : rawSql("''")} AS ${rawSql(`by_${field}`)}`,
  )
  const spans = rawSql(ranges.map(({ from, end }) => `(${from}, ${end})`).join(', '))
  const conditions = [
    sql`calls.project_id = ${project}`,
    rawSql('calls.started_at >= ranges.from_time AND calls.started_at < ranges.to_time'),
    rawSql('calls.started_at IS NOT NULL AND calls.deleted_at IS NULL'),
    ...(now === undefined ? [] : [sql`(calls.expire_at IS NULL OR calls.expire_at > ${now})`]),
    dialect.callsCancellable,
  ]
  const narrow = sql`SELECT ranges.from_time AS at, ${kindOf(dialect)} AS kind, ${values[0] ?? emptySql}, ${values[1] ?? emptySql},
      ${values[2] ?? emptySql}, ${values[3] ?? emptySql}${rawSql(ofFigures)}${largest ? keysOfCall(dialect, largest.prices) : emptySql}
    FROM ranges CROSS JOIN ${ofRange(dialect.engine, 'calls', conditions)}`
  const groups = `at, kind, ${summedFields.map((field) => `by_${field}`).join(', ')}${figures ? ', used, latency_bin, first_bin' : ''}`
  const totals = figures ? added.map((name) => `, coalesce(sum(${name}), 0) AS ${name}`).join('') : ''
  const rows = await allRows<Row>(
    db,
    sql`WITH ranges (from_time, to_time) AS (VALUES ${spans})
      SELECT ${rawSql(groups.replace(/by_(\w+)/g, 'by_$1 AS "$1"'))}, count(*) AS calls${rawSql(totals)}${largest ? largestOfGroup(largest.prices) : emptySql}
      FROM (${largest?.prices ? apart(dialect, narrow) : narrow}) AS narrow GROUP BY ${rawSql(groups)}${max === undefined ? emptySql : sql` LIMIT ${max}`}`,
  )
  const counted: Counted[] = []
  await inSteps(rows, (row) => {
    counted.push(countedIn(row, figures, largest !== undefined))
  })
  return counted
}

function countedIn(row: Row, hasFigures: boolean, hasLargest: boolean): Counted {
  const { kind, op, model, status, user } = row
  const calls = Number(row.calls)
  const figures = noFigures(calls)
  if (hasFigures) {
    for (const name of figureNames) figures[name] = Number(row[name])
    if (row.latency_bin !== null) addCount(figures.latencies, Number(row.latency_bin), calls)
    if (row.first_bin !== null) addCount(figures.first_tokens, Number(row.first_bin), calls)
    const cached = [Number(row.cache_read), Number(row.cache_creation)] as const
    const tokens = [calls, figures.input, figures.output, ...cached] as const
    const stated = Number(row.stated_calls)
    if (row.used !== null)
      addUsage(figures.usage, row.used, stated > 0 ? [...tokens, Number(row.stated), stated] : [...tokens])
  }
  return {
    at: Number(row.at),
    kind,
    values: { op, model, status, user },
    figures,
    largest: hasLargest ? row : noLargest(),
  }
}

/** A row of sums. */
export interface Sum {
  at: number
  kind: string
  field: SummedField | ''
  value: string
  figures: Figures
  largest: Largest
}

/** What is stored of counted calls: the sums of all, and by each field. */
export async function sumsOf(counted: readonly Counted[]): Promise<Sum[]> {
  const sums = new Map<string, Sum>()
  const add = (sum: Sum) => {
    const key = JSON.stringify([sum.at, sum.kind, sum.field, sum.value])
    const known = sums.get(key) ?? { ...sum, figures: noFigures(), largest: noLargest() }
    sums.set(key, known)
    addFigures(known.figures, sum.figures)
    addLargest(known.largest, sum.largest)
  }
  await inSteps(counted, ({ at, kind, values, figures, largest }) => {
    add({ at, kind, field: '', value: '', figures, largest })
    for (const field of summedFields) add({ at, kind, field, value: values[field], figures, largest })
  })
  return [...sums.values()]
}
