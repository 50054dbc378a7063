import { createHash } from 'node:crypto'
import type { Caller } from '../../domain/callers.ts'
import type { Backend, Generation, GenerationEvent, Run, ServedModel } from '../../inference/backend.ts'
import type { Compiling } from '../../inference/constraints/compiling.ts'
import type { Prompts } from '../../inference/prompt/prompts.ts'
import { version } from '../../version.ts'
import { candidatesOfToken, checkCandidates } from './candidates.ts'
import { constraintOf } from './constraint.ts'
import type { ChatBody } from './contract.ts'
import { generationOf } from './generation.ts'
import type { ChatMetrics } from './metrics.ts'
import { namingTheField } from './named-fields.ts'
import { type CompletionRecord, observed } from './observed.ts'
import { promptOf } from './prompt.ts'
import { type ChatSettings, refuseWhatIsNotThere } from './refused.ts'
import { servedModel } from './served-model.ts'
import { checkTogether } from './together.ts'

export interface Chat {
  backend: Backend | undefined
  prompts: Prompts
  compiling: Compiling
  settings: ChatSettings
  metrics: ChatMetrics
}

export interface ChatRequest {
  body: ChatBody
  caller: Caller
  /** Of the completion, without its prefix. */
  id: string
  /** Aborts when the client has left. */
  signal: AbortSignal
  /** Hears of the end of the completion. */
  note(record: CompletionRecord): void
}

/** A completion that has its place in the engine. */
export interface Completion {
  /** What the answer and each chunk of it say about themselves. */
  head: { id: string; created: number; model: string; system_fingerprint: string }
  role: string
  echo: string
  choices: number
  promptTokens: number[]
  /** In groups, as a Run has them. Read once, and to its end. */
  events: AsyncIterable<GenerationEvent[]>
  wants: {
    logprobs: boolean
    tokenIds: boolean
    tokensAsIds: boolean
    /** In a stream: at its end, and beside each chunk. */
    usage: boolean
    runningUsage: boolean
  }
}

/** Checks everything that can be wrong, in the order of the checks, before there is a first byte of an answer. */
export async function beginCompletion(chat: Chat, request: ChatRequest): Promise<Completion> {
  const { body, caller, id, signal } = request
  const arrived = performance.now()
  checkTogether(body)
  const { backend, model } = servedModel(chat.backend, body.model)
  refuseWhatIsNotThere(body, chat.settings)
  const asked = constraintOf(body)
  const constraint = asked && {
    grammar: await chat.compiling.compile(caller.name, asked, signal),
    field: asked.field,
  }
  const { text, role, echo } = await promptOf(chat.prompts, model, caller.name, body, signal)
  const prompt = { text, special: true, add: body.add_special_tokens ?? false }
  const generation = {
    ...generationOf(body, prompt, {
      maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
      ...logprobsAsked(body),
    }),
    ...(constraint && { constraint }),
    tenant: caller.name,
  }
  if (!body.stream) {
    const most = generation.choices * (generation.ending.maxTokens ?? 0)
    checkCandidates('top_logprobs', most * candidatesOfToken(generation.logprobs))
  }
  const run = await generate(backend, generation, body, signal)
  const name = model.names[0] as string
  return {
    head: {
      id: `chatcmpl-${id}`,
      created: Math.floor(Date.now() / 1000),
      model: name,
      system_fingerprint: fingerprintOf(model),
    },
    role,
    echo,
    choices: generation.choices,
    promptTokens: run.promptTokens,
    events: observed(run, { arrived, model: name, metrics: chat.metrics, signal, note: request.note }),
    wants: {
      logprobs: body.logprobs ?? false,
      tokenIds: body.return_token_ids ?? false,
      tokensAsIds: body.return_tokens_as_token_ids ?? false,
      usage: body.stream_options?.include_usage ?? false,
      runningUsage:
        (body.stream_options?.include_usage && body.stream_options.continuous_usage_stats) ?? false,
    },
  }
}

async function generate(
  backend: Backend,
  generation: Generation,
  { max_completion_tokens }: ChatBody,
  signal: AbortSignal,
): Promise<Run> {
  try {
    return await backend.generate(generation, signal)
  } catch (error) {
    const answer = max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens'
    throw namingTheField(error, { prompt: 'messages', answer })
  }
}

/** In a stream there is no place for those of the prompt. With `echo` the prompt's are those of the echoed text. */
function logprobsAsked({ logprobs, top_logprobs, prompt_logprobs, echo, stream }: ChatBody) {
  const ofPrompt = prompt_logprobs ?? (echo ? (top_logprobs ?? 0) : undefined)
  return {
    ...(logprobs && { logprobs: top_logprobs ?? 0 }),
    ...(!stream && ofPrompt !== undefined && { promptLogprobs: ofPrompt }),
  }
}

/** Changes when the same request may be answered in another way. */
export function fingerprintOf({ source, bytes, parameters, vocabulary }: ServedModel): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([source, bytes, parameters, vocabulary]))
    .digest('hex')
  return `heddle-${version}-${hash.slice(0, 8)}`
}
