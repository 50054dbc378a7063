import { hash } from 'node:crypto'
import type { Conversation, GivenMessage } from '../../../packages/chat-format/index.ts'
import { promptGroupOf } from '../../../packages/engine/index.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { lacksInfill } from '../infill.ts'
import type { AnswerRequest, CallsAsked, Input, TurnAsked } from '../model.ts'
import { toolOf } from '../prompt/chat-prompt.ts'
import { forwardedFields, refuseUnsupported } from './fields.ts'
import { type KindOfUpstream, kindsOfUpstreams, type UpstreamKind } from './kinds.ts'
import type { ModelAbilities } from './listed.ts'
import { messagesFor } from './system-messages.ts'

/** A request in the form that the server behind a model accepts. */
export interface UpstreamRequest {
  path: '/chat/completions' | '/completions' | '/messages'
  body: string
  /** The answer is not streamed: no server streams the logprobs of prompts. */
  isWhole: boolean
  /** The beginning of its prompt; requests with the same beginning go to the same address. */
  beginning: string
  inputs: number
  choices: number
  /** Fields that have no effect there and could not be left out. */
  ignored: readonly string[]
}

export interface UpstreamTarget {
  kind: UpstreamKind
  /** The name of the model there. */
  model: string
  abilities?: ModelAbilities
}

/** How much of a prompt decides to which address it is sent. */
const beginningLength = 4_096

export function upstreamRequestOf(
  request: AnswerRequest,
  { kind: name, model }: UpstreamTarget,
): UpstreamRequest {
  const kind = kindsOfUpstreams[name]
  const ignored: string[] = []
  const { inputs, turn, choices, promptLogprobs, body: fields = {} } = request
  const [first] = inputs
  const conversation = first !== undefined && 'conversation' in first ? first : undefined
  const isText = conversation === undefined
  const isWhole = promptLogprobs !== undefined
  if (isWhole && !kind.takes.has('prompt_logprobs')) {
    refuseUnsupported(
      fields.prompt_logprobs == null ? 'echo' : 'prompt_logprobs',
      'it',
      'nothing: it reports nothing about prompts',
    )
  }
  checkRunningUsage(fields, kind)
  const salt = saltOf(request)
  const body = {
    model,
    ...forwardedFields(request, kind, isText),
    ...(conversation ? conversationFields(conversation, name) : { prompt: promptsOf(inputs, kind) }),
    ...(salt !== undefined && kind.takes.has('cache_salt') && { cache_salt: salt }),
    ...samplingOf(request, name),
    ...logprobsOf(request, kind, isText),
    ...constraintOf(request),
    ...(turn && conversation && toolsOf(conversation.conversation, turn.calls, name)),
    ...budgetOf(turn?.thinkingBudget, kind, ignored),
    ...(kind.returnsTokens && { return_token_ids: true }),
    ...(isWhole
      ? { prompt_logprobs: promptLogprobs }
      : { stream: true, stream_options: { include_usage: true } }),
  }
  return {
    path: isText ? '/completions' : '/chat/completions',
    body: writeJson(body),
    isWhole,
    beginning: beginningOf(first, salt),
    inputs: inputs.length,
    choices,
    ignored,
  }
}

/** The server behind knows one user, so what tenants must not share there has different salts. */
export function saltOf(request: Pick<AnswerRequest, 'promptGroup' | 'tenant' | 'salt'>): string | undefined {
  const group = promptGroupOf(request)
  if (group === '') return request.salt
  return hash('sha256', JSON.stringify([group, request.salt]), 'base64url')
}

function budgetOf(budget: TurnAsked['thinkingBudget'], kind: KindOfUpstream, ignored: string[]) {
  if (budget === undefined) return {}
  if (kind.takes.has('thinking_token_budget')) return { thinking_token_budget: budget.tokens }
  if (!budget.isOptional) refuseUnsupported(budget.field, 'a budget for thoughts', 'nothing: leave it out')
  ignored.push(budget.field)
  return {}
}

export function checkRunningUsage(body: Readonly<Record<string, unknown>>, kind: KindOfUpstream): void {
  const options = body.stream_options as { continuous_usage_stats?: boolean } | null | undefined
  if (options?.continuous_usage_stats && !kind.takes.has('continuous_usage_stats')) {
    refuseUnsupported('stream_options.continuous_usage_stats', 'true', 'false: it counts at the end')
  }
}

/** The server has its own defaults for what the client did not give. */
function samplingOf({ sampling, ending, choices, body = {} }: AnswerRequest, kind: UpstreamKind) {
  const { seed, bias } = sampling
  const { maxTokens } = ending
  // The newer name if the client used it, or if newer models accept no other.
  const newer = kind === 'openai' ? body.max_tokens == null : body.max_completion_tokens != null
  return {
    ...(choices > 1 && { n: choices }),
    // JSON.stringify cannot write such numbers.
    ...(seed !== undefined && { seed: new JsonText(String(seed)) }),
    ...(bias.length > 0 && { logit_bias: Object.fromEntries(bias) }),
    ...(maxTokens !== undefined && { [newer ? 'max_completion_tokens' : 'max_tokens']: maxTokens }),
  }
}

function logprobsOf({ logprobs, body = {} }: AnswerRequest, kind: KindOfUpstream, isText: boolean) {
  if (logprobs === undefined) return {}
  const asIds = body.return_tokens_as_token_ids === true
  if (isText) {
    if (asIds) refuseUnsupported('return_tokens_as_token_ids', 'it with logprobs', 'return_token_ids')
    return { logprobs }
  }
  return {
    logprobs: true,
    ...(logprobs > 0 && { top_logprobs: logprobs }),
    ...((kind.returnsLogprobIds || asIds) && { return_tokens_as_token_ids: true }),
  }
}

