import { likeliest, orderOf, tokenIn } from './logits.ts'
import { farthest, largestOf, stepsOfE, weightAt } from './weights.ts'

export interface Cuts {
  /** Above 0. */
  temperature: number
  /** 0 is off. */
  minP: number
  /** 0 is off. */
  topK: number
  /** 1 is off. */
  topP: number
}

/**
 * Draws a token with a number from 0 to 1; undefined when no token is possible. The definition, over all tokens in the
 * order of their logits, lower tokens first among equals: each weighs exp(logit / temperature). Tokens lighter than min_p
 * times the heaviest are removed, then all but the first top_k, then all but the fewest first ones that together have
 * top_p of the remaining weight. The remaining tokens are laid side by side on a line in that order, and the number is
 * the position on the line, as a share of its length, of the drawn token.
 */
export function draw(logits: Float32Array, cuts: Cuts, share: number): number | undefined {
  const { topK, topP } = cuts
  if (topK > 0 && topK <= maxListed) {
    const top = likeliest(logits, topK)
    const rank = draw(top.logits, { ...cuts, topK: 0 }, share)
    return rank === undefined ? rank : top.tokens[rank]
  }
  const line = createLine(logits, cuts)
  if (line.count === 0) return undefined
  let last: Place | undefined
  if (topK > 0 && topK < line.count) last = line.find(counts, topK - 0.5)
  if (topP < 1) last = line.find(weights, topP * (last?.end ?? line.length) * (1 - roundingError))
  const { token } = line.find(weights, share * (last?.end ?? line.length))
  return last !== undefined && isBehind(logits, token, last.token) ? last.token : token
}

/** So many of the likeliest tokens are listed sooner than the whole line is laid out. */
const maxListed = 256
/** Where tokens together have top_p to the last digits, they have reached it. */
const roundingError = 1e-11

/** A token, and where it ends on the line. */
interface Place {
  token: number
  end: number
}

/** Above this temperature all tokens would be in a few bins, if these reached as far as there are weights. */
const hot = 4
const binCount = 4096
/** The tokens of a line by their distance from the heaviest. A draw is synchronous, so all of them share this memory. */
const weights = new Float64Array(binCount + 1)
const counts = new Float64Array(binCount + 1)
let keys = new Float64Array(0)

/** The tokens that min_p leaves, of which only those around a point are sorted. */
function createLine(logits: Float32Array, { temperature, minP }: Cuts) {
  const largest = largestOf(logits)
  const scale = stepsOfE / temperature
  const lowest = Math.max(
    largest - farthest / scale,
    largest + temperature * Math.log(minP),
    temperature > hot ? smallestOf(logits) : -Infinity,
  )
  const reach = largest - lowest
  const binScale = reach > 0 ? binCount / reach : 0
  weights.fill(0)
  counts.fill(0)
  let length = 0
  let count = 0
  for (let token = 0; token < logits.length; token++) {
    const distance = largest - (logits[token] as number)
    if (!(distance <= reach)) continue
    const weight = weightAt(distance * scale)
    const bin = (distance * binScale) | 0
    weights[bin] = (weights[bin] as number) + weight
    counts[bin] = (counts[bin] as number) + 1
    length += weight
    count++
  }
  return { length, count, find }

  /** The token at this point, where each is as long as it counts in these bins. */
  function find(measures: Float64Array, point: number): Place {
    let bin = 0
    let left = point
    let end = 0
    while (bin < binCount && left >= (measures[bin] as number)) {
      end += weights[bin] as number
      left -= measures[bin++] as number
    }
    // By rounding, the end of the line may seem to be behind its last token.
    while (counts[bin] === 0) bin--
    let token = 0
    for (const key of keysIn(bin)) {
      token = tokenIn(key)
      const weight = weightAt((largest - (logits[token] as number)) * scale)
      end += weight
      left -= measures === counts ? 1 : weight
      if (left < 0) break
    }
    return { token, end }
  }

  /** In the order of the line. */
  function keysIn(bin: number): Float64Array {
    const bits = new Int32Array(logits.buffer, logits.byteOffset, logits.length)
    if (keys.length < logits.length) keys = new Float64Array(logits.length)
    let found = 0
    for (let token = 0; token < logits.length; token++) {
      const distance = largest - (logits[token] as number)
      if (distance <= reach && ((distance * binScale) | 0) === bin)
        keys[found++] = orderOf(bits[token] as number, token)
    }
    return keys.subarray(0, found).sort().reverse()
  }
}

function smallestOf(logits: Float32Array): number {
  let smallest = Infinity
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number
    if (logit > -Infinity && logit < smallest) smallest = logit
  }
  return smallest
}

/** Whether a token comes after another one on the line. */
function isBehind(logits: Float32Array, token: number, other: number): boolean {
  const difference = (logits[token] as number) - (logits[other] as number)
  return difference < 0 || (difference === 0 && token > other)
}
