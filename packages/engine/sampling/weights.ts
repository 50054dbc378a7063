import type { Adjustments } from './adjustments.ts'

const stepBits = 8
const steps = 2 ** stepBits
/** The powers of two of whole halvings, and of the steps between two of them. */
const fractions = Float64Array.from({ length: steps }, (_, i) => 2 ** (-i / steps))
const maxHalvings = 64
const halvings = Float64Array.from({ length: maxHalvings }, (_, i) => 2 ** -i)
const stepsOfE = steps / Math.LN2
const ofStep = Math.LN2 / steps

/**
 * The weight exp(−distance / stepsOfE), off by at most 3e-12 of itself, in a fifth of the time of Math.exp: a draw needs
 * that of each token of the vocabulary. A distance is at least 0 and below `farthest`.
 */
function weightAt(distance: number): number {
  const whole = distance | 0
  const rest = (whole - distance) * ofStep
  const nearby = 1 + rest * (1 + rest * (1 / 2 + rest / 6))
  return (fractions[whole & (steps - 1)] as number) * (halvings[whole >> stepBits] as number) * nearby
}

/** What is farther from the heaviest token weighs less than 1e-19 of it, and counts as nothing. */
const farthest = steps * maxHalvings

function largestOf(logits: Float32Array | Float64Array): number {
  let largest = -Infinity
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number
    if (logit > largest) largest = logit
  }
  return largest
}

/** The logarithm of the sum of exp(logit / temperature). The largest is factored out, so that no power overflows. */
export function logSum(logits: Float32Array, temperature: number): number {
  const largest = largestOf(logits)
  if (largest === -Infinity) return -Infinity
  const scale = stepsOfE / temperature
  let sum = 0
  for (let token = 0; token < logits.length; token++) {
    const distance = (largest - (logits[token] as number)) * scale
    if (distance < farthest) sum += weightAt(distance)
  }
  return largest / temperature + Math.log(sum)
}

/** The weights of tokens that are about as likely. A draw is synchronous, so all of them share the same memory. */
const bins = new Float64Array(farthest)
let adjusted = new Float64Array(0)
/** Among so few tokens it costs less to sort them. */
const maxSorted = 64

/**
 * The token at this share of the line that `draw` defines, without cuts: as exact, and without sorting more than a few
 * tokens. Undefined when no token is possible.
 */
export function tokenAt(
  logits: Float32Array,
  temperature: number,
  share: number,
  adjustments?: Adjustments,
): number | undefined {
  if (adjusted.length !== logits.length) adjusted = new Float64Array(logits.length)
  adjusted.set(logits)
  adjustments?.apply(adjusted)
  const largest = largestOf(adjusted)
  const scale = stepsOfE / temperature
  const total = fillBins(largest, scale)
  if (total === 0) return undefined
  const { bin, left } = binAt(share * total)
  const tokens: number[] = []
  for (let token = 0; token < adjusted.length; token++) {
    const distance = (largest - (adjusted[token] as number)) * scale
    if (distance >= bin && distance < bin + 1) tokens.push(token)
  }
  return tokenAmong(tokens, left, (token) => (largest - (adjusted[token] as number)) * scale)
}

/** Returns the sum. */
function fillBins(largest: number, scale: number): number {
  bins.fill(0)
  let total = 0
  for (let token = 0; token < adjusted.length; token++) {
    const distance = (largest - (adjusted[token] as number)) * scale
    if (!(distance < farthest)) continue
    const weight = weightAt(distance)
    const bin = distance | 0
    bins[bin] = (bins[bin] as number) + weight
    total += weight
  }
  return total
}

/** The bin at this point of the line, and how far into it the point is. */
function binAt(point: number): { bin: number; left: number } {
  let bin = 0
  let left = point
  while (bin < bins.length - 1 && left >= (bins[bin] as number)) left -= bins[bin++] as number
  // By rounding, the end of the line may seem to be behind its last token.
  while (bins[bin] === 0) bin--
  return { bin, left }
}

/** At a high temperature all tokens are in one bin: it is parted by what lies between its ends until few are left. */
function tokenAmong(tokens: number[], point: number, distanceOf: (token: number) => number): number {
  let nearest = Infinity
  let last = 0
  for (const token of tokens) {
    nearest = Math.min(nearest, distanceOf(token))
    last = Math.max(last, distanceOf(token))
  }
  if (tokens.length <= maxSorted || nearest === last) return tokenInOrder(tokens, point, distanceOf)
  const binOf = (token: number) =>
    Math.floor(((distanceOf(token) - nearest) / (last - nearest)) * (bins.length - 1))
  bins.fill(0)
  for (const token of tokens)
    bins[binOf(token)] = (bins[binOf(token)] as number) + weightAt(distanceOf(token))
  const { bin, left } = binAt(point)
  return tokenAmong(
    tokens.filter((token) => binOf(token) === bin),
    left,
    distanceOf,
  )
}

function tokenInOrder(tokens: number[], point: number, distanceOf: (token: number) => number): number {
  tokens.sort((a, b) => distanceOf(a) - distanceOf(b) || a - b)
  let left = point
  for (const token of tokens) {
    left -= weightAt(distanceOf(token))
    if (left < 0) return token
  }
  return tokens.at(-1) as number
}
