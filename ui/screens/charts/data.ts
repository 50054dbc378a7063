import { signal } from '@preact/signals'
import {
  type Buckets,
  type ChartView,
  type FeedbackBuckets,
  readBuckets,
  readFeedbackBuckets,
  type Timed,
} from '../../server/charts.ts'
import type { LiveEvent } from '../../server/events.ts'
import { bucketsOf, type Range } from './range.ts'

export interface Shown {
  /** The range for which it was read. */
  range: Range
  times: readonly Date[]
  of: Record<Timed, Buckets>
  feedback: FeedbackBuckets
}

export async function readCharts(
  view: ChartView,
  signal: AbortSignal,
): Promise<Omit<Shown, 'range' | 'times'>> {
  const [latency, first, feedback] = await Promise.all([
    readBuckets(view, 'latency', signal),
    readBuckets(view, 'first_token', signal),
    readFeedbackBuckets(view, signal),
  ])
  return { of: { latency, first_token: first }, feedback }
}

/** Shortest pause between reads, however much changes. */
const restMs = 5_000

/** Reads the charts of one view, and again when calls have come. */
export function createCharts(viewOf: (range: Range) => ChartView, rangeNow: () => Range) {
  const shown = signal<Shown | undefined>(undefined)
  const error = signal<Error | undefined>(undefined)
  const closing = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined

  async function read(): Promise<void> {
    const range = rangeNow()
    const view = viewOf(range)
    try {
      shown.value = { range, times: bucketsOf(range), ...(await readCharts(view, closing.signal)) }
      error.value = undefined
    } catch (given) {
      if (!closing.signal.aborted) error.value = given as Error
    }
  }

  void read()
  return {
    shown,
    error,
    reload: read,
    hear(heard: LiveEvent): void {
      if (!rangeNow().isMoving || timer !== undefined) return
      if (heard !== 'resync' && heard.kind !== 'call' && heard.kind !== 'feedback') return
      timer = setTimeout(() => {
        timer = undefined
        void read()
      }, restMs)
    },
    close(): void {
      clearTimeout(timer)
      closing.abort()
    },
  }
}
