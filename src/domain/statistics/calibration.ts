import { inSteps, type YieldToLoop } from '../../../packages/waiting/index.ts'
import { sumOf } from './intervals.ts'

/** What a model said about a call, and which option is right. Of a predicate, yes is the first of two options. */
export interface Labelled {
  probabilities: readonly number[]
  truth: number
  /** The same of calls that are alike: of one thread, or with equal texts. */
  kin?: string
}

/** p = softmax(a · logits + shifts). 1 and 0 change nothing. */
export interface CalibrationMap {
  a: number
  /** The shift of the first option; of a predicate there is no other. */
  b: number
  /** Of a choice or score, those of all options up to the last that has one. */
  shifts?: number[] | undefined
}

export const identity: CalibrationMap = { a: 1, b: 0 }

const scoresOf = ({ a, b, shifts = [b] }: CalibrationMap, logits: readonly number[]): number[] =>
  logits.map((logit, option) => a * logit + (shifts[option] ?? 0))

export const calibrated = (map: CalibrationMap, probabilities: readonly number[]): number[] =>
  sharesOf(scoresOf(map, logitsOf(probabilities)))

/**
 * How strongly a map is drawn to the identity: as if a had a deviation of 1/2 around 1, and a shift of 1 around 0. Otherwise
 * few labels, or labels that the model tells apart without a fault, would lead to any certainty.
 */
interface Penalty {
  a: number
  b: number
}
const usual: Penalty = { a: 4, b: 1 }

/** Of more than two, shifts have a deviation of 1/4: where none is needed, any number costs at most 0.01 of log loss. */
const ofOptions: Penalty = { a: 4, b: 16 }

const weightsOf = ({ a, b }: Penalty, shifted: readonly number[]) => [a, ...shifted.map(() => b)]

/** A smaller slope says that the probabilities carry no information, and must not reverse them. */
export const minSlope = 0.01
const maxSteps = 50
/** Of the cost: less is the noise of its sum. */
const minGain = 1e-9

/** Fewer labels tell nothing reliable about a map. */
export const minLabels = 20
const minLabelsOfShifts = 50
const minLabelsOfOption = 10
/** More would cost more than they tell. */
const maxShifts = 32

/**
 * The options whose shift the labels suffice for: with 50 of them, those that 10 say. Of a predicate both answers need 10,
 * and yes alone is shifted.
 */
export function shiftedOptions(labelled: readonly Labelled[], isPredicate: boolean): number[] {
  if (labelled.length < minLabelsOfShifts) return []
  const labels = Map.groupBy(labelled, ({ truth }) => truth)
  const common = [...labels].filter(([, own]) => own.length >= minLabelsOfOption)
  if (isPredicate) return common.length === 2 ? [0] : []
  const options = common.toSorted(([, own], [, others]) => others.length - own.length)
  return options.slice(0, maxShifts).map(([option]) => option)
}

/** Minimizes the log loss and the penalty: a convex function, by Newton's method with steps that never overshoot. */
export async function fitted(
  labelled: readonly Labelled[],
  { shifted, penalty }: { shifted: readonly number[]; penalty?: Penalty },
  pause: YieldToLoop,
): Promise<CalibrationMap> {
  const rows: { logits: number[]; truth: number }[] = []
  const addRow = ({ probabilities, truth }: Labelled) =>
    void rows.push({ logits: logitsOf(probabilities), truth })
  await inSteps(labelled, addRow, pause)
  const isOfTwo = labelled[0]?.probabilities.length === 2
  const weights = weightsOf(penalty ?? (isOfTwo ? usual : ofOptions), shifted)
  async function tried([a = 1, ...shifts]: readonly number[]) {
    const map = mapOf(a, shifts, shifted)
    const moved = [a - 1, ...shifts]
    let slope = moved.map((value, index) => value * (weights[index] as number))
    let cost = dot(slope, moved) / 2
    const curve = diagonal(weights)
    const addLabel = ({ logits, truth }: (typeof rows)[number]) => {
      const shares = sharesOf(scoresOf(map, logits))
      const seen = [logits[truth] as number, ...shifted.map((option) => (option === truth ? 1 : 0))]
      cost -= Math.log(shares[truth] as number)
      slope = added(slope, added(addSpread(curve, logits, shares, shifted), seen, -1))
    }
    await inSteps(rows, addLabel, pause)
    return { values: [a, ...shifts], map, cost, slope, curve }
  }
  let best = await tried([1, ...shifted.map(() => 0)])
  for (let step = 0; step < maxSteps; step++) {
    const move = solved(best.curve, best.slope)
    let next = best
    // A whole step may overshoot far from the minimum.
    for (let size = 1; size > 1e-6; size /= 2) {
      const [a = 1, ...shifts] = added(best.values, move, -size)
      next = await tried([Math.max(minSlope, a), ...shifts])
      if (next.cost <= best.cost + minGain) break
    }
    const gain = best.cost - next.cost
    best = next
    if (!(gain > minGain)) break
  }
  return best.map
}

