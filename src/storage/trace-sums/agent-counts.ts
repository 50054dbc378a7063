import { isLive } from '../calls/calls.ts'
import { costOfCall } from '../calls/cost.ts'
import type { Price } from '../prices.ts'
import { allOf, emptySql, rawSql, type Sql, sql } from '../sql/sql.ts'
import { ofRange, type Range } from '../sums/counting.ts'
import { hour } from '../sums/spans.ts'
import { allRows, type BoundReader, type LongReader } from '../transaction.ts'
import { apart, countsOnce, usesTokens } from '../views/own-usage.ts'

/** Sums over the calls of a version of an agent that calls name in a range of time. Times are microseconds. */
export interface AgentCount {
  agent: string
  version: string
  invocations: number
  calls: number
  errors: number
  input: number
  output: number
  cost: number | null
  first_seen: number | string
  last_seen: number | string
  /** Of all runs. */
  took: number
  /** Of its runs, with commas between. */
  durations: string | null
}

export const countColumns = [
  ...(['agent', 'version', 'invocations', 'calls', 'errors', 'input', 'output', 'cost'] as const),
  ...(['first_seen', 'last_seen', 'took', 'durations'] as const),
] satisfies (keyof AgentCount)[]

interface Counting {
  project: string
  agent?: string | undefined
  /** Undefined of all time. Otherwise parts are told apart by the start of their range. */
  ranges: readonly Range[] | undefined
  /** Undefined if there are too many; null if nothing costs anything. */
  prices: readonly Price[] | undefined | null
  /** Calls that have expired by then are left out. */
  now: number
}

/** Calls above one that are looked at: in a chain of thousands of agents, all above all would take hours. */
const maxHeight = 64

/**
 * The calls of agents: those that name one, and what runs below them until another agent is named. `is_top`: no
 * call above names the same agent.
 */
function callsOfAgents(db: LongReader, counting: Counting): Sql {
  const { dialect } = db
  const { project, agent, ranges, now } = counting
  const live = (table: string) => isLive(now, rawSql(table))
  const above = sql`EXISTS (WITH RECURSIVE above (id, agent, parent_id, height) AS (
      SELECT direct.id, direct.agent, direct.parent_id, 1 FROM calls AS direct
        WHERE direct.project_id = ${project} AND direct.id = calls.parent_id AND ${live('direct')}
      UNION ALL SELECT further.id, further.agent, further.parent_id, height + 1 FROM above CROSS JOIN calls AS further
        WHERE further.project_id = ${project} AND further.id = above.parent_id AND height < ${rawSql(String(maxHeight))}
          AND ${live('further')} AND ${dialect.cancellable})
    SELECT 1 FROM above WHERE above.agent = calls.agent AND above.id <> calls.id)`
  // Of hours, calls are found by their time, and not in the index of all calls of agents.
  const name = rawSql(areHours(ranges) ? "(calls.agent || '')" : 'calls.agent')
  const conditions = [
    sql`calls.project_id = ${project}`,
    agent === undefined ? sql`${name} IS NOT NULL` : sql`${name} = ${agent}`,
    isLive(now),
    dialect.callsCancellable,
  ]
  const isWithin = rawSql('calls.started_at >= ranges.from_time AND calls.started_at < ranges.to_time')
  const spans = (ranges ?? []).map(({ from, end }) => `(${from}, ${end})`).join(', ')
  const [tables, source] =
    ranges === undefined
      ? [emptySql, sql`calls WHERE ${allOf(conditions)}`]
      : [
          sql`ranges (from_time, to_time) AS (VALUES ${rawSql(spans)}), `,
          sql`ranges CROSS JOIN ${ofRange(dialect.engine, 'calls', [...conditions, isWithin])}`,
        ]
  const at = rawSql(ranges === undefined ? 'CAST(0 AS BIGINT)' : 'ranges.from_time')
  return sql`WITH RECURSIVE ${tables}members (at, agent, version, id, is_top) AS (
      SELECT ${at}, calls.agent, coalesce(calls.agent_version, ''), calls.id, CASE WHEN ${above} THEN 0 ELSE 1 END FROM ${source}
      UNION SELECT members.at, members.agent, members.version, child.id, 0 FROM members CROSS JOIN
        ${joined(db, counting, 'child', [
          sql`child.project_id = ${project} AND child.parent_id = members.id AND child.agent IS NULL`,
          sql`${live('child')} AND ${dialect.cancellable}`,
        ])})`
}

