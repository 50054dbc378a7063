import type { Sampling } from '../backend.ts'
import type { Adjustments } from './adjustments.ts'
import { type Cuts, draw } from './draw.ts'
import { best, logitsOf } from './logits.ts'
import type { Random } from './random.ts'

/** Draws the next token, of the allowed ones in ascending order; undefined when no token is possible. */
export type Sampler = (
  logits: Float32Array,
  answer: readonly number[],
  allowed?: Uint32Array,
) => number | undefined

/** Below this the likeliest token is chosen: dividing would give the same result. */
const greedyBelow = 1e-5
/** The lowest temperature by which logits are divided. */
const coldest = 0.01

/** The divisor of the logits; 1 when the likeliest token is chosen. */
export function divisorOf(sampling: Sampling): number {
  return isGreedy(sampling) ? 1 : Math.max(coldest, sampling.temperature)
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
  const { minP, topK, topP } = sampling
  const cuts: Cuts = { temperature: divisorOf(sampling), minP, topK, topP }
  const takesLikeliest = isGreedy(sampling)
  return (logits, answer, allowed) => {
    const adjusted = adjustments ? adjustments.applied(logits, answer.length) : logits
    const drawn = allowed ? logitsOf(allowed, adjusted) : adjusted
    const at = takesLikeliest ? best(drawn) : draw(drawn, cuts, random())
    return at === undefined || allowed === undefined ? at : allowed[at]
  }
}
