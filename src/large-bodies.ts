import { z } from 'zod'
import { serveBodies } from './http/body-thread.ts'
import * as page from './http/page/contract.ts'
import * as agentChats from './operations/agents/chat-contract.ts'
import * as agents from './operations/agents/contract.ts'
import * as agentSearch from './operations/agents/search-contract.ts'
import * as agentSpans from './operations/agents/spans-contract.ts'
import * as agentStats from './operations/agents/stats-contract.ts'
import * as alerts from './operations/alerts/contract.ts'
import * as batches from './operations/batches/contract.ts'
import * as budgets from './operations/budgets/contract.ts'
import * as calibrations from './operations/calibrations/contract.ts'
import * as calls from './operations/calls/contract.ts'
import * as chat from './operations/chat/contract.ts'
import * as storedCompletions from './operations/chat/stored-contract.ts'
import * as completions from './operations/completions/contract.ts'
import * as conversations from './operations/conversations/contract.ts'
import * as decisions from './operations/decisions/contract.ts'
import * as definitions from './operations/definitions/contract.ts'
import * as cohere from './operations/embeddings/cohere-contract.ts'
import * as embeddings from './operations/embeddings/contract.ts'
import * as evaluationRuns from './operations/evaluation-runs/contract.ts'
import * as evaluations from './operations/evaluations/results-contract.ts'
import * as evaluationViews from './operations/evaluations/views-contract.ts'
import * as exporting from './operations/exporting/contract.ts'
import * as feedback from './operations/feedback/contract.ts'
import * as files from './operations/files/contract.ts'
import * as gates from './operations/gates/contract.ts'
import * as infill from './operations/infill/contract.ts'
import * as mcp from './operations/mcp/contract.ts'
import * as messages from './operations/messages/contract.ts'
import * as monitors from './operations/monitors/contract.ts'
import * as objects from './operations/objects/contract.ts'
import * as ollama from './operations/ollama/later.ts'
import * as otel from './operations/otel/traces-given.ts'
import * as people from './operations/people/contract.ts'
import * as prices from './operations/prices/contract.ts'
import * as projects from './operations/projects/contract.ts'
import * as proposals from './operations/proposals/contract.ts'
import * as queues from './operations/queues/contract.ts'
import * as queueRules from './operations/queues/rule-contract.ts'
import * as rerank from './operations/rerank/contract.ts'
import * as responses from './operations/responses/contract.ts'
import * as savedViews from './operations/saved-views/contract.ts'
import * as scorers from './operations/scorers/try-contract.ts'
import * as servedRuns from './operations/served-runs/contract.ts'
import * as shadows from './operations/shadows/contract.ts'
import * as tables from './operations/tables/contract.ts'
import * as tokens from './operations/tokens/contract.ts'
import * as aggregates from './operations/totals/aggregate-contract.ts'
import * as totalFeedback from './operations/totals/feedback-contract.ts'
import * as stats from './operations/totals/stats-contract.ts'
import * as threads from './operations/totals/threads-contract.ts'
import * as totalUsage from './operations/totals/usage-contract.ts'
import * as viewColumns from './operations/views/columns-contract.ts'
import * as views from './operations/views/contract.ts'
import * as viewFeedback from './operations/views/feedback-contract.ts'
import * as viewSearch from './operations/views/search-contract.ts'
import * as viewTrace from './operations/views/trace-contract.ts'

const ofCalls = {
  calls,
  exporting,
  feedback,
  files,
  gates,
  shadows,
  objects,
  otel,
  prices,
  tables,
  definitions,
}
const ofRuns = { evaluationRuns, evaluations, evaluationViews, proposals, scorers, servedRuns }
const ofEvaluations = { ...ofRuns, calibrations, monitors, queueRules, queues }
const ofText = {
  chat,
  completions,
  conversations,
  decisions,
  messages,
  ollama,
  responses,
  storedCompletions,
  tokens,
}
const ofModels = { ...ofText, infill, batches, embeddings, cohere, rerank }
const ofViews = { savedViews, viewColumns, viewFeedback, views, viewSearch, viewTrace }
const ofAgents = { agents, agentChats, agentSearch, agentSpans, agentStats }
const ofTotals = { stats, threads, totalFeedback, totalUsage, aggregates, ...ofAgents }
const ofPeople = { alerts, budgets, mcp, page, people, projects }
const families = { ...ofCalls, ...ofTotals, ...ofEvaluations, ...ofModels, ...ofViews, ...ofPeople }

/** All contracts by name, so that the threads that read bodies can find the one that a route uses. */
export const bodyContracts: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries(families).flatMap(([family, contracts]) =>
    Object.entries(contracts).flatMap(([name, contract]): [string, z.ZodType][] =>
      contract instanceof z.ZodType ? [[`${family}.${name}`, contract]] : [],
    ),
  ),
)

/** Where `startThread` finds this file, before and after the build. */
export const bodyThread = import.meta.url

/** What a thread runs that reads large bodies. */
export function serve(): void {
  serveBodies(async (name) => {
    const signal = (['traces', 'logs'] as const).find((known) => otel.protobufContracts[known] === name)
    const contract =
      signal !== undefined
        ? (await import('./operations/otel/protobuf-given.ts')).protobufGiven[signal]
        : bodyContracts.get(name)
    if (contract instanceof z.ZodLazy) return contract.unwrap() as z.ZodType
    if (contract === undefined) throw new Error(`no contract ${name}`)
    return contract
  })
}
