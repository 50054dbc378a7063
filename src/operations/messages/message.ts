import type { Caller } from '../../domain/callers.ts'
import { messageId } from '../../domain/ids.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { CompileQuestion } from '../../inference/constraints/constraint.ts'
import { tokenCount } from '../../inference/registry.ts'
import { type Generation, type GenerationContext, generate } from '../generation/generation.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { requestOf } from '../generation/request.ts'
import type { CountTokensBody, MessagesBody } from './contract.ts'
import { conversationOf } from './conversation.ts'
import { budgetOf } from './thinking.ts'
import { callsOf, toolsOf } from './tools.ts'

/** The prompt tokens that a request with this conversation would have. */
export async function countTokens(
  { models }: GenerationParts,
  caller: Caller,
  body: CountTokensBody,
  signal: AbortSignal,
): Promise<{ input_tokens: number }> {
  refuseServices(body)
  const { model, served } = models.find(body.model, caller)
  const conversation = conversationOf(body, toolsOf(body).tools, served)
  const input = { conversation, addSpecial: false }
  return { input_tokens: await tokenCount(model, input, caller.name, signal) }
}

/** A message that is running or queued. */
export interface AskedMessage extends Generation {
  id: string
  maxTokens: number
  /** Leaves the text of thoughts out of the answer. */
  omitsThoughts: boolean
  /** The request asks for context editing. */
  managesContext: boolean
  /** Tools that the model is not shown. */
  skipped: readonly string[]
}

/** Checks everything that can be wrong before the first byte of an answer. */
export async function beginMessage(
  services: GenerationParts,
  body: MessagesBody,
  asking: GenerationContext,
): Promise<AskedMessage> {
  refuseServices(body)
  const constraint = constraintOf(body)
  const found = services.models.find(body.model, asking.caller)
  const tools = toolsOf(body)
  const thinkingBudget = budgetOf(body)
  const calls = callsOf(body, tools, services.settings)
  if (typeof calls?.choice === 'object' && constraint !== undefined) {
    throw wrong(constraint.field, 'a schema together with a named tool', 'only one of the two')
  }
  const asked = requestOf(
    {
      temperature: body.temperature,
      top_p: body.top_p,
      top_k: body.top_k,
      stop: body.stop_sequences,
    },
    {
      inputs: [{ conversation: conversationOf(body, tools.tools, found.served), addSpecial: false }],
      constraint,
      turn: { ...(calls && { calls }), ...(thinkingBudget && { thinkingBudget }) },
      tenant: asking.caller.name,
      maxTokens: body.max_tokens,
      logprobs: undefined,
      promptLogprobs: undefined,
    },
  )
  // Clips the limit to the context, as Anthropic does: programs ask for more tokens than small contexts have.
  const request = {
    ...asked,
    ending: { ...asked.ending, isClipped: true },
    body: { ...asked.body, thinking: body.thinking ?? null, cache_control: body.cache_control },
  }
  const fields = { prompt: 'messages', maxTokens: 'max_tokens' }
  const generation = await generate(services, found, request, asking, fields, { showsSeals: true })
  return {
    ...generation,
    id: messageId(asking.id),
    maxTokens: body.max_tokens,
    omitsThoughts: body.thinking?.display === 'omitted',
    managesContext: body.context_management != null,
    skipped: tools.skipped,
  }
}

/** Refuses what only Anthropic's servers can do. */
function refuseServices({ container, mcp_servers, thread }: Partial<MessagesBody>): void {
  // If the field were ignored, a continued thread would be answered without its earlier messages.
  if (thread != null) throw refuse('thread_unsupported_request', { field: 'thread', received: 'a thread' })
  if (container != null) throw wrong('container', 'a container', 'nothing: this server runs no code')
  if (mcp_servers != null && mcp_servers.text !== '[]') {
    throw wrong('mcp_servers', 'MCP servers', 'nothing, or an empty list: tools are called by clients')
  }
}

function constraintOf({ output_config, output_format }: MessagesBody): CompileQuestion | undefined {
  const format = output_config?.format ?? output_format
  if (format == null) return undefined
  const field = output_config?.format == null ? 'output_format.schema' : 'output_config.format.schema'
  return {
    constraint: { kind: 'json', schema: format.schema.exact as object },
    field,
    options: { whitespace: 'bounded' },
  }
}
