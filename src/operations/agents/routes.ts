import { family, operation } from '../parts.ts'
import { queryAgents, queryVersions } from './agents.ts'
import { AgentsAnswer, AgentsBody, AgentVersionsAnswer, AgentVersionsBody } from './contract.ts'
import { querySpans } from './spans.ts'
import { SpansAnswer, SpansBody } from './spans-contract.ts'

const common = { right: 'read', tags: ['agents'], refusals: ['invalid_value', 'query_too_slow'] } as const

export const agentRoutes = family(
  operation('POST', '/agents/query', {
    ...common,
    summary: 'List the agents of a project with what they did and used',
    body: AgentsBody,
    answer: AgentsAnswer,
    rule: ({ db, signal }, { caller, body }) => queryAgents(db, caller, body, signal),
  }),
  operation('POST', '/agents/agent-versions/query', {
    ...common,
    summary: 'List the versions of an agent',
    body: AgentVersionsBody,
    answer: AgentVersionsAnswer,
    rule: ({ db, signal }, { caller, body }) => queryVersions(db, caller, body, signal),
  }),
  operation('POST', '/agents/spans/query', {
    ...common,
    summary: 'List spans, or groups of them with sums',
    body: SpansBody,
    answer: SpansAnswer,
    rule: ({ db, signal }, { caller, body }) => querySpans(db, caller, body, signal),
  }),
)
