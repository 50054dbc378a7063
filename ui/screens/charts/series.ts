import type { Bucket, Buckets, FeedbackBuckets, Timed } from '../../server/charts.ts'
import { costText, countText, durationText } from '../../value/units.ts'

export interface Panel {
  name: string
  title: string
  timed: Timed
  /** Whether groups may be added up: sums may, percentiles may not. */
  isSum: boolean
  /** Undefined where the bucket has no such calls. */
  value(bucket: Bucket): number | undefined
  text(value: number): string
  /** Which of the calls are meant, as text for the filter bar. */
  filter?: string
}

export const panels: readonly Panel[] = [
  {
    name: 'calls',
    title: 'Calls',
    timed: 'latency',
    isSum: true,
    value: ({ count }) => count,
    text: countText,
  },
  {
    name: 'errors',
    title: 'Errors',
    timed: 'latency',
    isSum: true,
    value: ({ errors }) => errors,
    text: countText,
    filter: 'status:error',
  },
  {
    name: 'read',
    title: 'Tokens read',
    timed: 'latency',
    isSum: true,
    value: ({ input_tokens }) => input_tokens,
    text: countText,
  },
  {
    name: 'written',
    title: 'Tokens written',
    timed: 'latency',
    isSum: true,
    value: ({ output_tokens }) => output_tokens,
    text: countText,
  },
  {
    name: 'cost',
    title: 'Cost',
    timed: 'latency',
    isSum: true,
    value: ({ cost }) => cost ?? undefined,
    text: costText,
  },
  ...(
    [
      ['latency', 'Latency'],
      ['first_token', 'First token'],
    ] as const
  ).flatMap(([timed, title]) => [
    {
      name: `${timed}-p50`,
      title: `${title}, median`,
      timed,
      isSum: false,
      value: ({ times }: Bucket) => (times && times.count > 0 ? times.p50_ms : undefined),
      text: durationText,
    },
    {
      name: `${timed}-p95`,
      title: `${title}, 95th percentile`,
      timed,
      isSum: false,
      value: ({ times }: Bucket) => (times && times.count > 0 ? times.p95_ms : undefined),
      text: durationText,
    },
  ]),
]

export interface Series {
  label: string
  /** One for each bucket. */
  values: readonly (number | undefined)[]
}

export const feedbackPanel: Panel = {
  ...{ name: 'feedback', title: 'Feedback', timed: 'latency', isSum: true },
  value: ({ count }) => count,
  text: countText,
  filter: 'has:feedback',
}

/** A line for each of the most frequent kinds of feedback. */
export function feedbackSeries({ kinds, buckets }: FeedbackBuckets, times: readonly Date[]): ChartSeries {
  const places = new Map(times.map((time, index) => [time.getTime(), index]))
  const valuesOf = (isOne: (kind: number | null) => boolean): Series['values'] => {
    const values = times.map(() => 0)
    for (const { started_at, kind, count } of buckets) {
      const place = places.get(Date.parse(started_at))
      if (place !== undefined && isOne(kind)) values[place] = (values[place] ?? 0) + count
    }
    return values
  }
  const series = kinds.slice(0, mostLines).map((kind, place) => ({
    label: kindLabel(kind),
    values: valuesOf((one) => one === place),
  }))
  const hasOthers = buckets.some(({ kind }) => kind === null || kind >= mostLines)
  const others = { label: 'others', values: valuesOf((one) => one === null || one >= mostLines) }
  return { series: hasOthers ? [...series, others] : series, left: 0 }
}

function kindLabel({ feedback_type: type, value }: FeedbackBuckets['kinds'][number]): string {
  if (type === 'wandb.reaction.1') return value ?? 'reaction'
  if (type === 'wandb.note.1') return 'note'
  const name = type.replace(/^wandb\.(?:annotation|runnable)\./, '')
  return value === null ? name : `${name}: ${value.replace(/^"(.*)"$/s, '$1')}`
}

/** More lines cannot be told apart. */
const mostLines = 6

export interface ChartSeries {
  series: readonly Series[]
  /** Groups without a line of their own. */
  left: number
}

/** The lines of a panel: one for each of the largest groups, and one for the rest where groups may be added up. */
export function seriesOf(
  panel: Panel,
  { groups, buckets }: Buckets,
  times: readonly Date[],
  isBy: boolean,
): ChartSeries {
  const places = new Map(times.map((time, index) => [time.getTime(), index]))
  const valuesOf = (isOne: (group: number) => boolean): Series['values'] => {
    const values: (number | undefined)[] = times.map(() => (panel.isSum ? 0 : undefined))
    for (const bucket of buckets) {
      const place = places.get(Date.parse(bucket.started_at))
      if (place === undefined || !isOne(bucket.group)) continue
      const value = panel.value(bucket)
      if (value !== undefined) values[place] = panel.isSum ? (values[place] ?? 0) + value : value
    }
    return values
  }
  if (!isBy) return { series: [{ label: panel.title, values: valuesOf(() => true) }], left: 0 }
  const used = new Set(buckets.map(({ group }) => group))
  const own = groups.flatMap(({ is_others }, group) => (is_others || !used.has(group) ? [] : [group]))
  if (panel.isSum) {
    // By what the panel shows: few calls may have cost the most.
    const sums = new Map<number, number>()
    for (const bucket of buckets)
      sums.set(bucket.group, (sums.get(bucket.group) ?? 0) + (panel.value(bucket) ?? 0))
    own.sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0))
  }
  const series = own.slice(0, mostLines).map((group) => ({
    label: groups[group]?.value ?? 'none',
    values: valuesOf((one) => one === group),
  }))
  const others = [...used].filter((group) => !own.slice(0, mostLines).includes(group))
  if (others.length === 0) return { series, left: 0 }
  if (!panel.isSum) return { series, left: others.length }
  return {
    series: [...series, { label: 'others', values: valuesOf((one) => others.includes(one)) }],
    left: 0,
  }
}
