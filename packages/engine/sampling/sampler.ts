import type { Sampling } from '../backend.ts'
import type { Adjustments } from './adjustments.ts'
import { type Cuts, draw } from './draw.ts'
import type { Logits } from './logits.ts'
import type { Random } from './random.ts'
import { type Ranking, rank } from './ranking.ts'

/** Draws the next token; undefined when no token is possible. */
export type Sampler = (logits: Logits, answer: readonly number[]) => Promise<number | undefined>

/** Enough for most draws of a trained model, … */
const firstLook = 64
/** … and this for nearly every one, whatever the settings. */
const secondLook = 1024
const eachFurther = 8
/** Few of the tokens with penalties are among the likeliest. */
const sinking = 256

/** Below this the likeliest token is chosen: dividing would give the same result. */
const greedyBelow = 1e-5
/** The lowest temperature by which logits are divided. */
const coldest = 0.01

/** The divisor of the logits; 1 when the likeliest token is chosen. */
export function divisorOf(sampling: Sampling): number {
  const { temperature } = sampling
  return isGreedy(sampling) ? 1 : Math.max(coldest, temperature)
}

export function isGreedy({ temperature }: Sampling): boolean {
  return temperature < greedyBelow
}

/**
 * Applies settings in the order of vLLM: adjustments, then the likeliest or temperature, min_p, top_k, top_p and the
 * draw.
 */
export function createSampler(
  sampling: Sampling,
  adjustments: Adjustments | undefined,
  random: Random,
): Sampler {
  const greedy = isGreedy(sampling)
  const cuts: Cuts = {
    temperature: divisorOf(sampling),
    minP: sampling.minP,
    topK: sampling.topK,
    topP: sampling.topP,
  }
  /** Whether the cuts can only be determined with the sum over all tokens. */
  const needsTotal = !greedy && cuts.topK === 0 && cuts.minP === 0
  const isUncut = needsTotal && cuts.topP === 1
  const isBestEnough = greedy && adjustments === undefined && sampling.allowed === undefined
  /**
   * How many at least; one more is requested because the last one cannot be told from its equals, and some for those
   * that penalties lower.
   */
  const needed = greedy ? 1 : cuts.topK > 0 ? cuts.topK : undefined

  /** The last token drawn was far from the likeliest: the next one may well be, too. */
  let isFlat = false

  return async (logits, answer) => {
    if (isBestEnough) return logits.best()
    adjustments?.prepare(answer.length)
    const number = greedy ? 0 : random()
    if (isUncut && logits.tokenAt) return logits.tokenAt(number, cuts.temperature, adjustments)

    let position = ((isFlat || logits.isExactCheap === true) && logits.exactly?.()) || logits
    let isBound = position.exactly !== undefined
    const least = isBound || !isFlat ? firstLook : secondLook
    let count = needed === undefined ? least : needed + 1 + Math.min(adjustments?.touched ?? 0, sinking)
    count = Math.min(count, position.vocabulary)
    // Requested all at once, so that the thread that reads the logits is woken once.
    let [top, lifted, total] = await Promise.all([
      position.top(count),
      adjustments && adjustments.lifted.length > 0 ? logits.of(adjustments.lifted) : none,
      needsTotal ? position.logTotal(cuts.temperature) : Number.NaN,
    ])
    for (;;) {
      const ranking = rank(adjustments, top, position.vocabulary, lifted)
      const chosen = choose(ranking)
      if (chosen !== -1) {
        isFlat = chosen >= firstLook
        return ranking.known.tokens[chosen]
      }
      if (ranking.complete) return undefined
      if (position.exactly !== undefined) {
        position = position.exactly()
        if (needed === undefined) count = secondLook
      } else if (Number.isNaN(total) && cuts.minP > 0 && cuts.topK === 0 && ranking.known.length > 0) {
        total = await position.logTotal(cuts.temperature)
        continue
      } else {
        count = needed === undefined ? Math.max(secondLook, count * eachFurther) : count * eachFurther
      }
      count = Math.min(count, position.vocabulary)
      top = await position.top(count)
      if (needsTotal && isBound && count < position.vocabulary)
        total = await position.logTotal(cuts.temperature)
      isBound = false
    }

    function choose(ranking: Ranking): number {
      if (ranking.known.length === 0) return -1
      return greedy ? 0 : draw(ranking, cuts, total, isBound, number)
    }
  }
}

const none = new Float32Array(0)
