/** A range of time, cut into buckets of a round length. */
export interface Range {
  after: Date
  before: Date
  stepSeconds: number
  /** Whether it ends now and moves on with the clock. */
  isMoving: boolean
}

const [minute, hour, day] = [60, 3_600, 86_400]

/** Ranges that end now. */
export const spans = [
  { name: '1h', label: 'Hour', seconds: hour },
  { name: '24h', label: 'Day', seconds: day },
  { name: '7d', label: 'Week', seconds: 7 * day },
  { name: '30d', label: 'Month', seconds: 30 * day },
  { name: '1y', label: 'Year', seconds: 365 * day },
] as const

const steps = [
  ...[1, 5, 15, 30],
  ...[1, 2, 5, 15, 30].map((count) => count * minute),
  ...[1, 2, 4, 8, 12].map((count) => count * hour),
  ...[1, 7, 28].map((count) => count * day),
]
const mostBuckets = 96

const stepOf = (seconds: number): number =>
  steps.find((step) => seconds / step <= mostBuckets) ?? Math.ceil(seconds / mostBuckets / day) * day

/** As the address has it: the name of a span, or two times separated by two dots. One day where it has none. */
export function rangeIn(text: string | null, now: Date): Range {
  const [from, to] = (text ?? '').split('..').map((time) => new Date(time))
  if (from && to && from.getTime() < to.getTime()) {
    const stepSeconds = stepOf((to.getTime() - from.getTime()) / 1_000)
    return { after: from, before: to, stepSeconds, isMoving: false }
  }
  const { seconds } = spans.find(({ name }) => name === text) ?? spans[1]
  return {
    after: new Date(now.getTime() - seconds * 1_000),
    before: now,
    stepSeconds: stepOf(seconds),
    isMoving: true,
  }
}

export const rangeText = (from: Date, to: Date): string => `${from.toISOString()}..${to.toISOString()}`

/** When each bucket begins: at multiples of its step since 1970, as the server cuts them. */
export function bucketsOf({ after, before, stepSeconds }: Range): Date[] {
  const step = stepSeconds * 1_000
  const first = Math.floor(after.getTime() / step) * step
  const count = Math.max(1, Math.ceil((before.getTime() - first) / step))
  return Array.from({ length: count }, (_, index) => new Date(first + index * step))
}
