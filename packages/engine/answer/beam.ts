import type { GenerationEvent, TokenLogprob } from '../backend.ts'
import { engineError } from '../errors.ts'
import { likeliest, onlyAllowed } from '../sampling/logits.ts'
import { drawnLogprobs } from '../sampling/logprobs.ts'
import { divisorOf } from '../sampling/sampler.ts'
import { logSum } from '../sampling/weights.ts'
import { createAnswerText } from './answer-text.ts'
import { type AnswerPlan, noTokenPossible, writeToken } from './choice.ts'
import { bannedEnds, type End } from './ending.ts'
import { createStopStrings } from './stop-strings.ts'

/** The token is appended to the text of slot `from`. All copies come first: no slot is both source and target of copies. */
interface Move {
  slot: number
  from: number
  token: number
}

export interface Continuations {
  tokens: Uint32Array
  logprobs: Float64Array
  /** The logprobs of each token, if the request asks for them. */
  shown: TokenLogprob[] | undefined
}

interface Beam {
  slot: number
  score: number
  last: Step | undefined
  /** The state of its text in the automaton of banned texts. */
  node: number
}

/** The tokens of an answer from the last to the first: beams share their common beginning. */
interface Step {
  token: number
  logprob: TokenLogprob | undefined
  before: Step | undefined
}

interface Answer {
  /** Answers are compared by this. */
  rank: number
  last: Step | undefined
  end: End
}

/**
 * A beam search: as many answers as choices are extended in parallel, and each step keeps the likeliest of their
 * continuations. It decides what is read next, and has no sequences itself.
 */
