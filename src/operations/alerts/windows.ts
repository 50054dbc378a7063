import { isBeyond, type Measure, type WindowBounds } from '../../domain/alerts.ts'
import { entityOf } from '../../domain/callers.ts'
import { splitPath } from '../../domain/expressions/path.ts'
import { now } from '../../domain/time.ts'
import { type AlertRule, type Condition, conditionOf, type RuleKey } from '../../storage/alerts/rules.ts'
import { windowRules } from '../../storage/alerts/windows.ts'
import { type BoundDatabase, type Database, databaseOf } from '../../storage/database.ts'
import { boundTo } from '../../storage/transaction.ts'
import { readCallSums, readUsageSums } from '../../storage/views/call-sums.ts'
import { readFeedbackSums } from '../../storage/views/feedback-sums.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

const tickMs = 1_000
const failedMs = 5_000
/** A rule that a process has taken and not decided is taken by another after this. */
const leaseMicroseconds = 60 * 1_000_000
/** Windows that were missed while no server ran are decided later, so many at once and at most a day back. */
const maxMissed = 60
const maxBehind = 24 * 3_600 * 1_000_000
/** Of one round. */
const maxRules = { entity: 100, all: 1_000 }
const entitiesAtOnce = 4
/** A rule gets no longer, and an entity begins no other after it, until the other entities had their turn. */
const turnMs = 5_000
const maxModels = 10_000

/** How often a window is decided: a sixtieth of its length, within ten seconds and five minutes. In microseconds. */
const stepOf = ({ seconds }: WindowBounds): number =>
  Math.round(Math.max(10, Math.min(300, seconds / 60))) * 1_000_000

/**
 * Decides rules over windows: of an entity one after the other, of a few entities at a time, so that slow rules delay
 * those of their own entity. With several servers each window is decided by one of them.
 */
export function startWindows(
  db: Database,
  haste: number,
  failed: (error: unknown) => void,
  maxMs = turnMs,
): BackgroundWork {
  async function decideOne(key: RuleKey, signal: AbortSignal): Promise<void> {
    const own = databaseOf(entityOf(key.project_id), db)
    const late = AbortSignal.timeout(maxMs)
    try {
      const time = now()
      const rule = await own.write('takeWindowRule', { ...key, now: time, until: time + leaseMicroseconds })
      if (rule !== undefined)
        await decide(boundTo(own, AbortSignal.any([late, signal])), rule, { time, haste })
    } catch (error) {
      // It is tried again when its lease has ended.
      if (signal.aborted) return
      const why = late.aborted ? `is not decided within ${maxMs / 1000} s` : 'cannot be decided'
      failed(new Error(`the alert rule ${key.rule_id} of ${key.project_id} ${why}`, { cause: error }))
    }
  }

  return inBackground({
    firstMs: tickMs,
    failedMs,
    failed,
    async run(signal) {
      const entities = Map.groupBy(await windowRules(db, now(), maxRules), (rule) =>
        entityOf(rule.project_id),
      )
      const turns = entities.values()
      const work = async () => {
        for (const rules of turns) {
          const end = performance.now() + maxMs
          for (const rule of rules) {
            if (signal.aborted || performance.now() >= end) break
            await decideOne(rule, signal)
          }
        }
      }
      await Promise.all(Array.from({ length: entitiesAtOnce }, work))
      return tickMs
    },
  })
}

/** Decides the windows of a rule that have ended since it was decided last. */
async function decide(
  db: BoundDatabase,
  rule: AlertRule,
  { time, haste }: { time: number; haste: number },
): Promise<void> {
  const condition = conditionOf(rule.condition)
  const { window } = condition
  if (window === undefined) return
  const step = stepOf(window) / haste
  const latest = Math.floor(time / step) * step
  const from = Math.max(rule.checked_at, latest - maxBehind)
  const ends: number[] = []
  for (let end = Math.floor(from / step) * step + step; end <= latest && ends.length < maxMissed; end += step)
    ends.push(end)
  const last = ends.at(-1) ?? rule.checked_at
  const next = Math.max(time, Math.floor(last / step) * step + step)
  // Without one that has ended since, the rule only waits for the next.
  for (const end of ends.length > 0 ? ends : [last]) {
    db.signal.throwIfAborted()
    const start = end - window.seconds * 1_000_000
    const [figure = { value: null, count: 0 }] =
      end > rule.checked_at
        ? await figuresOf(db, rule.project_id, condition, { start, end, edges: [start] }, time)
        : []
    const { value, count } = figure
    await db.write('decideWindow', {
      project_id: rule.project_id,
      rule_id: rule.id,
      condition: rule.condition,
      end,
      value,
      count,
      holds: value !== null && isBeyond(window, value),
      next: end === last ? next : time + leaseMicroseconds,
      now: now(),
    })
  }
}

