import { inSteps } from '../../../packages/waiting/index.ts'
import type { Page } from '../../domain/view.ts'
import { comparedPrices } from '../calls/cost.ts'
import { emptySql, listOf, rawSql, sql } from '../sql/sql.ts'
import type { Range } from '../sums/counting.ts'
import { day, hour, startOf } from '../sums/spans.ts'
import { type AgentCount, addedCounts, countAgents } from '../trace-sums/agent-counts.ts'
import { unsettledTraces } from '../trace-sums/marks.ts'
import { allRows, type BoundReader } from '../transaction.ts'

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

/** Hours whose calls are read. */
const maxCounted = 48

/** Before and after all calls. */
const [beginning, future] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]

interface Plan {
  counted: Range[]
  /** The whole hours from and up to which sums are read. */
  from: number
  end: number
  /** Hours whose sums are not. */
  unsettled: number[]
}

/** Tokens and costs count once, where an agent and the calls below it both report them. */
export async function readAgents(db: BoundReader, view: AgentsView, now: number): Promise<AgentSums[]> {
  const { project, agent } = view
  const prices = view.costs ? await comparedPrices(db, project) : null
  // Before the sums: what is written from here on may be in the answer or not.
  const plan = await planOf(db, view, now)
  const ranges = plan === undefined ? rangesOfAll(view) : plan.counted
  const counted = await countAgents(db, { project, agent, ranges, prices, now })
  const stored = plan === undefined ? [] : await storedCounts(db, view, plan)
  return pageOf(await agentsOf([...stored, ...counted], view), view)
}

const rangesOfAll = ({ from, before }: AgentsView): Range[] | undefined =>
  from === undefined && before === undefined
    ? undefined
    : [{ from: from ?? beginning, end: before ?? future }]

async function planOf(db: BoundReader, view: AgentsView, now: number): Promise<Plan | undefined> {
  const { from = beginning, before = future } = view
  const found = await unsettledTraces(db, view.project, now)
  if (found === undefined) return undefined
  const [first, end] = [-startOf(-from, hour), startOf(before, hour)]
  if (first >= end) return undefined
  const unsettled = [...found.hours].filter((at) => at >= first && at < end)
  if (unsettled.length > maxCounted) return undefined
  const edges = [
    { from, end: first },
    { from: end, end: before },
  ]
  const counted = [...edges, ...unsettled.map((at) => ({ from: at, end: at + hour }))]
  return { counted: counted.filter((range) => range.from < range.end), from: first, end, unsettled }
}

/** Of its newest runs, median and percentile are made: characters of their durations. */
const maxDurations = 256 * 1024

/** Of whole days where these are known, in one statement: sums of a day and of its hours are stored together. */
async function storedCounts(
  db: BoundReader,
  view: AgentsView,
  { from, end, unsettled }: Plan,
): Promise<AgentCount[]> {
  const edges = [...(from % day === 0 ? [] : [from]), ...(end % day === 0 ? [] : [end])]
  const days = [...new Set([...unsettled, ...edges].map((at) => startOf(at, day)))]
  const own = sql`project_id = ${view.project}${view.agent === undefined ? emptySql : sql` AND agent = ${view.agent}`}`
  const within = sql`agent_sums WHERE ${own} AND at >= ${from} AND at < ${end}`
  const stored = [
    sql`SELECT * FROM ${within} AND span = ${rawSql(String(day))}
      ${days.length === 0 ? emptySql : sql`AND at NOT IN (${listOf(days)})`}`,
    ...days.map(
      (at) => sql`SELECT * FROM ${within} AND span = ${rawSql(String(hour))}
        AND at >= ${at} AND at < ${at + day}${unsettled.length === 0 ? emptySql : sql` AND at NOT IN (${listOf(unsettled)})`}`,
    ),
  ]
  const all = stored.reduce((query, other) => sql`${query} UNION ALL ${other}`)
  const counts = await allRows<AgentCount>(
    db,
    sql`SELECT agent, version, ${addedCounts}, NULL AS durations FROM (${all}) AS counts GROUP BY agent, version`,
  )
  const version = rawSql(view.byVersion ? 'version' : "''")
  // Compressed texts have their length beside them; only those that are read are unpacked.
  const length = db.dialect.bytes(rawSql('durations'))
  const newest = sql`SELECT agent, ${version} AS version, durations,
      sum(${length}) OVER (PARTITION BY agent, ${version} ORDER BY at DESC, version) - ${length} AS before
    FROM (${all}) AS counts WHERE durations IS NOT NULL`
  const durations = await allRows<Durations>(
    db,
    sql`SELECT agent, version, substr(durations, 1, ${rawSql(String(maxDurations))}) AS durations
        FROM (${newest}) AS newest WHERE before < ${rawSql(String(maxDurations))}`,
  )
  return [...counts, ...durations.map((row) => ({ ...nothing, ...row }))]
}

