import { type Caller, requireAccess } from '../../domain/callers.ts'
import { formatTime, monotonicNow, now } from '../../domain/time.ts'
import { readFeedbackBuckets } from '../../storage/views/feedback-buckets.ts'
import { callsViewOf } from '../calls/query.ts'
import { edgesOf } from './buckets.ts'
import type { Asked } from './calls.ts'
import type { FeedbackBucketsBody } from './feedback-contract.ts'

const maxKinds = 20

/** Feedback of users and scorers, over time. */
export async function readFeedbackOverTime(
  { db, names }: Asked,
  caller: Caller,
  body: FeedbackBucketsBody,
  signal: AbortSignal,
) {
  requireAccess(caller, body.project_id)
  const { project_id, filter, query } = body
  const time = now()
  // Includes what was written within this tick of the clock.
  const edges = edgesOf(body, monotonicNow())
  const [from = 0, end = 0] = [edges[0], edges.at(-1)]
  const view = await callsViewOf(names, { project_id, filter, query })
  const range = { from, end, step: body.step_seconds * 1_000_000, most: maxKinds }
  const rows = await readFeedbackBuckets(db, { ...view, ...range }, time, signal)
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
