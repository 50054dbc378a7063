import type { Page } from '../../domain/view.ts'
import { isLive } from '../calls/calls.ts'
import { comparedPrices, costOfCall } from '../calls/cost.ts'
import { pageOf } from '../sql/rows-in-order.ts'
import { allOf, join, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type LongReader } from '../transaction.ts'
import { apart, countsOnce, usesTokens } from '../views/own-usage.ts'

/** What agents, or their versions, are sorted by. */
export const agentFields = [
  'agent_name',
  'agent_version',
  'invocation_count',
  'span_count',
  'total_input_tokens',
  'total_output_tokens',
  'total_duration_ms',
  'p50_duration_ms',
  'p95_duration_ms',
  'error_count',
  'first_seen',
  'last_seen',
  'total_cost_usd',
] as const
type AgentField = (typeof agentFields)[number]

export interface AgentsView extends Page {
  project: string
  agent: string | undefined
  /** Each version of an agent is a row. */
  byVersion: boolean
  /** Only calls that began then name an agent; microseconds: from, and up to but not including. */
  from: number | undefined
  before: number | undefined
  costs: boolean
  sort: readonly { field: AgentField; direction: 'asc' | 'desc' }[]
}

/** Times are microseconds. */
export interface AgentSums {
  agent_name: string
  agent_version: string
  invocation_count: number
  span_count: number
  total_input_tokens: number
  total_output_tokens: number
  total_duration_ms: number
  p50_duration_ms: number | null
  p95_duration_ms: number | null
  error_count: number
  first_seen: number
  last_seen: number
  total_cost_usd: number | null
  /** Rows of all pages. */
  total: number
}

/** Calls above one that are looked at: in a chain of thousands of agents, all above all would take hours. */
const maxHeight = 64

/**
 * The calls of agents: those that name one, and what runs below them until another agent is named. `is_top`: no
 * call above names the same agent.
 */
function callsOfAgents({ dialect }: LongReader, view: AgentsView, now: number): Sql {
  const { project, agent, byVersion, from, before } = view
  const version = (table: string) => rawSql(byVersion ? `coalesce(${table}.agent_version, '')` : "''")
  const live = (table: string) => isLive(now, rawSql(table))
  const above = sql`EXISTS (WITH RECURSIVE above (id, agent, parent_id, height) AS (
      SELECT direct.id, direct.agent, direct.parent_id, 1 FROM calls AS direct
        WHERE direct.project_id = ${project} AND direct.id = calls.parent_id AND ${live('direct')}
      UNION ALL SELECT further.id, further.agent, further.parent_id, height + 1 FROM above CROSS JOIN calls AS further
        WHERE further.project_id = ${project} AND further.id = above.parent_id AND height < ${rawSql(String(maxHeight))}
          AND ${live('further')} AND ${dialect.cancellable})
    SELECT 1 FROM above WHERE above.agent = calls.agent AND above.id <> calls.id)`
  const named = allOf([
    agent === undefined ? rawSql('calls.agent IS NOT NULL') : sql`calls.agent = ${agent}`,
    ...(from === undefined ? [] : [sql`calls.started_at >= ${from}`]),
    ...(before === undefined ? [] : [sql`calls.started_at < ${before}`]),
    isLive(now),
  ])
  return sql`WITH RECURSIVE members (agent, version, id, is_top) AS (
      SELECT calls.agent, ${version('calls')}, calls.id, CASE WHEN ${above} THEN 0 ELSE 1 END FROM calls
        WHERE calls.project_id = ${project} AND ${named} AND ${dialect.callsCancellable}
      UNION SELECT members.agent, members.version, child.id, 0 FROM members CROSS JOIN calls AS child
        WHERE child.project_id = ${project} AND child.parent_id = members.id AND child.agent IS NULL
          AND ${isLive(now, rawSql('child'))} AND ${dialect.cancellable})`
}

const double = (sum: string, name: string) => `CAST(coalesce(sum(${sum}), 0) AS DOUBLE PRECISION) AS ${name}`

/** Tokens and costs count once, where an agent and the calls below it both report them. */
export async function readAgents(
  db: LongReader,
  view: AgentsView,
  now: number,
  signal: AbortSignal,
): Promise<AgentSums[]> {
  const { dialect } = db
  const once = sql`${usesTokens} AND ${countsOnce(dialect, view.project, [], now)}`
  const prices = view.costs ? await comparedPrices(db, view.project) : undefined
  const cost = view.costs ? costOfCall(dialect, prices) : rawSql('NULL')
  const called = apart(
    dialect,
    sql`SELECT members.agent AS agent_name, members.version AS agent_version, members.is_top AS is_top,
      calls.operation AS operation, calls.status AS status, started_at, ended_at,
      CASE WHEN ${once} THEN 1 END AS counts, input_tokens, output_tokens, CAST(${cost} AS DOUBLE PRECISION) AS cost
    FROM members CROSS JOIN calls WHERE calls.project_id = ${view.project} AND calls.id = members.id AND ${isLive(now)}`,
  )
  const took = 'CASE WHEN is_top = 1 THEN CAST(ended_at - started_at AS DOUBLE PRECISION) / 1000 END'
  const sums = [
    double("CASE WHEN operation = 'invoke_agent' THEN 1 ELSE 0 END", 'invocation_count'),
    'CAST(count(*) AS DOUBLE PRECISION) AS span_count',
    double('CASE WHEN counts = 1 THEN input_tokens END', 'total_input_tokens'),
    double('CASE WHEN counts = 1 THEN output_tokens END', 'total_output_tokens'),
    double(took, 'total_duration_ms'),
    double("CASE WHEN status = 'error' THEN 1 ELSE 0 END", 'error_count'),
    'min(started_at) AS first_seen',
    'max(coalesce(ended_at, started_at)) AS last_seen',
    'sum(CASE WHEN counts = 1 THEN cost END) AS total_cost_usd',
  ]
  const order = view.sort.map(
    ({ field, direction }) => `${field} ${direction === 'asc' ? 'ASC' : 'DESC'} NULLS LAST`,
  )
  const query = sql`${callsOfAgents(db, view, now)} SELECT found.*, count(*) OVER () AS total FROM (
      SELECT agent_name, agent_version, ${rawSql(sums.join(', '))},
        ${dialect.percentile(rawSql(took), 0.5)} AS p50_duration_ms, ${dialect.percentile(rawSql(took), 0.95)} AS p95_duration_ms
      FROM (${called}) AS called
      GROUP BY agent_name, agent_version) AS found
    ORDER BY ${join([...order, 'agent_name', 'agent_version'].map(rawSql), ', ')}${pageOf(dialect, view)}`
  return allRows<AgentSums>(db, query, signal)
}
