import type { Caller } from '../../domain/callers.ts'
import type { Backend, Generation, GenerationEvent, Run } from '../../inference/backend.ts'
import type { Compiling } from '../../inference/constraints/compiling.ts'
import { candidatesOfToken, checkCandidates } from '../chat/candidates.ts'
import { fingerprintOf } from '../chat/completion.ts'
import { constraintOf } from '../chat/constraint.ts'
import { generationOf } from '../chat/generation.ts'
import type { ChatMetrics } from '../chat/metrics.ts'
import { namingTheField } from '../chat/named-fields.ts'
import { type CompletionRecord, observed } from '../chat/observed.ts'
import type { ChatSettings } from '../chat/refused.ts'
import { servedModel } from '../chat/served-model.ts'
import { checkTogether, maxTokensOf, refuseWhatIsNotThere } from './checks.ts'
import type { CompletionBody } from './contract.ts'
import { type Prompt, promptsOf } from './prompts.ts'

export interface Completions {
  backend: Backend | undefined
  compiling: Compiling
  settings: ChatSettings
  metrics: ChatMetrics
}

export interface CompletionRequest {
  body: CompletionBody
  caller: Caller
  /** Of the completion, without its prefix. */
  id: string
  /** Aborts when the client has left. */
  signal: AbortSignal
  /** Hears of the end of each prompt's answers. */
  note(record: CompletionRecord): void
}

/** What became of one prompt. */
export interface PromptRun {
  promptTokens: number[]
  /** What its answers begin with; empty unless the request asked to have the prompt back. */
  echo: string
  /** The text of the prompt's first token, for logprobs of an echo. */
  firstToken: string
  events: AsyncIterable<GenerationEvent[]>
}

/** A completion whose prompts all have their place in the engine. */
export interface Completion {
  head: { id: string; object: 'text_completion'; created: number; model: string; system_fingerprint: string }
  prompts: PromptRun[]
  /** Answers to each prompt. */
  choices: number
  wants: {
    logprobs: number | undefined
    /** In front of the answer's own, because the prompt is. */
    echoLogprobs: boolean
    promptLogprobs: boolean
    tokenIds: boolean
    tokensAsIds: boolean
    /** The one token that had to be drawn is kept back. */
    onlyPrompt: boolean
    usage: boolean
    runningUsage: boolean
  }
  /** Ends what still runs. */
  giveUp(): void
}

/** Checks everything that can be wrong before there is a first byte of an answer. */
export async function beginCompletion(
  { backend: given, compiling, settings, metrics }: Completions,
  { body, caller, id, signal: departure, note }: CompletionRequest,
): Promise<Completion> {
  const arrived = performance.now()
  const prompts = promptsOf(body.prompt)
  checkTogether(body)
  const { backend, model } = servedModel(given, body.model)
  refuseWhatIsNotThere(body, settings)
  const asked = constraintOf(body)
  const constraint = asked && {
    grammar: await compiling.compile(caller.name, asked, departure),
    field: asked.field,
  }
  const wants = wantsOf(body)
  const giving = new AbortController()
  const signal = AbortSignal.any([departure, giving.signal])
  const name = model.names[0] as string
  const watch = { arrived, model: name, metrics, signal, note }
  let candidates = candidatesOfAnswers(body, prompts.length)
  checkCandidates('logprobs', candidates)
  try {
    const runs: PromptRun[] = []
    // One after the other: they are to stand in the queue in their order.
    for (const prompt of prompts) {
      const generation = {
        ...generationFor(body, prompt, wants),
        ...(constraint && { constraint }),
        tenant: caller.name,
      }
      const run = await backend.generate(generation, signal)
      const { promptTokens } = run
      candidates += candidatesOfPrompt(body, promptTokens.length)
      checkCandidates('prompt', candidates)
      const echoed = body.echo
        ? await echoOf(backend, body, prompt, run, signal)
        : { echo: '', firstToken: '' }
      runs.push({ promptTokens, ...echoed, events: observed(run, watch) })
    }
    return {
      head: {
        id: `cmpl-${id}`,
        object: 'text_completion',
        created: Math.floor(Date.now() / 1000),
        model: name,
        system_fingerprint: fingerprintOf(model),
      },
      prompts: runs,
      choices: body.n ?? 1,
      wants,
      giveUp: () => giving.abort(new Error('the completion is over')),
    }
  } catch (error) {
    giving.abort(error)
    throw namingTheField(error, { prompt: 'prompt', answer: 'max_tokens' })
  }
}

/** A stream gives them away as they come. */
function candidatesOfAnswers(body: CompletionBody, prompts: number): number {
  if (body.stream) return 0
  return prompts * (body.n ?? 1) * (maxTokensOf(body) ?? 0) * candidatesOfToken(body.logprobs)
}

/** What was said of a prompt stands in each of its answers. */
function candidatesOfPrompt({ stream, echo, logprobs, prompt_logprobs, n }: CompletionBody, tokens: number) {
  if (stream) return 0
  const echoed = echo ? candidatesOfToken(logprobs) : 0
  return (n ?? 1) * tokens * (echoed + candidatesOfToken(prompt_logprobs))
}

function wantsOf(body: CompletionBody): Completion['wants'] {
  const { logprobs, echo, prompt_logprobs, stream_options: options } = body
  return {
    logprobs: logprobs ?? undefined,
    echoLogprobs: logprobs != null && (echo ?? false),
    promptLogprobs: prompt_logprobs != null && !body.stream,
    tokenIds: body.return_token_ids ?? false,
    tokensAsIds: body.return_tokens_as_token_ids ?? false,
    onlyPrompt: maxTokensOf(body) === 0,
    usage: options?.include_usage ?? false,
    runningUsage: (options?.include_usage && options.continuous_usage_stats) ?? false,
  }
}

function generationFor(body: CompletionBody, prompt: Prompt, wants: Completion['wants']): Generation {
  const { logprobs, echoLogprobs, promptLogprobs, onlyPrompt } = wants
  const ofPrompt = Math.max(
    echoLogprobs ? (logprobs ?? 0) : 0,
    promptLogprobs ? (body.prompt_logprobs ?? 0) : 0,
  )
  return generationOf(
    body,
    'text' in prompt ? { text: prompt.text, special: true, add: body.add_special_tokens ?? true } : prompt,
    {
      maxTokens: onlyPrompt ? 1 : maxTokensOf(body),
      ...(logprobs !== undefined && { logprobs }),
      ...((echoLogprobs || promptLogprobs) && { promptLogprobs: ofPrompt }),
    },
  )
}

/** The prompt as it was sent, unless it was sent as tokens, or only its end was read. */
async function echoOf(
  backend: Backend,
  body: CompletionBody,
  prompt: Prompt,
  { promptTokens }: Run,
  signal: AbortSignal,
): Promise<Pick<PromptRun, 'echo' | 'firstToken'>> {
  const isWhole = 'text' in prompt && body.truncate_prompt_tokens == null
  const special = !(body.skip_special_tokens ?? true)
  return {
    echo: isWhole ? prompt.text : await backend.detokenize(promptTokens, { special }, signal),
    firstToken: await backend.detokenize(promptTokens.slice(0, 1), { special: true }, signal),
  }
}