type Durations = Pick<AgentCount, 'agent' | 'version' | 'durations'>

const nothing = {
  ...{ invocations: 0, calls: 0, errors: 0, input: 0, output: 0, cost: null, took: 0 },
  ...{ first_seen: Number.MAX_SAFE_INTEGER, last_seen: Number.MIN_SAFE_INTEGER },
}

type Row = Omit<AgentSums, 'total'>

async function agentsOf(counts: readonly AgentCount[], view: AgentsView): Promise<Row[]> {
  const groups = Map.groupBy(counts, ({ agent, version }) =>
    JSON.stringify([agent, view.byVersion ? version : '']),
  )
  const rows: Row[] = []
  await inSteps(groups.values(), (own) => {
    const [first] = own
    if (first !== undefined) rows.push(rowOf(first, own, view))
  })
  return rows
}

function rowOf({ agent, version }: AgentCount, own: readonly AgentCount[], { byVersion }: AgentsView): Row {
  const sum = (name: 'invocations' | 'calls' | 'errors' | 'input' | 'output' | 'took') =>
    own.reduce((all, count) => all + Number(count[name]), 0)
  const costs = own.flatMap(({ cost }) => cost ?? [])
  const took = Float64Array.from(own.flatMap(durationsIn), (micros) => Number(micros) / 1000).sort()
  return {
    agent_name: agent,
    agent_version: byVersion ? version : '',
    invocation_count: sum('invocations'),
    span_count: sum('calls'),
    total_input_tokens: sum('input'),
    total_output_tokens: sum('output'),
    total_duration_ms: sum('took') / 1000,
    p50_duration_ms: percentileOf(took, 0.5),
    p95_duration_ms: percentileOf(took, 0.95),
    error_count: sum('errors'),
    first_seen: own.reduce((first, count) => Math.min(first, Number(count.first_seen)), Infinity),
    last_seen: own.reduce((last, count) => Math.max(last, Number(count.last_seen)), -Infinity),
    total_cost_usd: costs.length === 0 ? null : costs.reduce((all, cost) => all + cost, 0),
  }
}

/** The last may be cut. */
function durationsIn({ durations }: AgentCount): string[] {
  if (durations === null) return []
  const isCut = durations.length >= maxDurations
  return (isCut ? durations.slice(0, durations.lastIndexOf(',', maxDurations - 1)) : durations).split(',')
}

/** As databases do: between two values, in proportion. */
function percentileOf(sorted: Float64Array, fraction: number): number | null {
  const position = (sorted.length - 1) * fraction
  const [low, high] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]]
  return low === undefined || high === undefined
    ? null
    : low + (high - low) * (position - Math.floor(position))
}

function pageOf(rows: readonly Row[], { sort, limit, offset }: AgentsView): AgentSums[] {
  const order = [...sort, { field: 'agent_name', direction: 'asc' } as const]
  const sorted = rows.toSorted((row, other) => {
    for (const { field, direction } of [...order, { field: 'agent_version', direction: 'asc' } as const]) {
      const compared = compare(row[field], other[field], direction)
      if (compared !== 0) return compared
    }
    return 0
  })
  const page = sorted.slice(offset, limit === null ? undefined : offset + limit)
  return page.map((row) => ({ ...row, total: rows.length }))
}

/** What is not known is last. Texts compare by code point, as in databases. */
function compare(value: Row[AgentField], other: Row[AgentField], direction: 'asc' | 'desc'): number {
  if (value === null || other === null) return Number(value === null) - Number(other === null)
  const sign = direction === 'asc' ? 1 : -1
  if (typeof value === 'number') return sign * (value - Number(other))
  return sign * Buffer.compare(Buffer.from(value), Buffer.from(String(other)))
}
