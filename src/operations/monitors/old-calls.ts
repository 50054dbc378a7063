import { parseExpression } from '../../domain/expressions/parse.ts'
import { isSampled } from '../../domain/sampling.ts'
import { formatTime, now } from '../../domain/time.ts'
import { streamCalls } from '../../storage/calls/queries.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { hasLeftovers } from '../../storage/monitors/judgements.ts'
import { findMonitor } from '../../storage/monitors/monitors.ts'
import { activeRuns, countsOfRun, type MonitorRun } from '../../storage/monitors/runs.ts'
import { boundTo } from '../../storage/transaction.ts'
import { type BackgroundWork, inBackground } from '../background.ts'
import { storedConditions, viewOfConditions } from './conditions.ts'

/** Calls noted in one write; few, so that other writes hardly wait. */
const callsAtOnce = 200
/** More calls are looked for while fewer judgements of a run are pending. */
const maxWaiting = 1_000
const runsAtOnce = 100
const idleMs = 500
const failedMs = 5_000
const leftoversAtOnce = 500

/** Finds the calls of runs, a page at a time, and ends runs that are over. */
export function startRuns(db: Database, failed: (error: unknown) => void): BackgroundWork {
  return inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    async run(signal) {
      let isBusy = false
      for (const run of await activeRuns(db, runsAtOnce)) {
        if (signal.aborted) break
        if (await step(boundTo(db, signal), run)) isBusy = true
      }
      if (!isBusy && (await hasLeftovers(db)))
        await db.writeInBackground('dropJudgements', { limit: leftoversAtOnce })
      return isBusy ? 0 : idleMs
    },
  })
}

/** Returns whether there is more to do at once. */
async function step(db: BoundDatabase, run: MonitorRun): Promise<boolean> {
  const { project_id, monitor_id, id: run_id } = run
  const key = { project_id, monitor_id, run_id }
  const { pending } = await countsOfRun(db, run)
  if (run.state === 'judging') {
    if (pending === 0 || (await findMonitor(db, key)) === undefined) {
      await db.write('endMonitorRun', { ...key, now: now() })
    }
    return false
  }
  if (pending >= maxWaiting) return false
  const limit = Math.min(callsAtOnce, (run.most ?? Number.POSITIVE_INFINITY) - run.found)
  const page = await pageOf(db, run)
  const sampled = page
    .filter(({ id }) => isSampled(run_id, id, run.sampling_rate))
    .slice(0, Math.max(0, limit))
  const last = sampled.length === limit ? sampled.at(-1) : page.at(-1)
  await db.write('stepMonitorRun', {
    ...key,
    from: run.seen_id,
    calls: sampled.map(({ id }) => id),
    seen_at: last?.started_at ?? run.seen_at,
    seen_id: last?.id ?? run.seen_id,
    isLast: page.length < callsAtOnce || run.found + sampled.length >= (run.most ?? Number.POSITIVE_INFINITY),
    now: now(),
  })
  return page.length === callsAtOnce
}

/** The next calls, oldest first. */
async function pageOf(db: BoundDatabase, run: MonitorRun): Promise<{ id: string; started_at: number }[]> {
  const monitor = await findMonitor(db, run)
  if (monitor === undefined) return []
  const conditions = [storedConditions(monitor.conditions), storedConditions(run.conditions)]
  const view = viewOfConditions(run.project_id, conditions, undefined, placeOf(run))
  const columns = { large: new Set<never>(), totalStorageSize: false }
  const page: { id: string; started_at: number }[] = []
  for await (const rows of streamCalls(db, { ...view, limit: callsAtOnce }, columns, now())) {
    for (const { id, started_at } of rows) page.push({ id, started_at })
  }
  return page
}

/** After the last call seen, and not after the start of the run. */
function placeOf({ seen_at, seen_id, before }: MonitorRun) {
  const field = (name: string) => ({ $getField: name })
  const at = (time: number) => ({ $literal: formatTime(time) })
  const operations: object[] = [{ $lte: [field('started_at'), at(before)] }]
  if (seen_at !== null && seen_id !== null) {
    operations.push(
      // The first condition is redundant, but lets the index be used.
      { $gte: [field('started_at'), at(seen_at)] },
      { $or: [{ $gt: [field('started_at'), at(seen_at)] }, { $gt: [field('id'), { $literal: seen_id }] }] },
    )
  }
  return operations.map((operation) => parseExpression({ $expr: operation }))
}