interface Figure {
  /** Null where there is too little to tell. */
  value: number | null
  count: number
}

interface Buckets {
  start: number
  end: number
  edges: readonly number[]
}

const named = (...names: ('sum' | 'avg' | 'count' | 'count_true' | 'count_false')[]) =>
  new Map(names.map((name) => [name, name]))
const none = new Map<number, string>()

/** The figure of each bucket that has any. */
export async function figuresOf(
  db: BoundDatabase,
  project: string,
  { filter, query, window }: Condition,
  buckets: Buckets,
  time: number,
): Promise<(Figure & { bucket: number })[]> {
  const { measure, min_count, scorer, path } = window as WindowBounds
  const enough = (bucket: number, count: number, value: number | null) => ({
    bucket,
    count,
    value: count < min_count ? null : value,
  })
  if (measure === 'score_avg') {
    const at = ['output', ...(path === null ? [] : splitPath(path))]
    const type = scorer === null ? undefined : `wandb.runnable.${scorer}`
    const metrics = [
      { path: at, type: 'numeric', names: named('sum', 'count'), percentiles: none },
      {
        path: at,
        type: 'boolean',
        names: new Map([['count_true', 'yes'] as const, ['count_false', 'no'] as const]),
        percentiles: none,
      },
    ] as const
    const { start, end, edges } = buckets
    const range = { project, start, end, type, trigger: undefined }
    const sums = await readFeedbackSums(db, range, edges, metrics)
    return sums.flatMap(({ bucket, figures }) => {
      const { sum, count, yes, no } = figures
      const scores = (count ?? 0) + (yes ?? 0) + (no ?? 0)
      return bucket === null
        ? []
        : enough(bucket, scores, scores === 0 ? null : ((sum ?? 0) + (yes ?? 0)) / scores)
    })
  }
  const view = { project, filters: [filter], query, ...buckets, limit: maxModels }
  const empty = buckets.edges.map((_, bucket) => ({ bucket, count: 0, value: 0 }))
  if (measure === 'cost' || measure === 'tokens') {
    const column = measure === 'cost' ? ('total_cost' as const) : ('total_tokens' as const)
    const metric = { column, names: named('sum', 'count'), percentiles: none }
    for (const { bucket, figures } of await readUsageSums(db, view, [metric], time)) {
      const figure = empty[bucket]
      if (figure === undefined) continue
      figure.value += figures.sum ?? 0
      figure.count += figures.count ?? 0
    }
    return empty
  }
  const percent = percentOf[measure]
  const latency = {
    column: 'latency_ms' as const,
    names: named('avg', 'count'),
    percentiles: percent === undefined ? none : new Map([[percent, 'percentile']]),
  }
  const errors = { column: 'error_count' as const, names: named('sum'), percentiles: none }
  const calls = {
    column: 'call_count' as const,
    names: new Map([['count', 'calls'] as const]),
    percentiles: none,
  }
  const figures = new Map(
    (await readCallSums(db, view, [latency, errors, calls], time)).map((sums) => [sums.bucket, sums.figures]),
  )
  return empty.map(({ bucket }) => {
    const { count, avg, sum, calls: all, percentile } = figures.get(bucket) ?? {}
    const ended = count ?? 0
    switch (measure) {
      case 'calls':
        return { bucket, count: all ?? 0, value: all ?? 0 }
      case 'errors':
        return { bucket, count: ended, value: sum ?? 0 }
      case 'error_rate':
        return enough(bucket, ended, ended === 0 ? null : (sum ?? 0) / ended)
      case 'latency_avg_ms':
        return enough(bucket, ended, avg ?? null)
      default:
        return enough(bucket, ended, percentile ?? null)
    }
  })
}

const percentOf: Partial<Record<Measure, number>> = {
  latency_p50_ms: 50,
  latency_p95_ms: 95,
  latency_p99_ms: 99,
}
