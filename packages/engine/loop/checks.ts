import { withNames } from '../../chat-format/index.ts'
import type { Ending, Generation } from '../backend.ts'
import { engineError } from '../errors.ts'
import type { NativeModel } from '../native/native.ts'
import type { Truncation } from '../pooling/request.ts'

interface CheckedPrompt {
  tokens: number[]
  /** Most tokens of the answer. */
  maxTokens: number
  /** The tokens that end a thought of limited length. */
  closing: number[] | undefined
  /** The tokens that the request predicts for the answer. */
  prediction: number[] | undefined
}

/** Checks what requires the vocabulary and the context. Throws a refusal. */
export function checkGeneration(
  generation: Generation,
  model: Pick<NativeModel, 'vocabulary' | 'tokenize'>,
  { context, parallel }: { context: number; parallel: number },
): CheckedPrompt {
  const { size } = model.vocabulary
  if (generation.beam !== undefined && generation.lane !== undefined) {
    throw new Error('a beam search cannot give up its sequences, so it cannot run in the background')
  }
  if (generation.beam !== undefined && generation.choices > parallel) {
    throw engineError('invalid_value', {
      field: 'n',
      received: `${generation.choices} with use_beam_search`,
      accepted: `1 to ${parallel}, because all beams run at once`,
    })
  }
  const { sampling, ending, prompt, text, thinking } = generation
  if (generation.beam !== undefined && ending.repetition !== undefined) {
    throw engineError('not_available', {
      field: 'repetition_detection',
      received: 'an object with use_beam_search',
      accepted: 'one of both',
    })
  }
  checkTokens(
    'logit_bias',
    Array.from(sampling.bias, ([token]) => token),
    size,
  )
  checkTokens('allowed_token_ids', sampling.allowed ?? [], size)
  checkTokens('stop_token_ids', ending.stopTokens, size)
  checkTokens('logprob_token_ids', generation.logprobTokens ?? [], size)
  if ('tokens' in prompt) checkTokens('prompt', prompt.tokens, size)
  const truncation = keptTokens(generation, context)
  const whole = 'tokens' in prompt ? prompt.tokens : model.tokenize(prompt.text, prompt, truncation)
  const tokens = truncation === undefined ? whole : truncated(whole, truncation)
  if (tokens.length === 0) throw engineError('prompt_empty', { field: 'prompt' })
  const room = context - tokens.length
  if (room < minTokensOf(ending)) throw tooLong(context, String(tokens.length), ending)
  if (ending.minTokens > room) throw tooFewLeft(ending.minTokens, room)
  const closing =
    thinking &&
    model.tokenize(withNames(thinking.close.trimEnd(), text.markers), { special: true, add: false })
  const prediction =
    generation.prediction === undefined
      ? undefined
      : model.tokenize(generation.prediction, { special: false, add: false })
  if (prediction && prediction.length > context) throw predictionTooLong(String(prediction.length), context)
  return { tokens, maxTokens: Math.min(ending.maxTokens ?? room, room), closing, prediction }
}

/** The native library ends the process when it is given a token that does not exist. */
export function checkTokens(field: string, tokens: readonly number[], size: number): void {
  const foreign = tokens.findIndex((token) => !Number.isInteger(token) || token < 0 || token >= size)
  if (foreign < 0) return
  throw engineError('invalid_value', {
    field,
    received: `the token id ${tokens[foreign]}`,
    accepted: `ids of this model's vocabulary, 0 to ${size - 1}`,
  })
}

/** How many of the prompt's tokens are kept; undefined when it is not truncated. */
function keptTokens({ truncate, ending }: Generation, context: number): Truncation | undefined {
  if (truncate === undefined) return undefined
  const { tokens, side } = truncate
  if (ending.minTokens >= context) throw tooFewLeft(ending.minTokens, context - 1)
  const room = context - (ending.maxTokens ?? Math.max(1, ending.minTokens))
  if (tokens > room) {
    throw engineError('invalid_value', {
      field: 'truncate_prompt_tokens',
      received: Number.isSafeInteger(tokens) ? String(tokens) : `more than ${Number.MAX_SAFE_INTEGER}`,
      accepted: `-1 to ${room}: this model's maximum context length is ${context} tokens, less the answer`,
    })
  }
  return { tokens: tokens < 0 ? Math.max(room, 0) : tokens, side }
}

function truncated(whole: number[], { tokens, side }: Truncation): number[] {
  return side === 'left' ? whole.slice(Math.max(0, whole.length - tokens)) : whole.slice(0, tokens)
}

function tooFewLeft(minTokens: number, room: number): Error {
  return engineError('invalid_value', {
    field: 'min_tokens',
    received: String(minTokens),
    accepted: `0 to ${room}: the context has no room for more after the prompt`,
  })
}

/** Fewest tokens that must be left for the answer. */
const minTokensOf = ({ maxTokens = 1, isClipped }: Ending) => (isClipped ? 1 : maxTokens)

function tooLong(context: number, prompt: string, ending: Ending): Error {
  const { maxTokens, isClipped } = ending
  const answer = maxTokens === undefined || isClipped ? 'at least 1' : maxTokens
  return engineError('context_length_exceeded', { limit: context, prompt, answer })
}

/**
 * Checked by the server before the engine gets the generation. Each token stands for a limited number of bytes, so a
 * text far beyond the context is refused without using the engine's time. Of a truncated prompt no more is read than is
 * kept.
 */
export function checkTextLength(
  { prompt, truncate, ending }: Generation,
  maxTokenSize: number,
  context: number,
): void {
  if (!('text' in prompt) || truncate !== undefined) return
  const fewest = Math.ceil(prompt.text.length / maxTokenSize)
  if (fewest > context) throw tooLong(context, `at least ${fewest}`, ending)
}

/** The same for the predicted answer. */
export function checkPredictionLength(
  { prediction = '' }: Generation,
  maxTokenSize: number,
  context: number,
): void {
  const fewest = Math.ceil(prediction.length / maxTokenSize)
  if (fewest > context) throw predictionTooLong(`at least ${fewest}`, context)
}

function predictionTooLong(tokens: string, context: number): Error {
  return engineError('invalid_value', {
    field: 'prediction.content',
    received: `${tokens} tokens`,
    accepted: `at most ${context}, the model's maximum context length`,
  })
}

/**
 * A tenant may have this many times as many requests in the queue as there are free slots. So one tenant alone fills at
 * most seven eighths of the queue, and others still get in. Nothing is reserved, and the number of tenants need not be
 * known (dynamic thresholds, as in switches with shared memory: Choudhury and Hahne, 1998).
 */
const share = 7

/** Checked by the server too: whether one more generation of this tenant fits alongside those that run or wait. */
export function checkQueueRoom(
  admitted: readonly { tenant: string | undefined }[],
  tenant: string | undefined,
  { parallel, queue }: { parallel: number; queue: number },
): void {
  const free = parallel + queue - admitted.length
  if (free <= 0) throw engineError('engine_queue_full', { limit: queue })
  if (tenant === undefined) return
  const own = admitted.filter((generation) => generation.tenant === tenant).length
  if (own >= parallel + share * free) throw engineError('engine_share_full', { own })
}

/** Background generations that may run or wait; a client with more of them waits until there is room. */
export const maxBackground = 64

export function checkBackgroundRoom(admitted: number): void {
  if (admitted >= maxBackground) throw engineError('engine_queue_full', { limit: maxBackground })
}
