import { whenAborted } from '../../../packages/waiting/index.ts'
import { described } from '../../domain/described.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { AnswerRequest, Input, Model } from '../../inference/model.ts'
import { type AnswerOptions, answerOptions } from '../generation/answer-options.ts'
import {
  checkMetadata,
  checkNamedTokens,
  checkPriority,
  checkSampling,
  checkStream,
  tokenIdsIn,
} from '../generation/checks.ts'
import { constraintOf } from '../generation/constraint.ts'
import type { Delta } from '../generation/deltas.ts'
import { type Generation, type GenerationContext, generate } from '../generation/generation.ts'
import { candidatesAsked, candidatesOfToken, checkCandidates } from '../generation/logprobs.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { requestOf } from '../generation/request.ts'
import { acceptedPrompts, type CompletionBody, defaultMaxTokens } from './contract.ts'

/** Each prompt is queued on its own, with all its answers. */
const maxPrompts = 128
const maxTokens = 262_144

/** The prompts of a request, in the four forms that clients send. */
function promptsOf({ prompt: { value }, add_special_tokens, suffix }: CompletionBody): Input[] {
  const textInput = (text: string): Input => ({
    text,
    addSpecial: add_special_tokens ?? true,
    ...(suffix && { suffix: { text: suffix, isCut: false } }),
  })
  if (typeof value === 'string') return [textInput(value)]
  if (!Array.isArray(value)) throw wrong('prompt', described(value), acceptedPrompts)
  if (value.length === 0) throw wrong('prompt', 'an empty list', acceptedPrompts)
  if (suffix && value.some((prompt) => typeof prompt !== 'string')) {
    throw wrong('suffix', 'a text with a prompt of token ids', 'null, or prompts that are texts')
  }
  if (typeof value[0] === 'number') return [{ tokens: tokenIdsIn(value, 'prompt', maxTokens) }]
  if (value.length > maxPrompts) throw wrong('prompt', `${value.length} prompts`, `at most ${maxPrompts}`)
  return value.map((prompt: unknown, index) => {
    const path = `prompt.${index}`
    if (typeof prompt === 'string') return textInput(prompt)
    if (Array.isArray(prompt)) return { tokens: tokenIdsIn(prompt, path, maxTokens) }
    throw wrong(path, described(prompt), 'a string or a list of token ids')
  })
}

/** A completion whose prompts are all running or queued. */
export interface Completion extends Generation {
  id: string
  head: Generation['head'] & { id: string; object: 'text_completion' }
  /** What the answers to each prompt begin with. */
  openings: Opening[]
  /** Number of candidates for each token; undefined without log-probabilities. */
  logprobs: number | undefined
  /** The field that says which candidates each token has. */
  candidatesField: string
  /** The log-probabilities of the prompt precede those of the answer, because the prompt is echoed. */
  echoLogprobs: boolean
  shown: AnswerOptions & { promptLogprobs: boolean }
}

interface Opening {
  /** Empty unless the request asked for the prompt to be echoed. */
  echo: string
  /** The text of the prompt's first token, for log-probabilities of an echo. */
  firstToken: string
}

