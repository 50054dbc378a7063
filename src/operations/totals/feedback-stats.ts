import { type Caller, requireAccess } from '../../domain/callers.ts'
import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { jsonList } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import {
  type FeedbackMetric,
  type FeedbackRange,
  type FeedbackValue,
  readFeedbackSums,
} from '../../storage/views/feedback-sums.ts'
import { bucketsOf, rangeOf } from './buckets.ts'
import { figureNames } from './call-stats.ts'
import type { FeedbackStatsBody } from './feedback-contract.ts'
import type { Aggregation } from './range-contract.ts'

const byDefault: Record<FeedbackValue, readonly Aggregation[]> = {
  numeric: ['avg', 'min', 'max'],
  boolean: ['count_true', 'count_false'],
  categorical: ['count'],
}

export async function readFeedbackStats(
  db: Database,
  caller: Caller,
  body: FeedbackStatsBody,
  signal: AbortSignal,
) {
  requireAccess(caller, body.project_id)
  const metrics = metricsIn(body)
  const buckets = bucketsOf(body)
  const range = feedbackRange(body, buckets)
  const sums = await readFeedbackSums(db, range, buckets.edges, metrics, signal)
  const whole = sums.pop()?.figures ?? {}
  const rows = sums.map(({ bucket, count, figures }) => ({
    ...{ timestamp: formatTime(buckets.edges[bucket as number] as number), count },
    ...figures,
  }))
  const window = metrics.map(({ slug, names, percentiles }) => {
    const figures = [...names, ...percentiles].map(([, name]) => [
      name.slice(0, -slug.length - 1),
      whole[name] ?? null,
    ])
    return [slug, Object.fromEntries(figures)]
  })
  return { ...rangeOf(buckets), buckets: await jsonList(rows), window_stats: Object.fromEntries(window) }
}

export function feedbackRange(
  body: Pick<FeedbackStatsBody, 'project_id' | 'feedback_type' | 'trigger_ref'>,
  { start, end }: { start: number; end: number },
): FeedbackRange {
  const { project_id: project, feedback_type, trigger_ref } = body
  return { project, start, end, type: feedback_type ?? undefined, trigger: trigger_ref ?? undefined }
}

/** `output.score` is `output_score` in the names of figures, and no two paths may have the same. */
function metricsIn({ metrics }: FeedbackStatsBody): (FeedbackMetric & { slug: string })[] {
  const slugs = new Set<string>()
  return (metrics ?? []).map(({ json_path, value_type, ...figures }, index) => {
    const field = `metrics.${index}.json_path`
    checkPath(json_path, field)
    const slug = json_path.replaceAll(/\W/g, '_')
    if (slugs.has(slug)) {
      const given = `${JSON.stringify(json_path)}, whose figures are named like those before`
      throw refuse('invalid_value', { field, given, accepted: 'each path once' })
    }
    slugs.add(slug)
    const type = value_type ?? 'numeric'
    return { slug, path: splitPath(json_path), type, ...figureNames(slug, [figures], byDefault[type]) }
  })
}