/** Chat and text completions have the constraint in their own fields, which are passed on. */
function constraintOf({ constraint, body = {} }: AnswerRequest) {
  if (constraint === undefined || body.response_format != null || body.structured_outputs != null) return {}
  const asked = constraint.constraint
  if (asked.kind === 'json_object') return { response_format: { type: 'json_object' } }
  if (asked.kind !== 'json') {
    refuseUnsupported(constraint.field, `a constraint of the kind ${asked.kind}`, 'a JSON Schema')
  }
  const json_schema = { name: 'answer', schema: asked.schema, strict: true }
  return { response_format: { type: 'json_schema', json_schema } }
}

function promptsOf(inputs: readonly Input[], kind: KindOfUpstream): unknown {
  const prompts = inputs.map((input, index) => {
    if ('conversation' in input) throw new Error('a conversation in a list of texts')
    if ('text' in input && input.suffix) throw lacksInfill('on another server', input.suffix.field)
    if ('text' in input) return input.text
    if (kind.returnsTokens) return input.tokens
    return refuseUnsupported(inputs.length === 1 ? 'prompt' : `prompt.${index}`, 'tokens', 'texts')
  })
  return prompts.length === 1 ? prompts[0] : prompts
}

/** The fields of chat completions for a conversation. */
function conversationFields(
  { conversation, addSpecial }: Extract<Input, { conversation: unknown }>,
  name: UpstreamKind,
) {
  const kind = kindsOfUpstreams[name]
  const { messages, template, variables, documents, reasoningEffort, thinks } = conversation
  const { addGenerationPrompt, continueFinal } = conversation
  refuseForTemplates(conversation, kind)
  const thinking = thinkingOf(thinks, reasoningEffort, name)
  return {
    messages: messagesFor(name, messages).map(messageOf),
    ...(template != null && { chat_template: template }),
    ...(variables != null && { chat_template_kwargs: variables }),
    ...(documents?.length && { documents }),
    ...(!addGenerationPrompt && { add_generation_prompt: false }),
    ...(continueFinal && { continue_final_message: true }),
    ...(addSpecial && { add_special_tokens: true }),
    ...thinking,
  }
}

/** Refuses what only a server with a template can be told. */
export function refuseForTemplates(
  { template, variables, documents }: Conversation,
  { takes }: KindOfUpstream,
): void {
  for (const [field, value] of Object.entries({
    chat_template: template,
    chat_template_kwargs: variables,
    documents: documents?.length ? documents : undefined,
  })) {
    if (value != null && !takes.has(field)) refuseUnsupported(field, 'it', 'nothing: leave it out')
  }
}

/** The fields that determine the prompt of a conversation, for requests that only want its tokens. */
export function promptFields(input: Extract<Input, { conversation: unknown }>, kind: UpstreamKind) {
  const { tools } = input.conversation
  return { ...conversationFields(input, kind), ...(tools?.length && { tools: tools.map(toolOf) }) }
}

/** Each kind of server has its own field for it. If it has none, the server decides. */
function thinkingOf(
  thinks: boolean | undefined,
  effort: string | null | undefined,
  kind: UpstreamKind,
): Record<string, unknown> {
  if (effort != null) return { reasoning_effort: effort }
  if (thinks === undefined) return {}
  if (kind === 'heddle') return { reasoning_effort: thinks ? 'medium' : 'none' }
  if (kind === 'openai') return thinks ? { reasoning_effort: 'medium' } : {}
  return { chat_template_kwargs: { enable_thinking: thinks } }
}

function messageOf({ blocks: _, ...message }: GivenMessage): object {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value != null))
}

function toolsOf({ tools }: Conversation, calls: CallsAsked | undefined, kind: UpstreamKind) {
  if (!tools?.length) return {}
  if (calls === undefined) return { tools: tools.map(toolOf), tool_choice: 'none' }
  const { choice, isParallel } = calls
  const parallel = isParallel ? {} : { parallel_tool_calls: false }
  if (typeof choice === 'object') {
    const named = { type: 'function', function: { name: choice.name } }
    return { tools: tools.map(toolOf), tool_choice: named, ...parallel }
  }
  if (calls.tools.length === tools.length)
    return { tools: tools.map(toolOf), tool_choice: choice, ...parallel }
  // Servers without allowed tools get only the allowed ones.
  if (kind !== 'heddle' && kind !== 'openai') {
    return { tools: calls.tools.map(toolOf), tool_choice: choice, ...parallel }
  }
  const allowed = calls.tools.map(({ function: { name } }) => ({ type: 'function', function: { name } }))
  const allowed_tools = { mode: choice, tools: allowed }
  return { tools: tools.map(toolOf), tool_choice: { type: 'allowed_tools', allowed_tools }, ...parallel }
}

export function beginningOf(input: Input | undefined, salt = ''): string {
  if (input === undefined) return salt
  if ('tokens' in input) return salt + input.tokens.slice(0, 512).join()
  if ('text' in input) return salt + input.text.slice(0, beginningLength)
  let beginning = salt
  for (const { role, content } of input.conversation.messages) {
    if (beginning.length >= beginningLength) break
    const text = typeof content === 'string' ? content : writeJson(content?.slice(0, 2) ?? null)
    beginning += `${role}:${text.slice(0, beginningLength)}\n`
  }
  return beginning
}
