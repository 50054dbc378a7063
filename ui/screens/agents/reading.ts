import type { z } from 'zod'
import type { AgentsAnswer, AgentVersionsAnswer } from '../../../src/operations/agents/contract.ts'
import type { FeedbackAggregateAnswer } from '../../../src/operations/totals/aggregate-contract.ts'
import type { Sort } from '../../server/calls.ts'
import { requestJson } from '../../server/request.ts'

type Agents = z.output<typeof AgentsAnswer>
type Versions = z.output<typeof AgentVersionsAnswer>
export type Agent = Agents['agents'][number]

export type AgentFeedback = z.output<typeof FeedbackAggregateAnswer>['buckets'][number]

interface AgentsView {
  project: string
  /** Only calls that began from then on; undefined for all. */
  since: Date | undefined
  sort: Sort
}

/** How many rows one answer has at most. */
const maxRows = 1_000

const bodyOf = ({ project, since, sort }: AgentsView) => ({
  ...{ project_id: project, sort_by: [sort], limit: maxRows },
  ...{ include_costs: true, include_details: true },
  ...(since && { started_after: since.toISOString() }),
})

export const readAgents = (view: AgentsView, signal: AbortSignal): Promise<Agents> =>
  requestJson('/agents/query', { body: bodyOf(view), signal })

export const readVersions = (agent_name: string, view: AgentsView, signal: AbortSignal): Promise<Versions> =>
  requestJson('/agents/agent-versions/query', { body: { ...bodyOf(view), agent_name }, signal })

/** What was said since then about the calls of each agent, or of each version of `agent`, by their names. */
export async function readAgentFeedback(
  project_id: string,
  since: Date,
  agent: string | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, AgentFeedback>> {
  const by = agent === undefined ? 'span_agent_name' : 'span_agent_version'
  const body = {
    ...{ project_id, after_ms: since.getTime(), group_by: [by] },
    ...(agent !== undefined && { span_agent_names: [agent] }),
  }
  const { buckets } = await requestJson<z.output<typeof FeedbackAggregateAnswer>>('/feedback/aggregate', {
    ...{ body, signal },
  })
  return new Map(buckets.map((bucket) => [bucket.group[by] ?? '', bucket]))
}
