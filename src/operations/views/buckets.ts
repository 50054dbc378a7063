import { type Caller, requireAccess } from '../../domain/callers.ts'
import { wrong } from '../../domain/refusals.ts'
import { formatTime, monotonicNow, now } from '../../domain/time.ts'
import { isDeriving } from '../../storage/calls/underived.ts'
import { readSums } from '../../storage/sums/reading.ts'
import type { BucketPart } from '../../storage/views/bucket-parts.ts'
import { newestOf } from '../../storage/views/examined.ts'
import { readFeedbackBuckets } from '../../storage/views/feedback-buckets.ts'
import {
  type FeedbackGroupField,
  feedbackGroupFields,
  topFeedbackGroups,
} from '../../storage/views/feedback-groups.ts'
import {
  type GroupField,
  groupFields,
  largestGroups,
  maxByCalls,
  maxByMeasure,
  maxGroups,
  readBuckets,
  topGroups,
  topValues,
} from '../../storage/views/groups.ts'
import { histogramSize } from '../../storage/views/histogram.ts'
import { largestOf, measuredGroups, summedBuckets } from '../../storage/views/summed-groups.ts'
import { callsViewOf } from '../calls/query.ts'
import { chartPrices, costOfUnit, readBucketCosts } from './bucket-costs.ts'
import type { Asked } from './calls.ts'
import { type BucketsBody, examinedCalls, type FacetsBody, maxBuckets, sampledCalls } from './contract.ts'
import type { FeedbackBucketsBody } from './feedback-contract.ts'

const usualFields = ['op', 'model', 'status', 'user'] as const
const maxValues = 50

const shownValue = (value: string | null) => value || null

const isGroupField = (field: string): field is GroupField =>
  (groupFields as readonly string[]).includes(field)

const isSaidField = (field: string): field is FeedbackGroupField =>
  (feedbackGroupFields as readonly string[]).includes(field)

export async function readFacets({ db, names }: Asked, caller: Caller, body: FacetsBody) {
  requireAccess(caller, body.project_id)
  const view = await callsViewOf(names, body)
  await names.looksAt(body.project_id, body.fields ?? [])
  const time = now()
  const facets = []
  const fields = new Set<string>(body.fields ?? usualFields)
  const bounds = { most: maxValues, max: examinedCalls, sample: sampledCalls }
  const groups = await topGroups(db, view, [...fields].filter(isGroupField), bounds, time)
  for (const field of fields) {
    if (isSaidField(field)) {
      const { top, without, others, sampled } = await topFeedbackGroups(db, view, field, bounds, time)
      const none = without > 0 ? [{ value: null, count: without }] : []
      facets.push({ field, values: [...top, ...none], others, sampled })
      continue
    }
    const own = groups.get(field as GroupField)
    const { top, total, sampled } = own ?? (await topValues(db, view, field, bounds, time))
    const values = own
      ? top.map(({ value, count }) => ({ value: shownValue(value), count }))
      : top.filter(({ value }) => value !== '')
    facets.push({
      ...{ field, values, sampled },
      others: values.reduce((left, { count }) => left - count, total),
    })
  }
  return { facets, is_deriving: await isDeriving(db, body.project_id) }
}

export async function readTimeBuckets({ db, names }: Asked, caller: Caller, body: BucketsBody) {
  requireAccess(caller, body.project_id)
  const time = now()
  // Includes what was written within this tick of the clock.
  const edges = edgesOf(body, monotonicNow())
  const whole = await callsViewOf(names, {
    project_id: body.project_id,
    filter: body.filter,
    query: body.query,
  })
  const field = body.by ?? undefined
  await names.looksAt(body.project_id, field === undefined ? [] : [field])
  const range = { from: edges[0] as number, step: body.step_seconds * 1_000_000, end: edges.at(-1) as number }
  const prices = body.costs ? await chartPrices(db, body.project_id, range) : undefined
  const units = await readSums(db, whole, { field, buckets: range, cuts: prices?.dates ?? [] }, time)
  const { view, sampled } = units
    ? { view: whole, sampled: null }
    : await newestOf(db, whole, { ...range, max: examinedCalls }, time)
  const usesSeveral = units?.some(({ figures }) => figures.usage.keys().some((model) => model.includes(', ')))
  const isSummed = units !== undefined && !(body.costs && field && usesSeveral)
  const top =
    field &&
    (isSummed
      ? largestOf(
          measuredGroups(units, (model, unit) => (prices ? costOfUnit(model, unit, prices) : 0)),
          maxByCalls,
          maxByMeasure,
        )
      : await largestGroups(db, view, { field, costs: body.costs === true, ...range }, time))
  const shown = { ...view, edges, by: field && top && { field, values: top }, timed: body.timed ?? undefined }
  const rows = isSummed ? summedBuckets(units, shown) : await readBuckets(db, shown, time)
  const keyOf = (bucket: number, group: string | null) => {
    const index = top === undefined || group === null ? (top?.length ?? 0) : top.indexOf(group)
    return bucket * (maxGroups + 1) + index
  }
  const byPlace = Map.groupBy(rows, ({ bucket, group }) => keyOf(bucket, group))
  const by = field && top && { field, values: top }
  const costs =
    prices &&
    (await readBucketCosts(db, { ...view, ...range, by }, prices, isSummed ? units : undefined, keyOf, time))
  return {
    groups: [
      ...(top ?? []).map((value) => ({ value: shownValue(value), is_others: false })),
      { value: null, is_others: top !== undefined },
    ],
    buckets: [...byPlace]
      .sort(([key], [other]) => key - other)
      .map(([key, some]) => ({
        started_at: formatTime(edges[Math.floor(key / (maxGroups + 1))] as number),
        group: key % (maxGroups + 1),
        ...sumOf(some),
        times: body.timed ? timesOf(some) : null,
        ...(costs && (costs.get(key) ?? { cost: null, unpriced: 0 })),
      })),
    sampled,
    is_deriving: await isDeriving(db, body.project_id),
  }
}

