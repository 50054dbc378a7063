import { z } from 'zod'
import { answer, dateTime, explained, flag, plainText, projectId } from '../../domain/fields.ts'
import { agentFields } from '../../storage/agents/agents.ts'
import { offset, query } from '../paging-contract.ts'
import { type AttributeType, attributeSources } from './value-contract.ts'

/** A list that Weave has and this server cannot honour: anything in it is refused. */
export const unsupported = (why: string) =>
  z
    .array(z.union([z.string(), z.object({})]))
    .max(0, `is not supported: ${why}; expected an empty list, null, or no such field`)
    .nullish()
    .describe(`Only an empty list is accepted: ${why}.`)

export const page = (most: number, absent: number) => ({
  limit: z.int().min(0).max(most).nullish().meta({ default: absent }),
  offset,
})

export const direction = z.enum(['asc', 'desc']).nullish().meta({ default: 'desc' })

/** From, and up to but not including. */
export const startedRange = {
  started_after: dateTime.nullish().describe('Included.'),
  started_before: dateTime.nullish().describe('Excluded.'),
}

export const agentName = plainText(512)
export const defaultAgents = 100
const maxAgents = 1_000

const list = {
  project_id: projectId,
  sort_by: z
    .array(z.strictObject({ field: z.enum(agentFields), direction }))
    .max(agentFields.length)
    .nullish()
    .describe('Default: the one seen last first.'),
  ...page(maxAgents, defaultAgents),
  ...startedRange,
  include_costs: flag(false),
  include_details: flag(false).describe('Adds the median and 95th percentile of durations.'),
}

export const AgentsBody = z.strictObject({
  ...list,
  filters: z.strictObject({ agent_name: agentName.nullish() }).nullish(),
})
export type AgentsBody = z.output<typeof AgentsBody>

export const AgentVersionsBody = z.strictObject({ ...list, agent_name: agentName.min(1) })
export type AgentVersionsBody = z.output<typeof AgentVersionsBody>

const count = z.number().min(0)
const duration = z.number().nullish()
const sums = explained({
  invocation_count: [count, 'Calls that are invocations of it.'],
  span_count: [count, 'Calls that name it, and those below them until another agent is named.'],
  total_input_tokens: [count, 'Tokens that these read, each counted once.'],
  total_output_tokens: [count, 'Tokens that they wrote.'],
  total_duration_ms: [z.number(), 'How long its outermost calls took, together.'],
  p50_duration_ms: [duration, 'With include_details: the median of these; null while all run.'],
  p95_duration_ms: [duration, 'With include_details: what 95 % of these took at most.'],
  error_count: [count, 'Calls of it that failed themselves.'],
  first_seen: [z.iso.datetime(), 'When its first call began.'],
  last_seen: [z.iso.datetime(), 'When its last call ended, or began if it runs.'],
  total_cost_usd: [z.number().nullish(), 'With include_costs: by the prices of the project; null without.'],
})
const total_count = z.int().min(0).describe('Rows of all pages.')

export const AgentsAnswer = answer('The agents of a project.', {
  agents: z.array(z.object({ agent_name: z.string(), ...sums })),
  total_count,
})

export const AgentVersionsAnswer = answer('The versions of an agent.', {
  versions: z.array(z.object({ agent_name: z.string(), agent_version: z.string(), ...sums })),
  total_count,
})

const maxAttributes = 2_000
export const defaultAttributes = 200

export const AttributesBody = z.strictObject({
  project_id: projectId,
  query,
  ...startedRange,
  limit: z.int().min(1).max(maxAttributes).nullish().meta({ default: defaultAttributes }),
  offset,
})
export type AttributesBody = z.output<typeof AttributesBody>

export const AttributesAnswer = answer('Attributes of the newest spans beside those of the conventions.', {
  attributes: z.array(
    z.object({
      source: z.enum(Object.values(attributeSources)),
      key: z.string(),
      value_type: z.enum(Object.keys(attributeSources) as AttributeType[]),
      span_count: z.int().min(1).describe('Among the spans that were read, at most 1,000.'),
    }),
  ),
  limit: z.int(),
  offset: z.int(),
  has_more: z.boolean(),
})
