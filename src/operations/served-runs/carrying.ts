import { newId } from '../../domain/ids.ts'
import { JsonText } from '../../domain/json/text.ts'
import { Refusal } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { readServedRun, type ServedRun } from '../../storage/evaluations/served-runs.ts'
import { type BackgroundWork, inBackground, whileHeld } from '../background.ts'
import { mayStillAct, withoutLimits } from '../background-caller.ts'
import type { OperationParts } from '../parts.ts'
import { createTurns } from '../turns.ts'

/** Trials of one turn, as many as may be made at the same time; then another run is next. */
const stepsPerTurn = 16
/** The runs of one user leave room for those of others, however slow their models are. */
const maxTurns = { total: 4, ofName: 1 }
const idleMs = 250
const failedMs = 5_000
/** A run whose hold is not renewed for this long is taken by another process. */
const leaseMs = 30_000
const renewMs = 10_000
/** Pauses before something is tried again that fails through no fault of its own. */
const waitMs: Readonly<Record<string, number>> = {
  model_not_found: 15_000,
  model_not_ready: 15_000,
  engine_queue_full: 2_000,
  engine_share_full: 2_000,
  budget_exceeded: 60_000,
}
const retryMs = [2_000, 10_000, 30_000]

/** The turn of a run ends, because a trial is tried again after a pause. */
class LaterError extends Error {
  readonly ms: number
  constructor(ms: number) {
    super('tried again later')
    this.ms = ms
  }
}

/** Carries out the evaluation runs that this server was asked for, as background work. Runs take turns. */
export function startServedRuns(services: OperationParts, failed: (error: unknown) => void): BackgroundWork {
  const own = withoutLimits(services)
  const { db } = own
  /** How often trials have failed. */
  const failures = new Map<string, number>()
  const turns = createTurns(maxTurns, failed)

  return inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    run: (signal) => turns.carryOn(() => beginTurn(signal), idleMs, signal),
  })

  async function beginTurn(signal: AbortSignal): Promise<boolean> {
    const run = turns.hasRoom() ? await take() : undefined
    if (run !== undefined) turns.begin({ owner: run.runs_as, name: run.run_id }, turnOf(run, signal))
    return run !== undefined
  }

  function take(): Promise<ServedRun | undefined> {
    const time = now()
    // Another process may have a model.
    const hasModels = services.models.all.length > 0
    const until = time + leaseMs * 1000
    const turn = { holder: newId(), now: time, until, hasModels, except: turns.fullOwners() }
    return db.write('takeServedRun', turn)
  }

  async function turnOf(run: ServedRun, signal: AbortSignal): Promise<void> {
    const key = { project_id: run.project_id, run_id: run.run_id, holder: run.held_by ?? '' }
    const renew = () => db.write('holdServedRun', { ...key, until: now() + leaseMs * 1000 })
    const pause = await whileHeld({ everyMs: renewMs, renew, failed }, () => turn(run, signal))
    if (pause !== undefined) await db.write('holdServedRun', { ...key, ...pause })
  }

  /** Returns until when the run rests, and how far it is; undefined if it is over. */
  async function turn(run: ServedRun, signal: AbortSignal) {
    const { project_id: project, run_id, trials, position } = run
    const isStopped = run.stopped === 1 || !(await mayStillAct(own, run.runs_as, project))
    if (isStopped || position >= trials) {
      await finish(run, isStopped, signal)
      return undefined
    }
    const { nextSteps } = await import('./steps.ts')
    const { steps, concurrency } = await nextSteps(db, run, stepsPerTurn, signal)
    let [next, until, isEnding, isOver] = [0, 0, false, steps.length === 0]
    const open = new Set<number>()
    const scope = {
      caller: { name: run.runs_as, role: 'member' as const, entities: new Set<string>() },
      project,
    }
    const worker = async () => {
      while (!isEnding && next < steps.length && !signal.aborted) {
        const at = next++
        open.add(at)
        const present = await readServedRun(db, { project_id: project, run_id })
        if (present === undefined || present.stopped === 1) {
          isEnding = true
          return
        }
        const index = position + at
        const retry = (error: Refusal) => retryLater(error, `${run_id} ${index}`, steps[at]?.maxWaits)
        try {
          await unlessGone(async () => steps[at]?.carryOut({ services: own, scope, run, signal, retry }))
          open.delete(at)
          failures.delete(`${run_id} ${index}`)
        } catch (error) {
          isEnding = true
          if (error instanceof LaterError) until = Math.max(until, now() + error.ms * 1000)
          else if (isGone(error, runGone)) isOver = true
          else if (!signal.aborted) throw error
        }
      }
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
    const reached = Math.min(next, ...open)
    return { until, position: isOver ? trials : position + reached, plan: steps[reached - 1]?.plan }
  }

  /** A run that was deleted meanwhile has nothing to finish. */
  async function finish(
    { project_id, run_id, runs_as, held_by }: ServedRun,
    isStopped: boolean,
    signal: AbortSignal,
  ) {
    const scope = {
      caller: { name: runs_as, role: 'member' as const, entities: new Set<string>() },
      project: project_id,
    }
    try {
      const { finishRun } = await import('../evaluation-runs/runs.ts')
      await finishRun(
        own,
        scope,
        run_id,
        { summary: isStopped ? new JsonText('{"stopped":true}') : null },
        signal,
      )
    } catch (error) {
      if (!isGone(error, runGone)) throw error
    }
    await db.write('dropServedRun', { project_id, run_id, holder: held_by })
  }

  function retryLater(error: Refusal, key: string, maxWaits = Number.POSITIVE_INFINITY): void {
    const wait = waitMs[error.code]
    const count = failures.get(key) ?? 0
    if (wait !== undefined && count < maxWaits) {
      if (maxWaits !== Number.POSITIVE_INFINITY) failures.set(key, count + 1)
      throw new LaterError(wait)
    }
    if (error.status < 500) return
    const pause = retryMs[count]
    if (pause === undefined) return
    failures.set(key, count + 1)
    throw new LaterError(pause)
  }
}

const runGone = ['evaluation_run_not_found', 'evaluation_run_ended']
/** The trial was deleted, or another process has written it. */
const trialGone = ['prediction_not_found', 'call_conflict']
const isGone = (error: unknown, codes: readonly string[]) =>
  error instanceof Refusal && codes.includes(error.code)

async function unlessGone(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isGone(error, trialGone)) throw error
  }
}
