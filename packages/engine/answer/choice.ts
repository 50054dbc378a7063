import {
  type Allowance,
  type Constraint,
  markersOf,
  type Spacing,
  type TokenRule,
  type Vocabulary,
} from '../../constraints/index.ts'
import type { Generation, GenerationEvent, TokenLogprob } from '../backend.ts'
import { engineError } from '../errors.ts'
import { createAdjustments, planAdjustments } from '../sampling/adjustments.ts'
import { allowedTokens } from '../sampling/allowed-tokens.ts'
import { type BadWords, createBadWords } from '../sampling/bad-words.ts'
import { createConstrainedSampler, type PositionSampler } from '../sampling/constrained-sampler.ts'
import { onlyAllowed, type ReadLogits } from '../sampling/logits.ts'
import { drawnLogprobs } from '../sampling/logprobs.ts'
import { randomOf } from '../sampling/random.ts'
import { createSampler } from '../sampling/sampler.ts'
import { type AnswerText, createAnswerText } from './answer-text.ts'
import { bannedEnds, createEndCheck, type End, endTokens } from './ending.ts'
import { createStopStrings } from './stop-strings.ts'
import { createThinking } from './thinking.ts'

export type AnswerPlan = ReturnType<typeof planAnswer>

interface AnswerParts {
  generation: Generation
  /** As the model sees it, after truncation. */
  prompt: readonly number[]
  /** The most tokens of the answer: as requested, or what the context leaves. At least 1. */
  maxTokens: number
  vocabulary: Vocabulary
  /** The generation's grammar, compiled for this vocabulary. */
  constraint?: Constraint | undefined
  /** The tokens that end a thought of limited length. */
  closing?: readonly number[] | undefined
}

export type Choice = ReturnType<typeof createChoice>

export interface DrawnToken {
  token: number
  /** It ends a thought that has used its budget, and was not drawn. */
  isForced?: boolean
  /** Present if the request asks for logprobs. */
  logprob?: TokenLogprob
}

export interface AcceptedToken {
  tokens: Extract<GenerationEvent, { kind: 'tokens' }>
  finished?: Extract<GenerationEvent, { kind: 'finished' }>
}

/**
 * What all choices of a request share: computed once, before the first token. Every token named in the request must be
 * in the vocabulary.
 */
export function planAnswer(options: AnswerParts) {
  const { generation, prompt, maxTokens, vocabulary, constraint, closing = [] } = options
  const { sampling, ending, text, thinking } = generation
  const { skipSpecial, spaceSpecial } = text
  const allowed = sampling.allowed && new Set(sampling.allowed)
  const ends = endTokens(ending, vocabulary)
  const badWords = createBadWords(sampling.badWords, vocabulary, {
    skipSpecial,
    spaceSpecial,
    isSilent: (token) => !ending.includeStop && ends.has(token),
  })
  return {
    generation,
    vocabulary,
    maxTokens,
    promptLength: prompt.length,
    /** In ascending order. */
    allowed: allowed && Uint32Array.from(allowed).sort(),
    badWords,
    adjustments: planAdjustments({
      sampling,
      minTokens: ending.minTokens,
      bannedEnds: bannedEnds(ending, vocabulary),
      prompt,
    }),
    ends,
    text: {
      skipSpecial,
      spaceSpecial,
      includeStop: ending.includeStop,
      stops: createStopStrings(ending.stop),
      markers: markersOf(vocabulary, text.markers),
    },
    // What can only end in a banned text is never begun.
    constraint: badWords ? constraint?.avoiding(badWords) : constraint,
    /**
     * Tokens that a constraint leaves as the only possibility are not drawn, as long as no other setting forbids tokens
     * or applies to single ones.
     */
    isSure:
      allowed === undefined &&
      sampling.badWords.length === 0 &&
      sampling.bias.length === 0 &&
      ending.minTokens === 0,
    thinking: thinking && { ...thinking, closing },
  }
}

/**
 * Checks that the answer can begin at all. Throws a refusal otherwise, before anything is read or sent. A possible
 * token is mostly found at once.
 */
export function checkFirstToken({ generation, vocabulary, allowed, badWords, constraint }: AnswerPlan): void {
  const early = new Set(generation.ending.minTokens > 0 ? bannedEnds(generation.ending, vocabulary) : [])
  const rule = ruleOf(constraint?.begin(), badWords, () => 0)
  const isPossible = (token: number) => !early.has(token) && (rule?.allows(token) ?? true)
  if (rule === undefined && allowed === undefined) return
  const few = allowed ?? rule?.few()
  // A constraint that allows more than a few tokens allows some that do not end the answer.
  if (few === undefined && badWords === undefined) return
  const candidates = few ?? Array.from({ length: vocabulary.size }, (_, token) => token)
  if (!candidates.some(isPossible)) throw noTokenPossible(generation, 0)
}

/** What the constraint and the banned texts allow together; undefined if there are neither. */
function ruleOf(
  allowance: Allowance | undefined,
  badWords: BadWords | undefined,
  state: () => number,
): TokenRule | undefined {
  return badWords === undefined ? allowance : badWords.rule(state, allowance)
}

