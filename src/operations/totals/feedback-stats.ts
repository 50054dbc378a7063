import { inSteps } from '../../../packages/waiting/index.ts'
import { isObject } from '../../domain/call-facts/brief.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { checkPath, invalidPathReason, splitPath } from '../../domain/expressions/path.ts'
import { jsonList } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { formatTime, monotonicNow } from '../../domain/time.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import {
  type FeedbackMetric,
  type FeedbackRange,
  type FeedbackValue,
  newestPayloads,
  readFeedbackSums,
} from '../../storage/views/feedback-sums.ts'
import { bucketsOf, rangeOf } from './buckets.ts'
import { figureNames } from './call-stats.ts'
import { defaultSample, type FeedbackStatsBody, type PayloadSchemaBody } from './feedback-contract.ts'
import type { Aggregation } from './range-contract.ts'

const byDefault: Record<FeedbackValue, readonly Aggregation[]> = {
  numeric: ['avg', 'min', 'max'],
  boolean: ['count_true', 'count_false'],
  categorical: ['count'],
}

export async function readFeedbackStats(db: BoundDatabase, caller: Caller, body: FeedbackStatsBody) {
  requireAccess(caller, body.project_id)
  const metrics = metricsIn(body)
  const buckets = bucketsOf(body)
  const range = feedbackRange(body, buckets)
  const sums = await readFeedbackSums(db, range, buckets.edges, metrics)
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

function feedbackRange(
  body: Pick<FeedbackStatsBody, 'project_id' | 'feedback_type' | 'trigger_ref'>,
  { start, end }: { start: number; end: number },
): FeedbackRange {
  const { project_id: project, feedback_type, trigger_ref } = body
  return { project, start, end, type: feedback_type ?? undefined, trigger: trigger_ref ?? undefined }
}

/** `output.score` is `output_score` in the names of figures. No two may be the same: `count_true_x` has two meanings. */
function metricsIn({ metrics }: FeedbackStatsBody): (FeedbackMetric & { slug: string })[] {
  const taken = new Set<string>()
  return (metrics ?? []).map(({ json_path, value_type, ...figures }, index) => {
    const field = `metrics.${index}.json_path`
    checkPath(json_path, field)
    const slug = json_path.replaceAll(/\W/g, '_')
    const type = value_type ?? 'numeric'
    const named = figureNames(slug, [figures], byDefault[type])
    const names = [`path ${slug}`, ...named.names.values(), ...named.percentiles.values()]
    if (names.some((name) => taken.has(name))) {
      const why = `${JSON.stringify(json_path)}, whose figures are named like those before`
      throw wrong(field, why, 'each path once')
    }
    for (const name of names) taken.add(name)
    return { slug, path: splitPath(json_path), type, ...named }
  })
}

/** A payload whose keys are data has new paths in each record. */
const maxPaths = 1_000
const maxMembers = 100
const deepest = 8

/** The paths of the values that payloads have, with their types. */
export async function findPayloadPaths(db: BoundDatabase, caller: Caller, body: PayloadSchemaBody) {
  requireAccess(caller, body.project_id)
  const types = new Map<string, FeedbackValue>()
  const range = feedbackRange(body, { start: body.start, end: body.end ?? monotonicNow() })
  for await (const payloads of newestPayloads(db, range, body.sample_limit ?? defaultSample)) {
    await inSteps(payloads, (payload) => note(types, '', JSON.parse(payload), 1))
  }
  const paths = Array.from(types, ([json_path, value_type]) => ({ json_path, value_type }))
  return { paths: paths.sort((a, b) => (a.json_path < b.json_path ? -1 : 1)) }
}

function note(types: Map<string, FeedbackValue>, path: string, value: unknown, depth: number): void {
  if (isObject(value)) {
    if (depth > deepest) return
    for (const [name, member] of Object.entries(value).slice(0, maxMembers)) {
      // Some names cannot be written as a step.
      if (name === '' || name.includes('\\')) continue
      const step = name.replaceAll('.', '\\.')
      note(types, path === '' ? step : `${path}.${step}`, member, depth + 1)
    }
    return
  }
  const type = typeOf(value)
  const known = types.get(path)
  if (type === undefined || known === type) return
  if (known !== undefined) types.set(path, 'categorical')
  else if (types.size < maxPaths && invalidPathReason(path) === undefined) types.set(path, type)
}

function typeOf(value: unknown): FeedbackValue | undefined {
  if (typeof value === 'number') return 'numeric'
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' ? 'categorical' : undefined
}