/** Checks everything that can be wrong before the first byte of an answer. */
export async function beginCompletion(
  services: GenerationParts,
  body: CompletionBody,
  asking: GenerationContext,
): Promise<Completion> {
  // Null means as many as fit.
  const maxTokens = body.max_tokens === undefined ? defaultMaxTokens : (body.max_tokens ?? undefined)
  const inputs = promptsOf(body)
  checkTogether(body, maxTokens)
  const found = services.models.find(body.model, asking.caller)
  refuseUnavailable(body)
  checkPriority(body, services.settings)
  const { stream, echo } = body
  const logprobs = body.logprobs ?? undefined
  const echoLogprobs = logprobs !== undefined && (echo ?? false)
  const promptLogprobs = body.prompt_logprobs != null && !stream
  const onlyPrompt = maxTokens === 0
  const request = requestOf(body, {
    inputs,
    constraint: constraintOf(body),
    tenant: asking.caller.name,
    maxTokens: onlyPrompt ? 1 : maxTokens,
    logprobs,
    logprobTokens: body.logprob_token_ids,
    promptLogprobs:
      echoLogprobs || promptLogprobs
        ? Math.max(echoLogprobs ? logprobs : 0, promptLogprobs ? (body.prompt_logprobs ?? 0) : 0)
        : undefined,
  })
  const ofAnswer = candidatesAsked(request, 'logprobs')
  let candidates = stream ? 0 : inputs.length * request.choices * (maxTokens ?? 0) * ofAnswer.ofToken
  checkCandidates(ofAnswer.field, candidates)

  const ending = new AbortController()
  // `AbortSignal.any` refers to it weakly, which V8 counts as a use until a major collection.
  asking.signal.throwIfAborted()
  const stay = whenAborted(asking.signal, () => ending.abort(asking.signal.reason))
  const { signal } = ending
  try {
    const names = { prompt: 'prompt', maxTokens: 'max_tokens' }
    const generation = await generate(services, found, request, { ...asking, signal }, names)
    if (!stream) {
      // The log-probabilities of a prompt are repeated in each of its answers.
      const ofToken = (echo ? candidatesOfToken(logprobs) : 0) + candidatesOfToken(body.prompt_logprobs)
      for (const { length } of generation.prompts) candidates += request.choices * length * ofToken
      checkCandidates('prompt', candidates)
    }
    const id = `cmpl-${asking.id}`
    return {
      ...generation,
      id,
      head: { id, object: 'text_completion', ...generation.head },
      openings: echo
        ? await openingsOf(found.model, body, request, generation.prompts, signal)
        : inputs.map(() => ({ echo: '', firstToken: '' })),
      logprobs,
      candidatesField: ofAnswer.field,
      echoLogprobs,
      shown: { ...answerOptions(body), promptLogprobs },
      deltas: onlyPrompt ? withoutAnswers(generation.deltas) : generation.deltas,
    }
  } catch (error) {
    stay()
    ending.abort(error)
    throw error
  }
}

/** Checks of fields that are valid on their own, but not with each other. */
function checkTogether(body: CompletionBody, maxTokens: number | undefined): void {
  checkStream(body)
  checkMetadata(body.metadata)
  if (maxTokens === 0 && !body.echo) {
    throw wrong('max_tokens', '0, which leaves no answer', 'at least 1, or 0 with "echo": true')
  }
  checkNamedTokens(body, 'only with `logprobs`')
  checkSampling(body, maxTokens)
}

/** Refuses these fields by name rather than ignoring them. */
function refuseUnavailable({ best_of, n }: CompletionBody): void {
  const refused = (field: string, value: string, accepted: string) =>
    refuse('not_available', { field, received: value, accepted })
  if (best_of != null && best_of !== (n ?? 1)) {
    throw refused('best_of', String(best_of), `${n ?? 1}, the value of \`n\``)
  }
}

/** The prompts as they were sent; detokenized if they were sent as tokens or truncated. */
async function openingsOf(
  model: Model,
  { truncate_prompt_tokens, skip_special_tokens }: CompletionBody,
  { inputs, tenant }: Pick<AnswerRequest, 'inputs' | 'tenant'>,
  prompts: Generation['prompts'],
  signal: AbortSignal,
): Promise<Opening[]> {
  const openings: Opening[] = []
  const special = !(skip_special_tokens ?? true)
  for (const [index, tokens] of prompts.entries()) {
    const input = inputs[index]
    const whole = truncate_prompt_tokens == null && input && 'text' in input ? input.text : undefined
    openings.push({
      echo: whole ?? (await model.detokenize(tokens, { special, tenant }, signal)),
      firstToken: await model.detokenize(tokens.slice(0, 1), { special: true, tenant }, signal),
    })
  }
  return openings
}

/** The engine has to draw one token after a prompt. If only the prompt was asked for, that token is not shown. */
export async function* withoutAnswers(deltas: AsyncIterable<Delta[]>): AsyncGenerator<Delta[]> {
  for await (const group of deltas) {
    yield group.map((delta) => {
      if (delta.kind === 'prompt') return delta
      const shown = { ...delta, turnParts: [], tokens: [], logprobs: [] }
      return delta.finished ? { ...shown, finished: { reason: 'length', stop: null } } : shown
    })
  }
}
