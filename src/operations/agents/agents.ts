import { type Caller, requireAccess } from '../../domain/callers.ts'
import { formatTime, now } from '../../domain/time.ts'
import { type AgentSums, type AgentsView, readAgents } from '../../storage/agents/agents.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { type AgentsBody, type AgentVersionsBody, defaultAgents } from './contract.ts'

/** Each agent with what its calls, and those below them, did and used. */
export async function queryAgents(db: BoundDatabase, caller: Caller, body: AgentsBody) {
  requireAccess(caller, body.project_id)
  const agent = body.filters?.agent_name ?? undefined
  const { rows, total_count } = await pageOfAgents(db, { ...viewOf(body), agent, byVersion: false })
  return { agents: rows.map(({ agent_version, ...sums }) => sums), total_count }
}

/** The same for each version of an agent. Calls that name no version have an empty one. */
export async function queryVersions(db: BoundDatabase, caller: Caller, body: AgentVersionsBody) {
  requireAccess(caller, body.project_id)
  const view = { ...viewOf(body), agent: body.agent_name, byVersion: true }
  const { rows, total_count } = await pageOfAgents(db, view)
  return { versions: rows, total_count }
}

function viewOf(body: AgentsBody | AgentVersionsBody) {
  const sorts = body.sort_by?.length ? body.sort_by : [{ field: 'last_seen' as const }]
  return {
    project: body.project_id,
    limit: body.limit ?? defaultAgents,
    offset: body.offset ?? 0,
    from: body.started_after ?? undefined,
    before: body.started_before ?? undefined,
    costs: body.include_costs === true,
    details: body.include_details === true,
    sort: sorts.map(({ field, ...way }) => ({
      field,
      direction: ('direction' in way && way.direction) || ('desc' as const),
    })),
  }
}

async function pageOfAgents(db: BoundDatabase, view: AgentsView & { details: boolean }) {
  const time = now()
  const found = await readAgents(db, view, time)
  // A page beyond the last row does not say how many there are.
  const [any] = found.length > 0 ? found : await readAgents(db, { ...view, limit: 1, offset: 0 }, time)
  return {
    rows: found.map((row) => shownSums(row, view)),
    total_count: any === undefined ? 0 : Number(any.total),
  }
}

function shownSums(row: AgentSums, { costs, details }: { costs: boolean; details: boolean }) {
  const { total, total_cost_usd, p50_duration_ms, p95_duration_ms, first_seen, last_seen, ...sums } = row
  return {
    ...sums,
    first_seen: formatTime(Number(first_seen)),
    last_seen: formatTime(Number(last_seen)),
    ...(costs && { total_cost_usd }),
    ...(details && { p50_duration_ms, p95_duration_ms }),
  }
}