export function createChoice(plan: AnswerPlan, index: number) {
  const { generation, vocabulary, allowed, badWords } = plan
  const { sampling, ending, logprobs, logprobTokens: named } = generation
  const adjustments = plan.adjustments && createAdjustments(plan.adjustments)
  const free = createSampler(sampling, adjustments, randomOf(sampling.seed, index))
  const allowance = plan.constraint?.begin()
  const isPlain = allowed === undefined && adjustments === undefined
  const thinking = plan.thinking && createThinking(plan.thinking, vocabulary, plan.text)
  let node = 0
  const rule = ruleOf(allowance, badWords, () => node)
  const sample: PositionSampler = rule
    ? createConstrainedSampler({ sampling, sample: free, rule, listed: allowed, isPlain })
    : async (read, answer) => free(await read(), answer, allowed)
  const endOf = createEndCheck(ending, plan.ends, plan.maxTokens)
  const text = createAnswerText(vocabulary, plan.text)
  const tokens: number[] = []

  function sure(): readonly number[] {
    return plan.isSure && thinking?.isOver !== false ? (allowance?.sure() ?? none) : none
  }

  return {
    tokens,
    /** The tokens that come next whatever the model says, and so need no logits; often none. */
    sure,
    /** The only text that the constraint allows but for white space; often empty. */
    ahead(space: Spacing): string {
      const last = tokens.at(-1)
      return allowance?.ahead(space, last === undefined ? last : vocabulary.bytes(last).at(-1)) ?? ''
    },
    /** Draws the next token of the answer. Rejects with a refusal when no token is possible. */
    async next(read: ReadLogits): Promise<DrawnToken> {
      const forced = thinking?.forced((token) => allowance?.allows(token) ?? true)
      const token = forced ?? sure()[0] ?? (await sample(read, tokens))
      if (token === undefined) throw noTokenPossible(generation, tokens.length)
      const drawn: DrawnToken = forced === undefined ? { token } : { token, isForced: true }
      if (logprobs === undefined) return drawn
      const logits = await read()
      const shown = allowance ? onlyAllowed(logits, allowedTokens(allowance)) : logits
      const logprob = drawnLogprobs(shown, { count: logprobs, named }, vocabulary)(token)
      return { ...drawn, logprob }
    },
    /** Adds a drawn token to the answer. This choice must not be used any more after `finished`. */
    accept({ token, logprob, isForced = false }: DrawnToken): AcceptedToken {
      tokens.push(token)
      node = badWords?.after(node, token) ?? 0
      adjustments?.accept(token)
      thinking?.accept(token, isForced)
      // A token that ends answers may also be a mark. While the grammar is incomplete it is a mark, and part of the
      // answer, which it still ends if the grammar is complete now.
      const isMark = plan.text.markers.has(token)
      const isNeeded = isMark && allowance?.isComplete === false
      const isRead = allowance?.accept(token) ?? true
      const ended = endOf(tokens, isForced || (isNeeded && !allowance.isComplete))
      // Nothing can follow, whatever min_tokens and ignore_eos say, and the last token is part of the answer.
      const isOver = ended?.reason !== 'stop' && (allowance?.isOver ?? false)
      const end = isOver ? over : ended
      const searched = tokens.length > ending.minTokens
      const isShown = end?.reason !== 'stop' || isOver || isNeeded || ending.includeStop
      const written = writeToken(text, token, end, searched, isShown && (isRead || !isMark))
      return {
        tokens: {
          kind: 'tokens',
          choice: index,
          text: written.text,
          tokens: [token],
          ...(logprob && { logprobs: [logprob] }),
        },
        ...(written.end && { finished: { kind: 'finished', choice: index, ...written.end } }),
      }
    },
  }
}

/**
 * The text of a token: empty for one that ends the answer, unless requested. A stop string in the text of the last
 * token is reported as what ended the answer, even if something else would have.
 */
export function writeToken(
  text: AnswerText,
  token: number,
  end: End | undefined,
  searched: boolean,
  isShown: boolean,
): { text: string; end: End | undefined } {
  const piece = isShown ? text.push(token, searched) : { text: '' }
  if (piece.stop !== undefined) return { text: piece.text, end: { reason: 'stop', stop: piece.stop } }
  if (end === undefined) return { text: piece.text, end }
  const last = text.end(searched)
  return {
    text: piece.text + last.text,
    end: last.stop === undefined ? end : { reason: 'stop', stop: last.stop },
  }
}

const none: readonly number[] = []
const over: End = { reason: 'stop', stop: null }

export function noTokenPossible({ sampling, ending, constraint }: Generation, tokens: number): Error {
  const fields = [
    constraint?.field,
    sampling.allowed && 'allowed_token_ids',
    sampling.badWords.length > 0 && 'bad_words',
    tokens < ending.minTokens && 'min_tokens',
  ].filter((field) => typeof field === 'string')
  // Without any of them, the model returned no number to draw by.
  if (fields.length === 0) return new Error('The logits of the model are not numbers.')
  return engineError('no_token_possible', { field: fields[0] ?? '', fields: fields.join(', '), tokens })
}
