import type { Dialect } from '../sql/dialect.ts'
import { join, rawSql, type Sql, sql } from '../sql/sql.ts'

/** What is computed of one column of numbers, and under which name each figure is read. */
export interface Aggregates {
  column: string
  /** `avg` as `avg_latency_ms`, for example. */
  names: ReadonlyMap<AggregateName, string>
  percentiles: ReadonlyMap<number, string>
}

/** The figures of a group; a figure without any value is null. */
export type Figures = Record<string, number | null>

const aggregate = {
  sum: (column: string) => `sum(${column})`,
  avg: (column: string) => `avg(${column})`,
  min: (column: string) => `min(${column})`,
  max: (column: string) => `max(${column})`,
  count: (column: string) => `count(${column})`,
  count_distinct: (column: string) => `count(DISTINCT ${column})`,
  count_true: (column: string) => `count(CASE WHEN ${column} <> 0 THEN 1 END)`,
  count_false: (column: string) => `count(CASE WHEN ${column} = 0 THEN 1 END)`,
} as const
export type AggregateName = keyof typeof aggregate

export const aggregateOf = (name: AggregateName, column: string): string => aggregate[name](column)

/** One column for each figure, and how the figures of a row are read from them. */
export function figuresOf(dialect: Dialect, metrics: readonly Aggregates[]) {
  const figures = metrics.flatMap(({ column, names, percentiles }) => [
    ...Array.from(names, ([name, shown]) => ({ shown, value: rawSql(aggregate[name](column)) })),
    ...Array.from(percentiles, ([percent, shown]) => ({
      shown,
      value: dialect.percentile(rawSql(column), percent / 100),
    })),
  ])
  const columns = figures.map(({ value }, index): Sql => {
    return sql`, CAST(${value} AS DOUBLE PRECISION) AS ${rawSql(`figure_${index}`)}`
  })
  return {
    columns: join(columns, ''),
    read: (row: Readonly<Record<string, unknown>>): Figures =>
      Object.fromEntries(
        figures.map(({ shown }, index) => {
          const value = row[`figure_${index}`]
          return [shown, value === null ? null : Number(value)]
        }),
      ),
  }
}

/** The index of the bucket of a time. */
export function bucketOf(time: Sql, edges: readonly number[]): Sql {
  const [first = 0, second] = edges
  if (second === undefined) return rawSql('0')
  const step = second - first
  const isEven = edges.every((edge, index) => edge === first + index * step)
  if (isEven) return sql`((${time} - ${rawSql(String(first))}) / ${rawSql(String(step))})`
  const passed = edges
    .slice(1)
    .map((edge) => sql`CASE WHEN ${time} >= ${rawSql(String(edge))} THEN 1 ELSE 0 END`)
  return sql`(${join(passed, ' + ')})`
}
