import { type Caller, requireAccess } from '../../domain/callers.ts'
import { jsonList } from '../../domain/json/text.ts'
import { formatTime, now } from '../../domain/time.ts'
import { readSpanStats, type SpanMetric, type SpanStat } from '../../storage/agents/span-stats.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { bucketsOf, rangeOf } from '../totals/buckets.ts'
import { figureNames } from '../totals/call-stats.ts'
import { tooMany } from '../totals/call-usage.ts'
import type { Aggregation } from '../totals/range-contract.ts'
import { conversationsWith } from './signals.ts'
import { spansViewOf, takenName } from './spans.ts'
import { defaultGroups, type SpanStatsBody } from './stats-contract.ts'
import { spanValueOf } from './value-contract.ts'

const maxRows = 10_000
const timeName = 'timestamp'

type ValueType = 'number' | 'boolean' | 'string'
const byDefault: Record<ValueType, readonly Aggregation[]> = {
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
  const columns = columnsOf(names, metrics)
  for (const [index, name] of names.entries()) {
    if (columns.filter((column) => column.name === name).length > 1) {
      throw takenName(`group_by.${index}.alias`, name)
    }
  }
  const { start, end, edges } = buckets
  const { project_id, query } = body
  const time = now()
  const only = await conversationsWith(db, project_id, body.signal_filters, time)
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
  const stats = await readSpanStats(db, view, metrics, time)
  if (stats.length > maxRows) throw tooManyRows(buckets.granularity)
  const shown = largest(stats, body.group_limit ?? defaultGroups)
  return {
    ...rangeOf(buckets),
    bucket_type: 'time' as const,
    columns,
    rows: await jsonList(
      shown.map(({ bucket, keys, figures }) => ({
        [timeName]: formatTime(edges[bucket] as number),
        ...Object.fromEntries(names.map((name, index) => [name, keys[index] ?? null])),
        ...figures,
      })),
    ),
  }
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

function columnsOf(names: readonly string[], metrics: readonly NamedMetric[]) {
  const plain = { metric: null, aggregation: null }
  return [
    { name: timeName, role: 'time' as const, value_type: 'datetime' as const, ...plain },
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