/** `values` are the shifts of these options. */
function mapOf(a: number, values: readonly number[], shifted: readonly number[]): CalibrationMap {
  const count = Math.max(0, ...shifted) + 1
  const shifts = Array.from({ length: count }, (_, option) => values[shifted.indexOf(option)] ?? 0)
  return { a, b: shifts[0] as number, ...(count > 1 && { shifts }) }
}

/**
 * Adds the covariance of what a and the shifts are multiplied with, which is what one label tells about them, and returns
 * their mean.
 */
function addSpread(
  sum: Matrix,
  logits: readonly number[],
  shares: readonly number[],
  shifted: readonly number[],
): number[] {
  const weighted = shares.map((share, option) => share * (logits[option] as number))
  const mean = [sumOf(weighted), ...shifted.map((option) => shares[option] as number)]
  const products = [dot(weighted, logits), ...shifted.map((option) => weighted[option] as number)]
  for (const [index, row] of sum.entries()) {
    const own = mean[index] as number
    for (let other = 0; other < row.length; other++) {
      const product = index * other === 0 ? products[index + other] : index === other ? own : 0
      row[other] = (row[other] as number) + (product as number) - own * (mean[other] as number)
    }
  }
  return mean
}

/**
 * The calls whose labels would tell most about the map, the best first: each adds its information to that of the labels
 * and of those before it, so that ten that are alike are not chosen.
 */
export async function mostTelling<Call extends { probabilities: readonly number[] }>(
  calls: readonly Call[],
  labelled: readonly Labelled[],
  map: CalibrationMap,
  { shifted, count }: { shifted: readonly number[]; count: number },
  pause: YieldToLoop,
): Promise<Call[]> {
  const known = diagonal(weightsOf(usual, shifted))
  const tell = (sum: Matrix, { probabilities }: Pick<Call, 'probabilities'>) => {
    const logits = logitsOf(probabilities)
    addSpread(sum, logits, sharesOf(scoresOf(map, logits)), shifted)
    return sum
  }
  await inSteps(labelled, (label) => void tell(known, label), pause)
  const open = [...calls]
  const chosen: Call[] = []
  while (chosen.length < count && open.length > 0) {
    const inverse: Matrix = []
    await inSteps(diagonal(known.map(() => 1)), (unit) => void inverse.push(solved(known, unit)), pause)
    let best = { index: 0, gain: Number.NEGATIVE_INFINITY }
    const look = (call: Call, index: number) => {
      const spread = tell(diagonal(known.map(() => 0)), call)
      const gain = sumOf(spread.map((row, column) => dot(row, inverse[column] as number[])))
      if (gain > best.gain) best = { index, gain }
    }
    await inSteps(open, look, pause)
    const [call] = open.splice(best.index, 1) as [Call]
    chosen.push(call)
    tell(known, call)
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

type Matrix = number[][]

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] as number), 0)

const added = (a: readonly number[], b: readonly number[], times = 1): number[] =>
  a.map((value, index) => value + times * (b[index] as number))

const diagonal = (values: readonly number[]): Matrix =>
  values.map((value, row) => values.map((_, column) => (row === column ? value : 0)))

/** Gauss and Jordan's method without a change of rows, which covariances do not need; a penalty keeps them regular. */
function solved(matrix: Matrix, right: readonly number[]): number[] {
  const rows = matrix.map((row, index) => [...row, right[index] as number])
  for (const [at, own] of rows.entries()) {
    for (const [other, row] of rows.entries()) {
      if (other !== at) rows[other] = added(row, own, -(row[at] as number) / (own[at] as number))
    }
  }
  return rows.map((row, at) => (row.at(-1) as number) / (row[at] as number))
}
