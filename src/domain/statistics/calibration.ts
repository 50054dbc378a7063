import type { YieldToLoop } from '../../../packages/waiting/index.ts'
import { sumOf } from './intervals.ts'

/** What a model said about a call, and which option is right. Of a predicate, yes is the first of two options. */
export interface Labelled {
  probabilities: readonly number[]
  truth: number
  /** Calls that share one of these are alike: of one thread, or with equal texts. */
  kin?: readonly string[]
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
 * How strongly a map is drawn to the identity: as if a had a deviation of 1/2 around 1, and a shift of 1 around 0. Otherwise few
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
  { shifted, penalty = usual }: { shifted: readonly number[]; penalty?: Penalty },
  pause: YieldToLoop,
): Promise<CalibrationMap> {
  const rows = labelled.map(({ probabilities, truth }) => ({ logits: logitsOf(probabilities), truth }))
  const start = [1, ...shifted.map(() => 0)]
  const weights = [penalty.a, ...shifted.map(() => penalty.b)]
  async function tried(values: readonly number[]) {
    const map = mapOf(values, shifted)
    const moved = added(values, start, -1)
    let slope = moved.map((own, index) => own * (weights[index] as number))
    let cost = dot(slope, moved) / 2
    let curve = diagonal(weights)
    for (const { logits, truth } of rows) {
      const { mean, spread } = momentsOf(logits, map, shifted)
      const seen = [logits[truth] as number, ...shifted.map((option) => (option === truth ? 1 : 0))]
      cost += logLoss(logits, truth, map)
      slope = added(slope, added(mean, seen, -1))
      curve = addedRows(curve, spread)
      const wait = pause()
      if (wait) await wait
    }
    return { values, cost, slope, curve }
  }
  let best = await tried(start)
  for (let step = 0; step < maxSteps; step++) {
    const move = solved(best.curve, best.slope)
    if (move === undefined) break
    let next = best
    // A whole step may overshoot far from the minimum.
    for (let size = 1; size > 1e-6; size /= 2) {
      const [a = 1, ...shifts] = added(best.values, move, -size)
      next = await tried([Math.max(minSlope, a), ...shifts])
      if (next.cost <= best.cost) break
    }
    if (!(next.cost < best.cost - 1e-12)) break
    best = next
  }
  return mapOf(best.values, shifted)
}

/** Of the slope and the shifts of these options. */
function mapOf([a = 1, ...values]: readonly number[], shifted: readonly number[]): CalibrationMap {
  const shifts = new Array<number>(Math.max(0, ...shifted.map((option) => option + 1))).fill(0)
  for (const [index, option] of shifted.entries()) shifts[option] = values[index] as number
  const [b = 0] = shifts
  return { a, b, ...(shifts.length > 1 && { shifts }) }
}

function logLoss(logits: readonly number[], truth: number, map: CalibrationMap): number {
  const scores = scoresOf(map, logits)
  const max = Math.max(...scores)
  const total = sumOf(scores.map((score) => Math.exp(score - max)))
  return max + Math.log(total) - (scores[truth] as number)
}

/** The mean and the covariance of what a and the shifts are multiplied with: what one label tells about them. */
function momentsOf(logits: readonly number[], map: CalibrationMap, shifted: readonly number[]) {
  const shares = sharesOf(scoresOf(map, logits))
  const share = (option: number) => shares[option] as number
  const mean = dot(shares, logits)
  const ofShifts = shifted.map((option) => share(option) * ((logits[option] as number) - mean))
  const spread: Matrix = [
    [sumOf(shares.map((own, option) => own * ((logits[option] as number) - mean) ** 2)), ...ofShifts],
    ...shifted.map((row, index) => [
      ofShifts[index] as number,
      ...shifted.map((column) => share(row) * ((row === column ? 1 : 0) - share(column))),
    ]),
  ]
  return { mean: [mean, ...shifted.map(share)], spread }
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
  let known = diagonal([usual.a, ...shifted.map(() => usual.b)])
  const told = ({ probabilities }: Pick<Call, 'probabilities'>) =>
    momentsOf(logitsOf(probabilities), map, shifted).spread
  for (const label of labelled) {
    known = addedRows(known, told(label))
    await pause()
  }
  const open: { call: Call; spread: Matrix }[] = []
  for (const call of calls) {
    open.push({ call, spread: told(call) })
    await pause()
  }
  const chosen: Call[] = []
  while (chosen.length < count && open.length > 0) {
    const columns = diagonal(known.map(() => 1)).map((unit) => solved(known, unit) ?? unit)
    const gains = open.map(({ spread }) => sumOf(spread.map((row, index) => dot(row, columns[index] ?? []))))
    const best = gains.reduce((most, gain, index) => (gain > (gains[most] as number) ? index : most), 0)
    const [{ call, spread }] = open.splice(best, 1) as [(typeof open)[number]]
    chosen.push(call)
    known = addedRows(known, spread)
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

type Matrix = number[][]

const dot = (a: readonly number[], b: readonly number[]): number =>
  sumOf(a.map((value, index) => value * (b[index] ?? 0)))

const added = (a: readonly number[], b: readonly number[], times = 1): number[] =>
  a.map((value, index) => value + times * (b[index] ?? 0))

const addedRows = (a: Matrix, b: Matrix): Matrix => a.map((row, index) => added(row, b[index] ?? []))

const diagonal = (values: readonly number[]): Matrix =>
  values.map((value, row) => values.map((_, column) => (row === column ? value : 0)))

/** Gauss and Jordan's method without a change of rows, which covariances do not need; undefined if one is singular. */
function solved(matrix: Matrix, right: readonly number[]): number[] | undefined {
  const rows = matrix.map((row, index) => [...row, right[index] as number])
  for (const [at, own] of rows.entries()) {
    const pivot = own[at] as number
    if (!(pivot > 1e-12)) return undefined
    for (const [other, row] of rows.entries()) {
      if (other !== at) rows[other] = added(row, own, -(row[at] as number) / pivot)
    }
  }
  return rows.map((row, at) => (row.at(-1) as number) / (row[at] as number))
}
