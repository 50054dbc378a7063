import type { YieldToLoop } from '../../../packages/waiting/index.ts'
import { sumOf } from './intervals.ts'

/** What a model said about a call, and which option is right. Of a predicate, yes is the first of two options. */
export interface Labelled {
  probabilities: readonly number[]
  truth: number
}

/** p = softmax(a · logits), with b added for the first option. One or two numbers; 1 and 0 change nothing. */
export interface CalibrationMap {
  a: number
  b: number
}

export const identity: CalibrationMap = { a: 1, b: 0 }

export function calibrated({ a, b }: CalibrationMap, probabilities: readonly number[]): number[] {
  return sharesOf(logitsOf(probabilities).map((logit, option) => a * logit + (option === 0 ? b : 0)))
}

/**
 * How strongly a map is drawn to the identity: as if a had a deviation of 1/2 around 1, and b of 1 around 0. Otherwise few
 * labels, or labels that the model tells apart without a fault, would lead to any certainty.
 */
interface Penalty {
  a: number
  b: number
}
const usual: Penalty = { a: 4, b: 1 }

/** A smaller slope says that the probabilities carry no information, and must not reverse them. */
export const minSlope = 0.01
const maxSteps = 50

/** Fewer labels tell nothing reliable about a map. */
export const minLabels = 20
const minLabelsOfBias = 50
const minLabelsOfRarer = 10

/**
 * Whether the labels suffice for b: of a predicate that has 50 of them and 10 of the rarer answer. A choice has too many
 * options, and levels have an order that one option's b would break.
 */
export function isBiasFitted(labelled: readonly Labelled[], isPredicate: boolean): boolean {
  if (!isPredicate || labelled.length < minLabelsOfBias) return false
  const yes = labelled.filter(({ truth }) => truth === 0).length
  return Math.min(yes, labelled.length - yes) >= minLabelsOfRarer
}

/** Minimizes the log loss and the penalty: a convex function, by Newton's method with steps that never overshoot. */
export async function fitted(
  labelled: readonly Labelled[],
  { bias, penalty = usual }: { bias: boolean; penalty?: Penalty },
  pause: YieldToLoop,
): Promise<CalibrationMap> {
  const rows = labelled.map(({ probabilities, truth }) => ({ logits: logitsOf(probabilities), truth }))
  async function cost(map: CalibrationMap): Promise<number> {
    let sum = (penalty.a * (map.a - 1) ** 2 + penalty.b * map.b ** 2) / 2
    for (const { logits, truth } of rows) {
      sum += logLoss(logits, truth, map)
      const wait = pause()
      if (wait) await wait
    }
    return sum
  }
  let map = identity
  let before = await cost(map)
  for (let step = 0; step < maxSteps; step++) {
    const slope = { a: penalty.a * (map.a - 1), b: penalty.b * map.b }
    const curve = { aa: penalty.a, ab: 0, bb: penalty.b }
    for (const { logits, truth } of rows) {
      const { mean, spread } = momentsOf(logits, map)
      slope.a += mean.a - (logits[truth] as number)
      slope.b += mean.b - (truth === 0 ? 1 : 0)
      curve.aa += spread.aa
      curve.ab += spread.ab
      curve.bb += spread.bb
      const wait = pause()
      if (wait) await wait
    }
    if (!bias) [slope.b, curve.ab, curve.bb] = [0, 0, 1]
    const determinant = curve.aa * curve.bb - curve.ab ** 2
    if (!(determinant > 1e-12)) break
    const move = {
      a: (curve.bb * slope.a - curve.ab * slope.b) / determinant,
      b: (curve.aa * slope.b - curve.ab * slope.a) / determinant,
    }
    let size = 1
    let next = map
    let after = before
    // A whole step may overshoot far from the minimum.
    for (; size > 1e-6; size /= 2) {
      next = { a: Math.max(minSlope, map.a - size * move.a), b: map.b - size * move.b }
      after = await cost(next)
      if (after <= before) break
    }
    if (!(after < before - 1e-12)) break
    map = next
    before = after
  }
  return map
}

function logLoss(logits: readonly number[], truth: number, { a, b }: CalibrationMap): number {
  const scores = logits.map((logit, option) => a * logit + (option === 0 ? b : 0))
  const max = Math.max(...scores)
  const total = sumOf(scores.map((score) => Math.exp(score - max)))
  return max + Math.log(total) - (scores[truth] as number)
}

interface Information {
  aa: number
  ab: number
  bb: number
}

/** The mean and the covariance of what a and b are multiplied with, under the map: what one label tells about them. */
function momentsOf(logits: readonly number[], { a, b }: CalibrationMap) {
  const shares = sharesOf(logits.map((logit, option) => a * logit + (option === 0 ? b : 0)))
  const first = shares[0] as number
  const mean = { a: sumOf(shares.map((share, option) => share * (logits[option] as number))), b: first }
  const aa = sumOf(shares.map((share, option) => share * ((logits[option] as number) - mean.a) ** 2))
  const ab = first * ((logits[0] as number) - mean.a)
  return { mean, spread: { aa, ab, bb: first * (1 - first) } satisfies Information }
}

/**
 * The calls whose labels would tell most about the map, the best first: each adds its information to that of the labels
 * and of those before it, so that ten that are alike are not chosen.
 */
export async function mostTelling<Call extends { probabilities: readonly number[] }>(
  calls: readonly Call[],
  labelled: readonly Labelled[],
  map: CalibrationMap,
  { bias, count }: { bias: boolean; count: number },
  pause: YieldToLoop,
): Promise<Call[]> {
  const known: Information = { aa: usual.a, ab: 0, bb: usual.b }
  const add = ({ aa, ab, bb }: Information) => {
    known.aa += aa
    if (bias) [known.ab, known.bb] = [known.ab + ab, known.bb + bb]
  }
  for (const { probabilities } of labelled) {
    add(momentsOf(logitsOf(probabilities), map).spread)
    await pause()
  }
  const open: { call: Call; spread: Information }[] = []
  for (const call of calls) {
    open.push({ call, spread: momentsOf(logitsOf(call.probabilities), map).spread })
    await pause()
  }
  const chosen: Call[] = []
  while (chosen.length < count && open.length > 0) {
    const determinant = known.aa * known.bb - known.ab ** 2
    const gainOf = ({ aa, ab, bb }: Information) =>
      bias ? (known.bb * aa - 2 * known.ab * ab + known.aa * bb) / determinant : aa / known.aa
    let best = 0
    for (const [index, { spread }] of open.entries()) {
      if (gainOf(spread) > gainOf((open[best] as (typeof open)[number]).spread)) best = index
    }
    const [{ call, spread }] = open.splice(best, 1) as [(typeof open)[number]]
    chosen.push(call)
    add(spread)
    await pause()
  }
  return chosen
}

/** A model never means 0 or 1, however many digits its probability has. */
const minProbability = 1e-12

/** Up to a constant, which shares do not depend on; of two options the last is 0. */
function logitsOf(probabilities: readonly number[]): number[] {
  const logs = probabilities.map((probability) => Math.log(Math.max(minProbability, probability)))
  const last = logs.at(-1) ?? 0
  return logs.map((log) => log - last)
}

export function sharesOf(logits: readonly number[]): number[] {
  const max = Math.max(...logits)
  const weights = logits.map((logit) => Math.exp(logit - max))
  const sum = sumOf(weights)
  return weights.map((weight) => weight / sum)
}