/**
 * Calls that a join names. Of hours they are few, which PostgreSQL does not know: without a limit it would read all calls
 * of the project instead.
 */
function joined(
  { dialect }: LongReader,
  { ranges }: Counting,
  table: string,
  conditions: readonly Sql[],
): Sql {
  const rows = sql`calls AS ${rawSql(table)} WHERE ${allOf(conditions)}`
  const isLookedUp = dialect.engine === 'postgres' && areHours(ranges)
  return isLookedUp ? sql`LATERAL (SELECT * FROM ${rows} OFFSET 0) AS ${rawSql(table)}` : rows
}

const areHours = (ranges: Counting['ranges']): boolean =>
  ranges?.every(({ from, end }) => end - from <= hour) ?? false

const double = (sum: string, name: string) => `CAST(coalesce(sum(${sum}), 0) AS DOUBLE PRECISION) AS ${name}`

const sums = rawSql(
  [
    double("CASE WHEN operation = 'invoke_agent' THEN 1 ELSE 0 END", 'invocations'),
    'CAST(count(*) AS DOUBLE PRECISION) AS calls',
    double("CASE WHEN status = 'error' THEN 1 ELSE 0 END", 'errors'),
    double('CASE WHEN counts = 1 THEN input_tokens END', 'input'),
    double('CASE WHEN counts = 1 THEN output_tokens END', 'output'),
    'sum(CASE WHEN counts = 1 THEN cost END) AS cost',
    'min(started_at) AS first_seen',
    'max(coalesce(ended_at, started_at)) AS last_seen',
    double('CASE WHEN is_top = 1 THEN ended_at - started_at END', 'took'),
    "string_agg(CASE WHEN is_top = 1 THEN CAST(ended_at - started_at AS TEXT) END, ',') AS durations",
  ].join(', '),
)

/** Tokens and costs count once, where an agent and the calls below it both report them. */
export function countAgents(
  db: BoundReader,
  counting: Counting,
): Promise<(AgentCount & { at: number | string })[]> {
  const { dialect } = db
  const { project, prices, now } = counting
  if (counting.ranges?.length === 0) return Promise.resolve([])
  const once = sql`${usesTokens} AND ${countsOnce(dialect, project, [], now)}`
  const cost = prices === null ? rawSql('NULL') : costOfCall(dialect, prices)
  const called = apart(
    dialect,
    sql`SELECT members.at AS at, members.agent AS agent, members.version AS version, members.is_top AS is_top,
      calls.operation AS operation, calls.status AS status, started_at, ended_at,
      CASE WHEN ${once} THEN 1 END AS counts, input_tokens, output_tokens, CAST(${cost} AS DOUBLE PRECISION) AS cost
    FROM members CROSS JOIN ${joined(db, counting, 'calls', [sql`calls.project_id = ${project} AND calls.id = members.id`, isLive(now)])}`,
  )
  return allRows(
    db,
    sql`${callsOfAgents(db, counting)} SELECT at, agent, version, ${sums} FROM (${called}) AS called GROUP BY at, agent, version`,
  )
}

/** How what is stored is added up; the durations apart. */
export const addedCounts = rawSql(
  [
    ...['invocations', 'calls', 'errors', 'input', 'output', 'cost'].map((name) => `sum(${name}) AS ${name}`),
    'min(first_seen) AS first_seen',
    'max(last_seen) AS last_seen',
    'sum(took) AS took',
  ].join(', '),
)
export const addedDurations = rawSql("string_agg(durations, ',') AS durations")
