import type { Unit } from '../sums/reading.ts'
import type { BucketPart, Group, TokenSum } from './bucket-parts.ts'

type By = { values: readonly string[] } | undefined

const groupIn = (by: By, value: string) => (by?.values.includes(value) ? value : null)

/** The same order as in the databases: by code point. */
const inOrder = (value: string, other: string) => Buffer.compare(Buffer.from(value), Buffer.from(other))

export function summedGroups(units: readonly Unit[], most: number): { top: Group[]; total: number } {
  const groups = units
    .map(({ value, figures }) => ({ value, count: figures.calls }))
    .filter(({ count }) => count > 0)
    .sort((group, other) => other.count - group.count || inOrder(group.value, other.value))
  return { top: groups.slice(0, most), total: groups.reduce((sum, { count }) => sum + count, 0) }
}

/** The last edge may be the end of a part of a bucket. */
export function summedBuckets(
  units: readonly Unit[],
  { edges, by, timed }: { edges: readonly number[]; by: By; timed?: 'latency' | 'first_token' | undefined },
): BucketPart[] {
  const [first = 0, second = 1] = edges
  return units.flatMap(({ at, value, figures }) => {
    const { calls, errors, ended, input, output } = figures
    const bucket = edges.length <= 2 ? 0 : Math.floor((at - first) / (second - first))
    const cell = { bucket, group: groupIn(by, value) }
    const bins = timed ? [...(timed === 'latency' ? figures.latencies : figures.first_tokens)] : []
    const timedMicros = timed === 'first_token' ? figures.first_token : figures.latency
    const inBins = bins.map(([bin, count], n): BucketPart => {
      const micros = n === 0 ? timedMicros : 0
      return { ...cell, bin, count, errors: 0, ended: 0, micros, input_tokens: 0, output_tokens: 0 }
    })
    const rest = calls - bins.reduce((sum, [, count]) => sum + count, 0)
    const micros = timed ? 0 : figures.latency
    return [
      { ...cell, bin: null, count: rest, errors, ended, micros, input_tokens: input, output_tokens: output },
      ...inBins,
    ]
  })
}

/** `periodOf` is how many of the dates had passed. */
export function summedTokens(
  units: readonly Unit[],
  { from, step, by, dates }: { from: number; step: number; by: By; dates: readonly number[] },
): TokenSum[] {
  return units.flatMap(({ at, value, figures }) => {
    const cell = {
      bucket: Math.floor((at - from) / step),
      period: dates.filter((date) => at >= date).length,
      group: groupIn(by, value),
    }
    return Array.from(figures.usage, ([model, usage]) => {
      const [count, input, output, cache_read, cache_creation, stated = 0, stated_count = 0] = usage
      const tokens = { input, output, cache_read, cache_creation }
      return { ...cell, model: model === '' ? null : model, count, ...tokens, stated, stated_count }
    })
  })
}

interface Measured extends Record<'errors' | 'asked' | 'answered' | 'cost', number> {
  value: string
  count: number
}

/** `costOf` is what the calls of a model cost that began at a time. */
export function measuredGroups(
  units: readonly Unit[],
  costOf: (model: string, unit: Unit) => number,
): Measured[] {
  const groups = new Map<string, Measured>()
  for (const unit of units) {
    const { value, figures } = unit
    const known = groups.get(value) ?? { value, count: 0, errors: 0, asked: 0, answered: 0, cost: 0 }
    groups.set(value, known)
    known.count += figures.calls
    known.errors += figures.errors
    known.asked += figures.input
    known.answered += figures.output
    for (const model of figures.usage.keys()) known.cost += costOf(model, unit)
  }
  return [...groups.values()].filter(({ count }) => count > 0)
}

/** The largest by calls, and those that are among the largest by another measure, in the order of calls. */
export function largestOf(groups: readonly Measured[], maxByCalls: number, maxByMeasure: number): string[] {
  const byCalls = groups.toSorted(
    (group, other) =>
      other.count - group.count ||
      Number(group.value === '') - Number(other.value === '') ||
      inOrder(group.value, other.value),
  )
  const shown = new Set(byCalls.slice(0, maxByCalls).map(({ value }) => value))
  for (const name of ['errors', 'asked', 'answered', 'cost'] as const) {
    const largest = groups.toSorted(
      (group, other) =>
        other[name] - group[name] || other.count - group.count || inOrder(group.value, other.value),
    )
    for (const group of largest.slice(0, maxByMeasure)) if (group[name] > 0) shown.add(group.value)
  }
  return byCalls.map(({ value }) => value).filter((value) => shown.has(value))
}
