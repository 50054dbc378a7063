import { type Caller, requireAccess } from '../../domain/callers.ts'
import { jsonList } from '../../domain/json/text.ts'
import { formatTime, now } from '../../domain/time.ts'
import {
  type NumberBins,
  readEnds,
  readSpanStats,
  type SpanMetric,
  type SpanStat,
} from '../../storage/agents/span-stats.ts'
import type { SpansView } from '../../storage/agents/spans.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { bucketsOf, rangeOf } from '../totals/buckets.ts'
import { figureNames } from '../totals/call-stats.ts'
import { tooMany } from '../totals/call-usage.ts'
import { conversationsWith } from './signals.ts'
import { spansViewOf, takenName } from './spans.ts'
import { defaultBins, defaultGroups, type SpanStatsBody } from './stats-contract.ts'
import { type SpanAggregation, spanValueOf } from './value-contract.ts'

const maxRows = 10_000
const timeName = 'timestamp'
const plain = { metric: null, aggregation: null }
const timeColumns = [{ name: timeName, role: 'time' as const, value_type: 'datetime' as const, ...plain }]
const binColumns = ['bucket_index', 'bucket_min', 'bucket_max'].map((name) => ({
  ...{ name, role: 'bucket' as const, value_type: 'number' as const, ...plain },
}))

type ValueType = 'number' | 'boolean' | 'string'
const byDefault: Record<ValueType, readonly SpanAggregation[]> = {
  number: ['sum'],
  boolean: ['count_true', 'count_false'],
  string: ['count'],
}

export async function readSpanFigures(db: BoundDatabase, caller: Caller, body: SpanStatsBody) {
  requireAccess(caller, body.project_id)
  const buckets = bucketsOf(body)
  const refs = body.group_by ?? []
  const names = refs.map(({ key, alias }) => alias ?? key)
  const metrics = metricsIn(body)
  const isTime = body.bucket_by?.type !== 'number'
  const columns = columnsOf(isTime ? timeColumns : binColumns, names, metrics)
  for (const [index, name] of names.entries()) {
    if (columns.filter((column) => column.name === name).length > 1) {
      throw takenName(`group_by.${index}.alias`, name)
    }
  }
  const { start, end, edges } = buckets
  const { project_id, query } = body
  const time = now()
  const only = await conversationsWith(db, project_id, start, body.signal_filters, time)
  const view = {
    ...spansViewOf({ project_id, query, limit: maxRows + 1 }),
    ...(only !== undefined && { conversations: only }),
    ...{
      from: start,
      before: end,
      edges,
      keys: refs.map(({ key, source }) => spanValueOf({ key, source })),
    },
  }
  const bins = isTime ? undefined : await binsOf(db, view, body.bucket_by ?? { type: 'number' }, time)
  const isEmpty = !isTime && bins === undefined
  const stats = isEmpty ? [] : await readSpanStats(db, { ...view, ...(bins && { bins }) }, metrics, time)
  if (stats.length > maxRows) throw tooManyRows(buckets.granularity)
  const shown = largest(stats, body.group_limit ?? defaultGroups)
  return {
    ...rangeOf(buckets),
    bucket_type: isTime ? ('time' as const) : ('number' as const),
    columns,
    rows: await jsonList(
      shown.map(({ bucket, keys, figures }) => ({
        ...(bins ? binIn(bins, bucket) : { [timeName]: formatTime(edges[bucket] as number) }),
        ...Object.fromEntries(names.map((name, index) => [name, keys[index] ?? null])),
        ...figures,
      })),
    ),
  }
}

async function binsOf(
  db: BoundDatabase,
  view: SpansView,
  { value, bins, ...bounds }: NonNullable<SpanStatsBody['bucket_by']>,
  time: number,
): Promise<NumberBins | undefined> {
  if (value == null) return undefined
  const asked = { value: spanValueOf(value), requestPath: 'bucket_by.value.key' }
  const found = await readEnds(db, view, asked, time)
  if (found === undefined) return undefined
  const [min, max] = [bounds.min ?? found.min, bounds.max ?? found.max]
  return max < min ? undefined : { ...asked, count: max === min ? 1 : (bins ?? defaultBins), min, max }
}

function binIn({ count, min, max }: NumberBins, index: number) {
  const edge = (at: number) => (at === count ? max : min + (at * (max - min)) / count)
  return { bucket_index: index, bucket_min: edge(index), bucket_max: edge(index + 1) }
}

type NamedMetric = SpanMetric & { alias: string }

function metricsIn({ metrics, group_by }: SpanStatsBody): NamedMetric[] {
  const taken = new Set([timeName, ...(group_by ?? []).map(({ key, alias }) => alias ?? key)])
  const columns = new Set<string>()
  return (metrics ?? []).map(({ alias, value_type, value, ...figures }, index) => {
    if (taken.has(alias)) {
      throw takenName(`metrics.${index}.alias`, alias)
    }
    taken.add(alias)
    const type = value_type ?? 'number'
    const named = figureNames(alias, [figures], byDefault[type])
    // `count_true_x` has two meanings.
    for (const name of [...named.names.values(), ...named.percentiles.values()]) {
      if (columns.has(name)) throw takenName(`metrics.${index}.alias`, alias)
      columns.add(name)
    }
    return {
      ...{ alias, isText: type === 'string' },
      ...spanValueOf(value ?? { key: alias }),
      requestPath: value ? `metrics.${index}.value.key` : `metrics.${index}.alias`,
      ...named,
    }
  })
}

function columnsOf(
  buckets: typeof timeColumns | typeof binColumns,
  names: readonly string[],
  metrics: readonly NamedMetric[],
) {
  return [
    ...buckets,
    ...names.map((name) => ({ name, role: 'group' as const, value_type: 'string' as const, ...plain })),
    ...metrics.flatMap(({ alias, names: figures, percentiles }) =>
      [...figures.values(), ...percentiles.values()].map((name) => ({
        ...{ name, role: 'metric' as const, value_type: 'number' as const },
        ...{ metric: alias, aggregation: name.slice(0, -alias.length - 1) },
      })),
    ),
  ]
}

/** The buckets of the groups with the most spans. */
function largest(stats: readonly SpanStat[], limit: number): SpanStat[] {
  const counts = new Map<string, number>()
  const keyOf = ({ keys }: SpanStat) => JSON.stringify(keys)
  for (const stat of stats) counts.set(keyOf(stat), (counts.get(keyOf(stat)) ?? 0) + stat.count)
  const order = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  const shown = new Set(order.slice(0, limit).map(([key]) => key))
  return stats.filter((stat) => shown.has(keyOf(stat)))
}

const tooManyRows = (granularity: number) =>
  tooMany(
    'granularity',
    `${granularity}, with more than ${maxRows} buckets of groups`,
    `at most ${maxRows} of them: longer buckets, fewer groups, or a query`,
  )
