import { membersOf } from '../../../packages/json/index.ts'
import { parseNumber } from '../expressions/numbers.ts'
import { storableText } from '../text.ts'
import { type AgentFacts, agentFacts } from './agent.ts'
import { briefly, isObject, type Members } from './brief.ts'
import { answerPreview, isPreviewStored, modelIn, requestPreview } from './preview.ts'

/** The longest name in bytes that lists and charts group by, because it must fit into an index. */
const maxNameBytes = 400

/** What lists and charts show of the start of a call; the preview is stored only if the inputs are long. */
export interface StartFacts extends AgentFacts {
  op: string | null
  input_preview: string | null
}

export function startFacts(start: { op_name: string; inputs: string; attributes: string }): StartFacts {
  const { op_name, inputs, attributes } = start
  const { model, preview } = isPreviewStored(inputs)
    ? requestPreview(inputs)
    : { model: modelIn(inputs), preview: null }
  const { agent, agent_version, operation, asked_model } = agentFacts(nameOfOp(op_name), attributes)
  const asked = model || asked_model
  return {
    op: opOf(op_name),
    asked_model: asked && shortName(asked),
    input_preview: preview,
    agent: agent && shortName(agent),
    agent_version: agent_version && shortName(agent_version),
    operation: operation && shortName(operation),
  }
}

/** `answer` of `weave:///acme/qa/op/answer:…`. */
function nameOfOp(op: string): string {
  const start = op.includes(':///') ? op.lastIndexOf('/op/') : -1
  return start === -1 ? op : op.slice(start + 4).replace(/:[^:]*$/s, '')
}

/**
 * What lists and charts show of the end of a call; the preview is stored only if the output is long. Tokens are those
 * of all models together.
 */
export interface EndFacts extends Usage {
  status: EndedStatus
  first_token_us: number | null
  output_preview: string | null
}

type EndedStatus = 'success' | 'error' | 'descendant_error'

interface Usage {
  model: string | null
  input_tokens: number | null
  output_tokens: number | null
  cache_read_tokens: number | null
  cache_creation_tokens: number | null
  /** In billionths; of several models, those of each are in the summary only. */
  stated_cost: number | null
}

export function endFacts(end: {
  exception: string | null
  output: string | null
  summary: string
}): EndFacts {
  const { exception, output, summary } = end
  const { status_counts, usage, heddle } = membersNeeded(summary)
  const ms = isObject(heddle) ? countIn(heddle.first_token_ms) : undefined
  return {
    status: exception ? 'error' : hasErrors(status_counts) ? 'descendant_error' : 'success',
    ...usageIn(isObject(usage) ? usage : {}),
    first_token_us: ms === undefined ? null : Math.round(ms * 1000),
    output_preview: output !== null && isPreviewStored(output) ? answerPreview(output) : null,
  }
}

/** The same for every version of an op: `weave:///acme/qa/op/answer:*`. Filters accept it in this form. */
export function opOf(name: string): string | null {
  const start = name.includes(':///') ? name.indexOf('/op/') : -1
  const colon = start === -1 ? -1 : name.indexOf(':', start)
  return shortName(colon === -1 ? name : `${name.slice(0, colon)}:*`)
}

function shortName(name: string): string | null {
  if (name === '' || (name.length > maxNameBytes / 4 && Buffer.byteLength(name) > maxNameBytes)) return null
  return storableText(name)
}

/** The largest summary that is parsed as a whole. */
const maxSummaryLength = 64 << 10
const needed = ['status_counts', 'usage', 'heddle'] as const

function membersNeeded(summary: string): Members {
  if (summary.length <= maxSummaryLength) {
    const value: unknown = JSON.parse(summary)
    return isObject(value) ? value : {}
  }
  const members = membersOf(summary)
  return Object.fromEntries(needed.map((name) => [name, briefly(members.get(name) ?? 'null')]))
}

/** The same rule as for a record that is read, operations/calls/record.ts. */
function hasErrors(counts: unknown): boolean {
  const errors = isObject(counts) ? counts.error : undefined
  const number = typeof errors === 'string' ? parseNumber(storableText(errors)) : errors
  return (typeof number === 'number' || typeof number === 'bigint') && number > 0 && number < Infinity
}

/** No model counts as many, and sums of such numbers stay exact. */
const maxTokens = 1e12

/** Under the names that prices use. */
function usageIn(usage: Members): Usage {
  const models = Object.keys(usage)
  const name = models.length > 1 ? models.sort().join(', ') : models[0]
  const sums: Usage = {
    model: name === undefined ? null : shortName(name),
    input_tokens: null,
    output_tokens: null,
    cache_read_tokens: null,
    cache_creation_tokens: null,
    stated_cost: models.length === 1 ? (statedCost(usage[models[0] as string]) ?? null) : null,
  }
  for (const model of models) {
    const used = usage[model]
    if (!isObject(used)) continue
    sums.input_tokens = plus(plus(sums.input_tokens, used.prompt_tokens), used.input_tokens)
    sums.output_tokens = plus(plus(sums.output_tokens, used.completion_tokens), used.output_tokens)
    sums.cache_read_tokens = plus(sums.cache_read_tokens, used.cache_read_input_tokens)
    sums.cache_creation_tokens = plus(sums.cache_creation_tokens, used.cache_creation_input_tokens)
  }
  return sums
}

function plus(sum: number | null, value: unknown): number | null {
  const count = countIn(value)
  return count === undefined ? sum : Math.min(maxTokens, (sum ?? 0) + Math.round(count))
}

/** More is no cost of a call. */
export const maxStatedCost = 1e6
/** Whole numbers, so that sums do not depend on their order. */
export const statedPerUnit = 1e9
export const tokenCounts = ['prompt_tokens', 'input_tokens', 'completion_tokens', 'output_tokens'] as const

/** What the client says that a model cost, in billionths. It counts where tokens do, so without them it is none. */
export function statedCost(used: unknown): number | undefined {
  if (!isObject(used)) return undefined
  const cost = used.total_cost
  const isCost = typeof cost === 'number' && cost >= 0 && cost <= maxStatedCost
  const isCounted = tokenCounts.some((name) => countIn(used[name]) !== undefined)
  return isCost && isCounted ? Math.round(cost * statedPerUnit) : undefined
}

export function countIn(value: unknown): number | undefined {
  return Number.isFinite(value) && (value as number) >= 0 ? Math.min(maxTokens, value as number) : undefined
}
