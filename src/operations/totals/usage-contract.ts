import { z } from 'zod'
import { answer, callId, flag, plainText, projectId, shortList } from '../../domain/fields.ts'
import { CallsFilter } from '../calls/contract.ts'
import { query } from '../paging-contract.ts'

const maxCalls = 50_000
export const defaultCalls = 10_000

const shared = {
  include_costs: flag(false).describe(
    'Adds what the tokens cost, by the prices of the project else as clients state it.',
  ),
  limit: z.int().min(1).max(maxCalls).nullish().meta({
    default: defaultCalls,
    description:
      'The most calls that are read, of one trace in /calls/usage. More are refused: a sum of some would be wrong.',
  }),
}

export const TraceUsageBody = z.strictObject({
  project_id: projectId,
  filter: CallsFilter.nullish(),
  query,
  ...shared,
})
export type TraceUsageBody = z.output<typeof TraceUsageBody>

export const CallsUsageBody = z.strictObject({
  project_id: projectId,
  call_ids: shortList(plainText(2048), 1000),
  ...shared,
})
export type CallsUsageBody = z.output<typeof CallsUsageBody>

const count = z.number().min(0)
const cost = z.number().nullable().describe('Null without include_costs or a price.')

const ModelUsage = z.object({
  requests: count,
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  prompt_tokens_total_cost: cost,
  completion_tokens_total_cost: cost,
  cache_read_input_tokens_total_cost: cost,
  cache_creation_input_tokens_total_cost: cost,
  stated_total_cost: cost.describe('What clients state of models without a price.'),
})

export const UsageAnswer = answer('What calls used together with the calls below them.', {
  call_usage: z
    .record(z.string(), z.record(z.string(), ModelUsage))
    .describe('By the id of the call, then by model.'),
  unfinished_call_ids: z
    .array(callId)
    .describe('The calls among those read that run: their usage is not known yet.'),
})