function edgesOf(
  { after, before, step_seconds }: Pick<BucketsBody, 'after' | 'before' | 'step_seconds'>,
  time: number,
): number[] {
  const step = step_seconds * 1_000_000
  const from = Math.floor(after / step) * step
  const end = before ?? time
  const buckets = Math.max(0, Math.ceil((end - from) / step))
  if (buckets > maxBuckets || buckets === 0) {
    throw wrong(
      'step_seconds',
      `${step_seconds}, which makes ${buckets} buckets`,
      `1 to ${maxBuckets} buckets between after and before`,
    )
  }
  return [...Array.from({ length: buckets }, (_, n) => from + n * step), end]
}

function sumOf(rows: readonly BucketPart[]) {
  const sum = (value: (row: BucketPart) => number) => rows.reduce((all, row) => all + value(row), 0)
  return {
    count: sum(({ count }) => count),
    errors: sum(({ errors }) => errors),
    ended: sum(({ ended }) => ended),
    input_tokens: sum(({ input_tokens }) => input_tokens),
    output_tokens: sum(({ output_tokens }) => output_tokens),
  }
}

/** The start of a bin; the first starts at 0. */
const startOf = (bin: number) => (bin === 0 ? 0 : 2 ** (bin / 4))

function timesOf(rows: readonly BucketPart[]) {
  const bins = new Array<number>(histogramSize).fill(0)
  let [count, micros] = [0, 0]
  for (const row of rows) {
    if (row.bin === null) continue
    bins[row.bin] = (bins[row.bin] as number) + row.count
    count += row.count
    micros += row.micros
  }
  if (count === 0) return null
  const histogram = bins.flatMap((of, bin): [number, number][] => (of > 0 ? [[startOf(bin), of]] : []))
  return {
    count,
    mean_ms: micros / count / 1000,
    p50_ms: percentile(bins, count * 0.5),
    p95_ms: percentile(bins, count * 0.95),
    histogram,
  }
}

/** The middle of the bin in which the rank is reached. */
function percentile(bins: readonly number[], rank: number): number {
  let seen = 0
  const bin = bins.findIndex((of) => {
    seen += of
    return seen >= rank
  })
  return bin === 0 ? 0.5 : startOf(bin) * 2 ** (1 / 8)
}

const maxKinds = 20

/** Feedback of users and scorers, over time. */
export async function readFeedbackOverTime({ db, names }: Asked, caller: Caller, body: FeedbackBucketsBody) {
  requireAccess(caller, body.project_id)
  const { project_id, filter, query } = body
  const time = now()
  // Includes what was written within this tick of the clock.
  const edges = edgesOf(body, monotonicNow())
  const [from = 0, end = 0] = [edges[0], edges.at(-1)]
  const view = await callsViewOf(names, { project_id, filter, query })
  const range = { from, end, step: body.step_seconds * 1_000_000, most: maxKinds }
  const rows = await readFeedbackBuckets(db, { ...view, ...range }, time)
  const kinds = new Map<string, { feedback_type: string; value: string | null; total: number }>()
  const keyOf = (type: string, value: string | null) => JSON.stringify([type, value])
  for (const { feedback_type, value, count } of rows) {
    if (feedback_type === null) continue
    const kind = kinds.get(keyOf(feedback_type, value)) ?? { feedback_type, value, total: 0 }
    kinds.set(keyOf(feedback_type, value), { ...kind, total: kind.total + Number(count) })
  }
  const largest = [...kinds].sort(([, kind], [, other]) => other.total - kind.total)
  const indexes = new Map(largest.map(([key], index) => [key, index]))
  return {
    kinds: largest.map(([, { feedback_type, value }]) => ({ feedback_type, value })),
    buckets: rows.map(({ bucket, feedback_type, value, count }) => ({
      started_at: formatTime(edges[Number(bucket)] as number),
      kind: feedback_type === null ? null : (indexes.get(keyOf(feedback_type, value)) ?? null),
      count: Number(count),
    })),
  }
}
