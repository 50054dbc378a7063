import { wholeText } from '../../../packages/chat-format/index.ts'
import type { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { answerOptions } from '../generation/answer-options.ts'
import type { ChatCompletion } from '../generation/chat-answer.ts'
import {
  checkMetadata,
  checkNamedTokens,
  checkPriority,
  checkSampling,
  checkStream,
} from '../generation/checks.ts'
import { constraintOf } from '../generation/constraint.ts'
import { checkConversation, checkPictures, conversationFrom } from '../generation/conversation.ts'
import { type GenerationContext, generate } from '../generation/generation.ts'
import { candidatesAsked, checkCandidates } from '../generation/logprobs.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { requestOf, turnOf } from '../generation/request.ts'
import type { ChatBody } from './contract.ts'
import { callFormOf, callsOf, checkCalls, toolsOf } from './tools.ts'

/** Checks everything that can be wrong, in the order of the checks, before the first byte of an answer. */
export async function beginChat(
  services: GenerationParts,
  body: ChatBody,
  asking: GenerationContext,
): Promise<ChatCompletion> {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? undefined
  checkTogether(body, maxTokens)
  const found = services.models.find(body.model, asking.caller)
  if (found.served.passesPictures) checkPictures(body.messages)
  const calls = callsOf(body, services.settings)
  checkPriority(body, services.settings)
  const conversation = conversationFrom({ ...body, tools: toolsOf(body) }, services.settings)
  const constraint = constraintOf(body)
  checkCalls(body, calls, constraint)
  const seeded = { ...body, seed: body.seed ?? body.random_seed }
  const request = requestOf(seeded, {
    inputs: [{ conversation, addSpecial: body.add_special_tokens ?? false }],
    constraint,
    turn: turnOf(calls, body),
    tenant: asking.caller.name,
    maxTokens,
    ...logprobsAsked(body),
    ...predictionOf(body),
  })
  const candidates = candidatesAsked(request, 'top_logprobs')
  if (!body.stream) {
    checkCandidates(candidates.field, request.choices * (maxTokens ?? 0) * candidates.ofToken)
  }
  const names = {
    prompt: 'messages',
    maxTokens: body.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens',
    ...(body.chat_template && { template: 'chat_template' }),
  }
  const hidesThoughts = body.include_reasoning === false
  const generation = await generate(services, found, request, asking, names, { hidesThoughts })
  return {
    ...generation,
    id: `chatcmpl-${asking.id}`,
    ...openingOf(body),
    logprobs: body.logprobs ?? false,
    candidatesField: candidates.field,
    callForm: callFormOf(body),
    isNamed: typeof calls?.choice === 'object',
    shown: answerOptions(body),
  }
}

function checkTogether(body: ChatBody, maxTokens: number | undefined): void {
  // That of a client is in the messages by now.
  if (body.prompt != null) throw wrong('prompt', 'a named prompt', 'null in what the server asks by itself')
  checkConversation(body)
  checkStream(body)
  checkMetadata(body.metadata)
  if (body.top_logprobs && !body.logprobs) {
    throw wrong('top_logprobs', 'given without `logprobs`', 'only with "logprobs": true')
  }
  checkNamedTokens(body, 'only with "logprobs": true')
  if (body.use_beam_search && body.prediction != null) {
    throw wrong('prediction', 'given with use_beam_search', 'only one of the two')
  }
  checkExtras('engine_xargs', body.engine_xargs)
  checkExtras('vllm_xargs', body.vllm_xargs)
  checkSampling(body, maxTokens)
}

function predictionOf({ prediction }: ChatBody): { prediction?: string } {
  if (prediction == null) return {}
  const { content } = prediction
  const text = typeof content === 'string' ? content : content.map((piece) => piece.text).join('')
  return text === '' ? {} : { prediction: text }
}

/** Streams have no field for log-probabilities of the prompt. With `echo` they are those of the echoed text. */
function logprobsAsked(body: ChatBody) {
  const { logprobs, top_logprobs, logprob_token_ids, prompt_logprobs, echo, stream } = body
  const ofPrompt = prompt_logprobs ?? (echo ? (top_logprobs ?? 0) : undefined)
  return {
    logprobs: logprobs ? (top_logprobs ?? 0) : undefined,
    logprobTokens: logprob_token_ids,
    promptLogprobs: stream ? undefined : ofPrompt,
  }
}

/** The last message is echoed when the answer continues it, and so has its role. */
function openingOf({ messages, add_generation_prompt, echo }: ChatBody): { role: string; echo: string } {
  const last = messages.at(-1) as ChatBody['messages'][number]
  const role = (add_generation_prompt ?? true) ? 'assistant' : last.role
  return { role, echo: echo && last.role === role ? wholeText(last, messages.length - 1) : '' }
}

const isExtra = (value: unknown) => typeof value === 'string' || typeof value === 'number'

function checkExtras(field: string, extras: JsonText | null | undefined): void {
  for (const [name, value] of Object.entries((extras?.value ?? {}) as object)) {
    if (!isExtra(value) && !(Array.isArray(value) && value.every(isExtra))) {
      throw wrong(`${field}.${name}`, 'another value', 'a string, a number, or a list of these')
    }
  }
}
