import type { Conversation, GivenTool } from '../../../../packages/chat-format/index.ts'
import { JsonText, writeJson } from '../../../domain/json/text.ts'
import type { AnswerRequest, CallsAsked, Input } from '../../model.ts'
import { refuseUnknown, refuseUnsupported } from '../fields.ts'
import { kindsOfUpstreams } from '../kinds.ts'
import {
  beginningOf,
  checkRunningUsage,
  refuseForTemplates,
  saltOf,
  type UpstreamRequest,
  type UpstreamTarget,
} from '../upstream-request.ts'
import { anthropicConversation, type Block } from './messages.ts'
import { refusedBesideThought, thinkingOf } from './thinking.ts'

/** For a request without a limit, to a model whose list names none. */
const usualTokens = 4_096

const kind = kindsOfUpstreams.anthropic

/** A request in the form of Anthropic's Messages. */
export function anthropicRequestOf(
  request: AnswerRequest,
  { model, abilities = { thinksAdaptively: false } }: UpstreamTarget,
): UpstreamRequest {
  const { inputs, turn, ending, body = {} } = request
  const [input] = inputs
  const conversation = conversationOf(input)
  checkFields(request)
  const thought = thinkingOf(request, abilities)
  const { thinking, effort, tokens } = thought
  const unfit = refusedBesideThought(body, thought)
  const sampled = (field: string) => body[field] != null && !unfit.includes(field)
  const format = formatOf(request)
  const limit = ending.maxTokens ?? abilities.maxTokens ?? usualTokens + tokens
  const maxTokens = ending.isClipped ? Math.min(limit, abilities.maxTokens ?? limit) : limit
  const mark = body.cache_control ?? markOf(conversation)
  const { system, messages } = anthropicConversation(conversation.messages)
  const { tools = [], ...choosing } = turn ? toolsOf(conversation, turn.calls) : {}
  checkMarks([{ cache_control: mark }, ...tools, ...(Array.isArray(system) ? system : []), ...messages])
  const asked = {
    model,
    max_tokens: maxTokens,
    ...(system !== undefined && { system }),
    messages,
    ...(tools.length > 0 && { tools, ...choosing }),
    ...(thinking !== undefined && { thinking }),
    ...((effort || format) && { output_config: { effort, format } }),
    ...(sampled('temperature') && { temperature: body.temperature }),
    ...(sampled('top_p') && { top_p: body.top_p }),
    ...(sampled('top_k') && Number(body.top_k) > 0 && { top_k: body.top_k }),
    ...(ending.stop.length > 0 && { stop_sequences: ending.stop }),
    ...(typeof body.user === 'string' && { metadata: { user_id: body.user } }),
    ...(mark != null && { cache_control: mark }),
    stream: true,
  }
  const isNaming = conversation.messages.some(({ name, role }) => name != null && role !== 'tool')
  return {
    path: '/messages',
    body: writeJson(asked),
    isWhole: false,
    beginning: beginningOf(input, saltOf(request)),
    inputs: 1,
    choices: 1,
    ignored: [...thought.ignored, ...unfit, ...(isNaming ? ['messages.name'] : [])],
  }
}

/** The part of a request that decides how many tokens its prompt has. */
export function anthropicCountOf(input: Input, model: string): string {
  const conversation = conversationOf(input)
  const { tools } = conversation
  return writeJson({
    model,
    ...anthropicConversation(conversation.messages),
    ...(tools?.length && { tools: tools.map(toolOf) }),
  })
}

function conversationOf(input: Input | undefined): Conversation {
  if (input === undefined || !('conversation' in input))
    refuseUnsupported('prompt', 'a text to continue', 'a conversation')
  const { conversation } = input
  refuseForTemplates(conversation, kind)
  return conversation
}

/** Refuses what Anthropic has no field for. */
function checkFields(request: AnswerRequest): void {
  const { inputs, choices, sampling, logprobs, body = {} } = request
  refuseUnknown(request, kind, false)
  checkRunningUsage(body, kind)
  const [input] = inputs
  const isRefused: Readonly<Record<string, boolean>> = {
    n: choices > 1,
    seed: sampling.seed !== undefined,
    logit_bias: sampling.bias.length > 0,
    logprobs: logprobs !== undefined,
    add_generation_prompt:
      input !== undefined &&
      'conversation' in input &&
      !input.conversation.addGenerationPrompt &&
      !input.conversation.continueFinal,
  }
  for (const [field, isGiven] of Object.entries(isRefused)) {
    if (isGiven) refuseUnsupported(field, field === 'n' ? String(choices) : 'it', 'nothing: leave it out')
  }
}

function formatOf({ constraint }: AnswerRequest): object | undefined {
  if (constraint === undefined) return undefined
  const asked = constraint.constraint
  if (asked.kind === 'json') return { type: 'json_schema', schema: asked.schema }
  return refuseUnsupported(constraint.field, `a constraint of the kind ${asked.kind}`, 'a JSON Schema')
}

/** Parts of chat completions may have the mark, as those of Messages do. */
function markOf({ messages }: Conversation): unknown {
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const entry of content)
      if (typeof entry !== 'string' && entry.cache_control != null) return entry.cache_control
  }
  return undefined
}

/** Anthropic refuses more; that of the whole request counts, too. */
const maxMarks = 4

function checkMarks(blocks: readonly Block[]): void {
  const marks = marksIn(blocks)
  if (marks > maxMarks) refuseUnsupported('cache_control', `${marks} marks`, `at most ${maxMarks}`)
}

const marksIn = (blocks: readonly Block[]): number =>
  blocks.reduce(
    (sum, { cache_control, content }) =>
      sum + (cache_control == null ? 0 : 1) + (Array.isArray(content) ? marksIn(content) : 0),
    0,
  )

const noParameters = new JsonText('{"type":"object","properties":{}}')

const toolOf = ({ cache_control, function: { name, description, parameters, strict } }: GivenTool) => ({
  name,
  ...(description != null && { description }),
  input_schema: parameters ?? noParameters,
  ...(strict && { strict }),
  ...(cache_control != null && { cache_control }),
})

/** It has no allowed tools: it gets only these. */
function toolsOf(
  { tools }: Conversation,
  calls: CallsAsked | undefined,
): { tools?: Block[]; tool_choice?: Block } {
  if (!tools?.length) return {}
  if (calls === undefined) return { tools: tools.map(toolOf), tool_choice: { type: 'none' } }
  const { choice, isParallel } = calls
  const named = typeof choice === 'object'
  const type = named ? 'tool' : choice === 'required' ? 'any' : 'auto'
  const isUsual = type === 'auto' && isParallel
  return {
    tools: (named ? tools : calls.tools).map(toolOf),
    ...(!isUsual && {
      tool_choice: {
        type,
        ...(named && { name: choice.name }),
        ...(!isParallel && { disable_parallel_tool_use: true }),
      },
    }),
  }
}
