import { type Caller, requireAccess } from '../../domain/callers.ts'
import { jsonList } from '../../domain/json/text.ts'
import { formatTime, now } from '../../domain/time.ts'
import { readCallSums, readUsageSums } from '../../storage/views/call-sums.ts'
import { callsViewOf } from '../calls/query.ts'
import type { Asked } from '../views/calls.ts'
import { bucketsOf, rangeOf } from './buckets.ts'
import { tooMany } from './call-usage.ts'
import type { Aggregation } from './range-contract.ts'
import type { CallStatsBody } from './stats-contract.ts'

/** The most rows of an answer that are assembled in memory. */
const maxRows = 20_000

export async function readCallStats({ db, names }: Asked, caller: Caller, body: CallStatsBody) {
  requireAccess(caller, body.project_id)
  const buckets = bucketsOf(body)
  const { start, end, edges } = buckets
  const { project, filters } = await callsViewOf(names, { project_id: body.project_id, filter: body.filter })
  const view = { project, filters, start, end, edges, limit: maxRows + 1 }
  const time = now()
  const ofUsage = metricsIn(body.usage_metrics)
  const ofCalls = metricsIn(body.call_metrics)
  const usage = ofUsage.length > 0 ? await readUsageSums(db, view, ofUsage, time) : []
  if (usage.length > maxRows) throw tooManyRows(buckets.granularity)
  const calls = ofCalls.length > 0 ? await readCallSums(db, view, ofCalls, time) : []
  const timeOf = (bucket: number) => ({ timestamp: formatTime(edges[bucket] as number) })
  return {
    ...rangeOf(buckets),
    usage_buckets: await jsonList(
      usage.map(({ bucket, model, figures }) => ({ ...timeOf(bucket), model, ...figures })),
    ),
    call_buckets: await jsonList(calls.map(({ bucket, figures }) => ({ ...timeOf(bucket), ...figures }))),
  }
}

interface MetricGiven<Metric extends string> extends FiguresGiven<Aggregation> {
  metric: Metric
}

interface FiguresGiven<Name> {
  aggregations?: readonly Name[] | null | undefined
  percentiles?: readonly number[] | null | undefined
}

/** Each metric once, with everything that is asked of it. */
function metricsIn<Metric extends string>(metrics: readonly MetricGiven<Metric>[] | null | undefined) {
  const named = Map.groupBy(metrics ?? [], ({ metric }) => metric)
  return Array.from(named, ([column, all]) => ({ column, ...figureNames(column, all, ['sum']) }))
}

/** The names of figures: `avg_latency_ms`, `p95_latency_ms`. */
export function figureNames<Name extends string = Aggregation>(
  slug: string,
  all: readonly FiguresGiven<Name>[],
  byDefault: readonly Name[],
) {
  const names = all.flatMap(({ aggregations, percentiles }) =>
    aggregations?.length ? aggregations : percentiles?.length ? [] : byDefault,
  )
  const percents = all.flatMap(({ percentiles }) => percentiles ?? [])
  return {
    names: new Map(names.map((name) => [name, `${name}_${slug}`])),
    percentiles: new Map(percents.map((percent) => [percent, `p${percent}_${slug}`])),
  }
}

function tooManyRows(granularity: number) {
  const count = `${granularity}, with more than ${maxRows} buckets of models`
  return tooMany('granularity', count, `at most ${maxRows} of them: longer buckets, or a filter`)
}
