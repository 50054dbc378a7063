import type { JsonText } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { wholeText } from '../../inference/prompt/conversation.ts'
import { checkPriority, checkSampling, checkStream, wrong } from '../generation/checks.ts'
import { constraintOf } from '../generation/constraint.ts'
import { checkConversation, conversationFrom } from '../generation/conversation.ts'
import { type Asking, type Generation, generate } from '../generation/generation.ts'
import { candidatesOfToken, checkCandidates } from '../generation/logprobs.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { requestOf } from '../generation/request.ts'
import { type Shown, shownOf } from '../generation/shown.ts'
import type { ChatBody } from './contract.ts'

/** A chat completion that runs or is queued. */
export interface ChatCompletion extends Generation {
  id: string
  /** Who speaks in the answer. */
  role: string
  /** What the answer begins with, because the request asked to have it back. */
  echo: string
  logprobs: boolean
  shown: Shown
}

/** Checks everything that can be wrong, in the order of the checks, before there is a first byte of an answer. */
export async function beginChat(
  parts: GenerationParts,
  body: ChatBody,
  asking: Asking,
): Promise<ChatCompletion> {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? undefined
  checkTogether(body, maxTokens)
  const found = parts.models.find(body.model)
  refuseToolChoice(body)
  checkPriority(body, parts.settings)
  const conversation = conversationFrom(body, parts.settings)
  const request = requestOf(body, {
    inputs: [{ conversation, addSpecial: body.add_special_tokens ?? false }],
    constraint: constraintOf(body),
    tenant: asking.caller.name,
    maxTokens,
    ...logprobsAsked(body),
  })
  if (!body.stream) {
    checkCandidates('top_logprobs', request.choices * (maxTokens ?? 0) * candidatesOfToken(request.logprobs))
  }
  const generation = await generate(parts, found, request, asking, {
    prompt: 'messages',
    maxTokens: body.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens',
  })
  return {
    ...generation,
    id: `chatcmpl-${asking.id}`,
    ...openingOf(body),
    logprobs: body.logprobs ?? false,
    shown: shownOf(body),
  }
}

function checkTogether(body: ChatBody, maxTokens: number | undefined): void {
  checkConversation(body)
  checkStream(body)
  if (body.top_logprobs && !body.logprobs) {
    throw wrong('top_logprobs', 'given without `logprobs`', 'with "logprobs": true only')
  }
  checkExtras('engine_xargs', body.engine_xargs)
  checkExtras('vllm_xargs', body.vllm_xargs)
  checkSampling(body, maxTokens)
}

/** Streams have no field for those of the prompt. With `echo` the prompt's are those of the echoed text. */
function logprobsAsked({ logprobs, top_logprobs, prompt_logprobs, echo, stream }: ChatBody) {
  const ofPrompt = prompt_logprobs ?? (echo ? (top_logprobs ?? 0) : undefined)
  return {
    logprobs: logprobs ? (top_logprobs ?? 0) : undefined,
    promptLogprobs: stream ? undefined : ofPrompt,
  }
}

/** The last message comes back when the answer speaks with its role. */
function openingOf({ messages, add_generation_prompt, echo }: ChatBody): { role: string; echo: string } {
  const last = messages.at(-1) as ChatBody['messages'][number]
  const role = (add_generation_prompt ?? true) ? 'assistant' : last.role
  return { role, echo: echo && last.role === role ? wholeText(last, messages.length - 1) : '' }
}

/** Refused by name rather than ignored, because this version has no tool calls. */
function refuseToolChoice({ tool_choice }: ChatBody): void {
  if (tool_choice == null || tool_choice === 'none') return
  const given = typeof tool_choice === 'string' ? JSON.stringify(tool_choice) : 'a function'
  throw refuse('not_available', { field: 'tool_choice', given, accepted: '"none"' })
}

const isExtra = (value: unknown) => typeof value === 'string' || typeof value === 'number'

function checkExtras(field: string, extras: JsonText | null | undefined): void {
  for (const [name, value] of Object.entries((extras?.value ?? {}) as object)) {
    if (!isExtra(value) && !(Array.isArray(value) && value.every(isExtra))) {
      throw wrong(`${field}.${name}`, 'another value', 'a text, a number, or a list of these')
    }
  }
}
