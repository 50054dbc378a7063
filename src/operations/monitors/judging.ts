import { entityOf } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { Refusal } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import {
  monitorsAtWork,
  type SettledJudgement,
  type TakenJudgement,
  tokensOfDay,
} from '../../storage/monitors/judgements.ts'
import {
  findMonitor,
  type Monitor,
  type MonitorKey,
  type MonitorScorer,
} from '../../storage/monitors/monitors.ts'
import { boundTo } from '../../storage/transaction.ts'
import { type BackgroundWork, inBackground, whileHeld } from '../background.ts'
import { isKnownUser, mayStillAct, withoutLimits } from '../background-caller.ts'
import type { OperationParts } from '../parts.ts'
import { createTurns, type TurnName } from '../turns.ts'
import { dayOf, endOfDay } from './days.ts'

type Kind = MonitorScorer['kind']

/** Of one monitor, in one turn. Checks are written together. */
const maxTaken: Record<Kind, number> = { check: 32, judge: 4 }
const maxTurns = { check: { total: 1, ofName: 1 }, judge: { total: 12, ofName: 2 } }
const idleMs = 250
/** Pause after a failure of the record, which is likely to last. */
const failedMs = 5_000
/** A judgement whose lease is not renewed for this long is taken by another process. */
const leaseMs = 30_000
const renewMs = 10_000
/** Pause before a scorer is tried again whose model is not available. */
const modelWaitMs = 15_000
/** Pause before a busy model is asked again. */
const busyWaitMs = 2_000
/** Pause before the budget of money is looked at again. */
const budgetWaitMs = 60_000
/** Pauses between the tries of a judgement that fails through no fault of its own. */
const retryMs = [5_000, 30_000, 120_000, 600_000]

/** Makes the pending judgements of monitors as background work. Checks do not wait for models. */
export function startJudging(services: OperationParts, failed: (error: unknown) => void): BackgroundWork[] {
  const own = withoutLimits(services)
  return (['check', 'judge'] as const).map((kind) => {
    const worker = createWorker(own, kind, failed)
    return inBackground({ firstMs: idleMs, failedMs, failed, run: worker })
  })
}

