import { membersOf } from '../../../packages/json/index.ts'
import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { requireFew } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Models } from '../../inference/registry.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { tokensOfDay } from '../../storage/monitors/judgements.ts'
import { findMonitor, type Monitor, type MonitorScorer } from '../../storage/monitors/monitors.ts'
import { countJudgements, type JudgementCount, streamScores } from '../../storage/monitors/stats.ts'
import { maxStats, type StatsBody } from './contract.ts'
import { dayOf } from './days.ts'
import { createDistributions } from './distributions.ts'

/** Of one monitor; older scores are not read. */
const maxScores = 10_000

/** An entry for each named monitor that exists, in the given order. */
export async function monitorStats(
  { db, models }: { db: BoundDatabase; models: Models },
  caller: Caller,
  body: StatsBody,
) {
  const { project_id, monitor_ids } = body
  requireAccess(caller, project_id)
  requireFew('monitor_ids', monitor_ids, maxStats)
  const stats: object[] = []
  for (const monitor_id of new Set(monitor_ids)) {
    const monitor = await findMonitor(db, { project_id, monitor_id })
    if (monitor !== undefined) stats.push(await statsOf(db, models, monitor, body))
  }
  return { stats }
}

async function statsOf(
  db: BoundDatabase,
  models: Models,
  monitor: Monitor,
  { after, before }: Pick<StatsBody, 'after' | 'before'>,
) {
  const time = now()
  const { project_id, id: monitor_id } = monitor
  const ofTime = { project_id, monitor_id, after: after ?? 0, before: before ?? Number.MAX_SAFE_INTEGER }
  const counts = await countJudgements(db, ofTime)
  const oldest = Math.min(
    ...counts.flatMap(({ state, oldest: at }) => (state === 'pending' && at ? [at] : [])),
  )
  const sumOf = (state: JudgementCount['state']) =>
    counts.reduce((sum, row) => sum + (row.state === state ? row.count : 0), 0)
  return {
    monitor_id,
    pending: sumOf('pending'),
    judged: counts.reduce((sum, { again }) => sum + again, sumOf('judged')),
    skipped: sumOf('skipped'),
    failed: sumOf('failed'),
    tokens_today: await tokensOfDay(db, ofTime, dayOf(time)),
    token_budget: monitor.token_budget,
    lag_seconds: Number.isFinite(oldest) ? Math.max(0, (time - oldest) / 1_000_000) : 0,
    waits: waitsOf(monitor, models, counts),
    reasons: counts
      .filter(({ reason }) => reason !== null)
      .map(({ scorer, state, reason, count, detail }) => ({ scorer, state, reason, count, detail })),
    scores: await distributionsOf(db, ofTime),
  }
}

/** Why judgements are waiting; null if they are not. */
function waitsOf(monitor: Monitor, models: Models, counts: readonly JudgementCount[]): string | null {
  const pending = new Set(counts.filter(({ state }) => state === 'pending').map(({ scorer }) => scorer))
  if (pending.size === 0) return null
  if (monitor.active === 0) return monitor.stopped ?? 'the monitor is paused'
  const judges = (JSON.parse(monitor.scorers) as MonitorScorer[]).filter(({ kind }) => kind === 'judge')
  if (!judges.some(({ name }) => pending.has(name))) return null
  return models.all.length === 0 ? 'this server runs without a model (HEDDLE_MODEL=none)' : monitor.waits
}

async function distributionsOf(db: BoundDatabase, ofTime: Parameters<typeof streamScores>[1]) {
  const yieldToLoop = createYieldToLoop()
  const distributions = createDistributions()
  for await (const rows of streamScores(db, ofTime, maxScores)) {
    for (const { scorer, payload } of rows) {
      distributions.add(scorer, membersOf(payload).get('output') ?? 'null')
      const pause = yieldToLoop()
      if (pause) await pause
    }
  }
  return distributions.all()
}