export function createBeams(plan: AnswerPlan) {
  const { generation, vocabulary, allowed, badWords, promptLength, maxTokens } = plan
  const width = generation.choices
  const lengthPenalty = generation.beam?.lengthPenalty ?? 1
  const temperature = divisorOf(generation.sampling)
  const { minTokens, includeStop } = generation.ending
  const early = new Set(bannedEnds(generation.ending, vocabulary))
  let beams: Beam[] = [{ slot: 0, score: 0, last: undefined, node: 0 }]
  let answers: Answer[] = []
  let length = 0

  /** The prompt counts towards the length; the token that ends an answer does not. */
  function rankOf(score: number, answerLength: number): number {
    return score / (promptLength + answerLength) ** lengthPenalty
  }

  /**
   * An upper bound for the answers that continue from here: the score can only fall, but its weight may decrease with
   * more tokens.
   */
  function hopeOf({ score }: Beam): number {
    return rankOf(score, lengthPenalty > 0 ? maxTokens : length)
  }

  function keepBest(): void {
    answers = answers.sort((a, b) => b.rank - a.rank).slice(0, width)
  }

  function isOver(): boolean {
    const worst = answers[width - 1]
    return worst !== undefined && beams.every((beam) => hopeOf(beam) <= worst.rank)
  }

  /** Twice as many as the search is wide, if there are so many. */
  function followers(logits: Float32Array, canFollow: (token: number) => boolean): Uint32Array {
    const source = allowed ? onlyAllowed(logits, allowed) : logits
    for (let count = 2 * width + (length < minTokens ? early.size : 0); ; count *= 8) {
      const top = likeliest(source, count)
      const possible = top.tokens.filter(
        (token, i) => (top.logits[i] as number) > -Infinity && canFollow(token),
      )
      const isAll = count >= source.length || top.logits.at(-1) === -Infinity
      if (possible.length >= 2 * width || isAll) return possible.subarray(0, 2 * width)
    }
  }

  return {
    /** The tokens that may follow the beam in this slot. */
    continuations(slot: number, logits: Float32Array): Continuations {
      const node = beams.find((beam) => beam.slot === slot)?.node ?? 0
      const banned = length < minTokens ? early : undefined
      const canFollow = (token: number) =>
        !banned?.has(token) && (badWords === undefined || badWords.after(node, token) !== undefined)
      const { logprobs: count, logprobTokens: named } = generation
      const tokens = followers(logits, canFollow)
      const total = logSum(logits, temperature)
      const logprob = count === undefined ? undefined : drawnLogprobs(logits, { count, named }, vocabulary)
      return {
        tokens,
        logprobs: Float64Array.from(tokens, (token) => (logits[token] as number) / temperature - total),
        shown: logprob && Array.from(tokens, logprob),
      }
    },

    /**
     * Accepts the continuations of all beams, in the order of the previous moves; at first those of the prompt, which
     * is in slot 0. Returns what each beam reads next; empty when the search is over.
     */
    advance(continuations: readonly Continuations[]): Move[] {
      const going: (Beam & { token: number })[] = []
      beams.forEach((beam, i) => {
        const { tokens, logprobs, shown } = continuations[i] as Continuations
        tokens.forEach((token, j) => {
          const score = beam.score + (logprobs[j] as number)
          const last = { token, logprob: shown?.[j], before: beam.last }
          if (plan.ends.has(token)) {
            answers.push({ rank: rankOf(score, length), last, end: { reason: 'stop', stop: token } })
          } else {
            going.push({ slot: beam.slot, score, last, token, node: badWords?.after(beam.node, token) ?? 0 })
          }
        })
      })
      going.sort((a, b) => b.score - a.score)
      const moves = placed(going.slice(0, width))
      beams = moves.map(({ slot, beam: { score, last, node } }) => ({ slot, score, last, node }))
      length++
      keepBest()
      if (length === maxTokens) {
        for (const { score, last } of beams) {
          answers.push({ rank: rankOf(score, length), last, end: { reason: 'length', stop: null } })
        }
        keepBest()
      }
      if (length === maxTokens || isOver()) beams = []
      return beams.length === 0
        ? []
        : moves.map(({ slot, beam }) => ({ slot, from: beam.slot, token: beam.token }))
    },

    /** The answers when the search is over, the best first. */
    events(): GenerationEvent[] {
      if (answers.length === 0) throw noTokenPossible(generation, length)
      if (answers.length < width) {
        throw engineError('invalid_value', {
          field: 'n',
          received: `${width}`,
          accepted: `at most ${answers.length}, because there are no more answers than that to find`,
        })
      }
      return answers.flatMap((answer, choice) => written(answer, choice))
    },
  }

  function written({ last, end }: Answer, choice: number): GenerationEvent[] {
    const steps: Step[] = []
    for (let step = last; step !== undefined; step = step.before) steps.push(step)
    steps.reverse()
    const answerText = createAnswerText(vocabulary, { ...plan.text, stops: createStopStrings([]) })
    const texts = steps.map(({ token }, i) => {
      const isLast = i === steps.length - 1
      const isShown = !isLast || end.reason !== 'stop' || includeStop
      return writeToken(answerText, token, isLast ? end : undefined, false, isShown).text
    })
    const logprobs = steps.map(({ logprob }) => logprob).filter((logprob) => logprob !== undefined)
    return [
      {
        kind: 'tokens',
        choice,
        text: texts.join(''),
        tokens: steps.map(({ token }) => token),
        ...(generation.logprobs !== undefined && { logprobs }),
      },
      { kind: 'finished', choice, ...end },
    ]
  }
}

/** The first continuation of a beam stays in its slot; the others take slots of beams that do not continue. */
function placed<Going extends { slot: number }>(going: Going[]): { slot: number; beam: Going }[] {
  const taken = new Set(going.map(({ slot }) => slot))
  const claimed = new Set<number>()
  let free = 0
  return going.map((beam) => {
    if (!claimed.has(beam.slot)) {
      claimed.add(beam.slot)
      return { slot: beam.slot, beam }
    }
    while (taken.has(free)) free++
    taken.add(free)
    return { slot: free, beam }
  })
}