function createWorker(
  services: OperationParts,
  kind: Kind,
  failed: (error: unknown) => void,
): (signal: AbortSignal) => Promise<number> {
  const { db } = services
  const holder = newId()
  /** When scorers that wait for their model may be tried again, by monitor. */
  const waiting = new Map<string, Map<string, number>>()
  const turns = createTurns(maxTurns[kind], failed)
  /** The monitor whose turn began last: those after it are next. */
  let last: MonitorKey | undefined

  function waitingOf(monitor: MonitorKey): Map<string, number> {
    const key = nameOf(monitor)
    const scorers = waiting.get(key) ?? new Map<string, number>()
    for (const [scorer, until] of scorers) if (until <= performance.now()) scorers.delete(scorer)
    if (scorers.size === 0) waiting.delete(key)
    return scorers
  }

  return async (signal) => {
    // Another process may have one.
    if (kind === 'judge' && services.models.all.length === 0) return idleMs
    return turns.carryOn(() => beginTurns(signal), idleMs, signal)
  }

  async function beginTurns(signal: AbortSignal): Promise<boolean> {
    let hasBegun = false
    const keys = await monitorsAtWork(db, kind, now(), last)
    for (const key of keys) {
      if (signal.aborted) break
      const turn = turns.mayBegin(turnNameOf(key)) ? await turnOf(key, signal) : undefined
      if (turn === undefined) continue
      turns.begin(turnNameOf(key), turn())
      last = key
      hasBegun = true
    }
    // Monitors that have to wait may hide others, however many they are.
    if (!hasBegun) last = keys.at(-1)
    return hasBegun
  }

  /** One turn of one monitor; undefined if there is nothing to do. */
  async function turnOf(key: MonitorKey, signal: AbortSignal): Promise<(() => Promise<void>) | undefined> {
    const monitor = await findMonitor(db, key)
    if (monitor === undefined) return undefined
    if (!(await isKnownUser(services, monitor.runs_as))) {
      await db.write('stopMonitorsOf', { user: monitor.runs_as, now: now() })
      return undefined
    }
    if (!(await mayStillAct(services, monitor.runs_as, key.project_id))) return undefined
    const limit = await room(monitor)
    if (limit === 0) return undefined
    const time = now()
    const taken = await db.write('takeJudgements', {
      ...key,
      kind,
      holder,
      limit,
      except: [...waitingOf(key).keys()],
      now: time,
      until: time + leaseMs * 1000,
    })
    if (taken.length === 0) return undefined
    const renew = () =>
      db.write('renewJudgements', { ...key, holder, judgements: taken, until: now() + leaseMs * 1000 })
    return () => whileHeld({ everyMs: renewMs, renew, failed }, () => judgeAll(monitor, taken, signal))
  }

  /** How many judgements may begin now. With a budget it is one at a time, so that at most one exceeds the budget. */
  async function room(monitor: Monitor): Promise<number> {
    const { token_budget: budget } = monitor
    if (kind === 'check' || budget === null) return maxTaken[kind]
    if (turns.isRunning(turnNameOf(keyOf(monitor)))) return 0
    const day = dayOf(now())
    if ((await tokensOfDay(db, keyOf(monitor), day)) < budget) return 1
    const waits = `the budget of ${budget} tokens is used up until ${endOfDay(day)}`
    if (monitor.waits !== waits) await settle(monitor, [], waits)
    return 0
  }

  async function judgeAll(
    monitor: Monitor,
    taken: readonly TakenJudgement[],
    signal: AbortSignal,
  ): Promise<void> {
    const open = new Set(taken)
    try {
      const { sortByReadiness } = await import('./readiness.ts')
      const { ready, settled } = await sortByReadiness(boundTo(db, signal), monitor, taken)
      for (const judgement of taken) if (!ready.includes(judgement)) open.delete(judgement)
      if (kind === 'check') {
        for (const judgement of ready) settled.push(await outcomeOf(monitor, judgement, signal))
        await settle(monitor, settled)
      } else {
        if (settled.length > 0) await settle(monitor, settled)
        await Promise.all(
          ready.map(async (judgement) => {
            const outcome = await outcomeOf(monitor, judgement, signal)
            await settle(monitor, [outcome], outcome.state === 'pending' ? outcome.detail : null)
            open.delete(judgement)
          }),
        )
      }
    } catch (error) {
      if (!signal.aborted) throw error
      await settle(monitor, [...open].map(givenBack))
    }
  }

  async function outcomeOf(
    monitor: Monitor,
    taken: TakenJudgement,
    signal: AbortSignal,
  ): Promise<SettledJudgement> {
    try {
      const { judge } = await import('./judgement.ts')
      return await judge({ services, monitor, taken }, signal)
    } catch (error) {
      if (signal.aborted) return givenBack(taken)
      const outcome = afterRefusal(error, taken)
      if (outcome.reason === 'model_not_found' || outcome.reason === 'model_not_ready') {
        const key = nameOf(keyOf(monitor))
        const scorers = waiting.get(key) ?? new Map<string, number>()
        waiting.set(key, scorers.set(taken.scorer, performance.now() + modelWaitMs))
      }
      return { call_id: taken.call_id, scorer: taken.scorer, ...outcome }
    }
  }

  function settle(monitor: Monitor, judgements: SettledJudgement[], waits?: string | null): Promise<void> {
    const time = now()
    const fields = { ...keyOf(monitor), holder, judgements, now: time, day: dayOf(time) }
    return db.write('settleJudgements', { ...fields, ...(waits !== undefined && { waits }) })
  }
}

const keyOf = ({ project_id, id }: Monitor): MonitorKey => ({ project_id, monitor_id: id })
const nameOf = ({ project_id, monitor_id }: MonitorKey): string => `${project_id} ${monitor_id}`
const turnNameOf = (key: MonitorKey): TurnName => ({ owner: entityOf(key.project_id), name: nameOf(key) })

const givenBack = ({ call_id, scorer }: TakenJudgement): SettledJudgement => ({
  call_id,
  scorer,
  state: 'pending',
})

/** What happens to a judgement after the model failed to answer. */
export function afterRefusal(error: unknown, { attempts }: Pick<TakenJudgement, 'attempts'>) {
  const isRefusal = error instanceof Refusal
  const reason = isRefusal ? error.code : 'internal_error'
  const detail = isRefusal
    ? error.message
    : `a server error: ${error instanceof Error ? error.message : error}`
  const later = (ms: number) => ({ state: 'pending' as const, reason, detail, due_at: now() + ms * 1000 })
  switch (reason) {
    case 'model_not_found':
    case 'model_not_ready':
      return later(modelWaitMs)
    case 'budget_exceeded':
      return later(budgetWaitMs)
    case 'engine_queue_full':
    case 'engine_share_full':
      return later(busyWaitMs)
  }
  const failed = { state: 'failed' as const, reason, detail }
  if (isRefusal && error.status < 500) return failed
  const wait = retryMs[attempts]
  return wait === undefined ? failed : { ...later(wait), wasTried: true }
}
