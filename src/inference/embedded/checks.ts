import { refuse } from '../../domain/refusals.ts'
import type { Generation } from '../backend.ts'
import type { NativeModel } from './native.ts'

export interface CheckedPrompt {
  tokens: number[]
  /** How many tokens the answer may have. */
  maxTokens: number
}

/** What can be known only with the vocabulary and the context at hand. Throws a refusal. */
export function checkGeneration(
  generation: Generation,
  model: Pick<NativeModel, 'vocabulary' | 'longestToken' | 'tokenize'>,
  { context, parallel }: { context: number; parallel: number },
): CheckedPrompt {
  const { size } = model.vocabulary
  if (generation.beam !== undefined && generation.choices > parallel) {
    throw refuse('invalid_value', {
      field: 'n',
      given: `${generation.choices} with use_beam_search`,
      accepted: `1 to ${parallel}, because all beams go on at once`,
    })
  }
  const { sampling, ending, prompt } = generation
  if (generation.beam !== undefined && ending.repetition !== undefined) {
    throw refuse('not_available', {
      field: 'repetition_detection',
      given: 'an object with use_beam_search',
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
  if ('tokens' in prompt) checkTokens('prompt', prompt.tokens, size)
  checkLength(generation, model.longestToken, context)
  const whole = 'tokens' in prompt ? prompt.tokens : model.tokenize(prompt.text, prompt)
  const tokens = truncated(whole, generation, context)
  if (tokens.length === 0) throw refuse('prompt_empty', { field: 'prompt' })
  const answer = ending.maxTokens ?? 1
  if (tokens.length + answer > context) throw tooLong(context, String(tokens.length), generation)
  return { tokens, maxTokens: ending.maxTokens ?? context - tokens.length }
}

/** The native library ends the process when it meets a token that does not exist. */
export function checkTokens(field: string, tokens: readonly number[], size: number): void {
  const foreign = tokens.findIndex((token) => !Number.isInteger(token) || token < 0 || token >= size)
  if (foreign < 0) return
  throw refuse('invalid_value', {
    field,
    given: `the token id ${tokens[foreign]}`,
    accepted: `ids of this model's vocabulary, 0 to ${size - 1}`,
  })
}

/**
 * Each token stands for a limited number of bytes: a text far beyond the context is not worth the time that reading it
 * takes, even to be truncated.
 */
export function checkLength(generation: Generation, longestToken: number, context: number): void {
  if (!('text' in generation.prompt)) return
  const fewest = Math.ceil(generation.prompt.text.length / longestToken)
  if (fewest > context) throw tooLong(context, `at least ${fewest}`, generation)
}

function truncated(tokens: number[], { truncate, ending }: Generation, context: number): number[] {
  if (truncate === undefined) return tokens
  const room = context - (ending.maxTokens ?? 1)
  if (truncate > room) {
    throw refuse('invalid_value', {
      field: 'truncate_prompt_tokens',
      given: String(truncate),
      accepted: `-1 to ${room}: this model's maximum context length is ${context} tokens, less the answer`,
    })
  }
  const kept = truncate < 0 ? Math.max(room, 0) : truncate
  return kept >= tokens.length ? tokens : tokens.slice(tokens.length - kept)
}

function tooLong(context: number, prompt: string, { ending }: Generation): Error {
  return refuse('context_length_exceeded', {
    limit: context,
    prompt,
    answer: ending.maxTokens === undefined ? 'at least 1' : ending.maxTokens,
  })
}
