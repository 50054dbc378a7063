import { membersOf, objectText } from '../../../packages/json/index.ts'
import { requireScope } from '../../domain/callers.ts'
import { Refusal, refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { sumTrials } from '../../storage/evaluations/evaluation-list.ts'
import { type MarkedCall, requireMarked } from '../../storage/evaluations/marked-calls.ts'
import { derivePending } from '../../storage/evaluations/results.ts'
import { readServedRun } from '../../storage/evaluations/served-runs.ts'
import { countTrials } from '../../storage/evaluations/trial-calls.ts'
import { boundTo } from '../../storage/transaction.ts'
import { scorerBindings } from '../monitors/contract.ts'
import { Value } from '../objects/values.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { StartBody } from './contract.ts'
import { planOf } from './evaluate-model.ts'
import type { Plan, RescoringPlan } from './plan.ts'
import { pinnedScorers, pinOf, waitingRun } from './start.ts'

const field = 'evaluation_run_id'
const maxRetries = 100

const notResumable = (run: string, why: string): Refusal =>
  refuse('evaluation_run_not_resumable', { field, run, why })

/**
 * A run goes through its rows again from the first one: what was answered and scored stays, what is missing or failed is
 * asked. Its plan is made of what is stored, so that it needs nothing of the process that had carried it out.
 */
export async function resumeRun(services: OperationParts, scope: Scope, id: string, signal: AbortSignal) {
  requireScope(scope.caller, 'write_calls')
  const { db } = services
  const { project } = scope
  const root = await requireMarked(db, 'run', project, id, field, now())
  const { ended_at } = root
  if (ended_at === null) return requireRunning(db, project, id)
  const heddle = new Value(root.attributes).member('heddle')
  const served = heddle?.member('served_run')
  if (served === undefined) throw notResumable(id, 'this server did not carry it out')
  const source = heddle?.member('rescored')?.member('run')?.string
  await derivePending(boundTo(db, signal), project, now())
  const [sums] = await sumTrials(boundTo(db, signal), project, [id])
  const failed = source === undefined ? Number(sums?.failed ?? 0) : 0
  if (new Value(root.summary).member('stopped')?.text !== 'true' && failed === 0) {
    throw notResumable(id, 'it has ended, and the model failed at no row of it')
  }
  const retries = Number(served.member('retries')?.text ?? 0) + Number(failed > 0)
  // A client may write attributes, and each attempt has an id of its own.
  if (!Number.isInteger(retries) || retries < 0 || retries > maxRetries) {
    throw notResumable(id, `its failed rows are asked again at most ${maxRetries} times`)
  }
  const { plan, trials } = await storedPlan(services, scope, { root, source, served }, signal)
  const own = source === undefined ? { ...plan, retries } : plan
  await db.write('resumeServedRun', {
    run: waitingRun(scope, id, own, trials),
    attributes: withRetries(root.attributes, retries),
    ended_at,
    now: now(),
  })
  return { success: true as const }
}

/** A run that goes on is left as it is. */
async function requireRunning(db: OperationParts['db'], project: string, id: string) {
  const running = await readServedRun(db, { project_id: project, run_id: id })
  if (running === undefined) throw notResumable(id, 'it runs, but this server does not carry it out')
  if (running.stopped === 1) throw notResumable(id, 'it is still being stopped; ask again once it has ended')
  return { success: true as const }
}

interface StoredRun {
  root: MarkedCall
  /** The run that it scored again, if that is what it does. */
  source: string | undefined
  served: Value
}

/** What is left to do for a run, from its settings, rows and scorers; refuses if one of them is gone. */
async function storedPlan(
  services: OperationParts,
  scope: Scope,
  { root, source, served }: StoredRun,
  signal: AbortSignal,
): Promise<{ plan: Plan | RescoringPlan; trials: number }> {
  const inputs = new Value(root.inputs)
  const model = inputs.member('model')?.string ?? ''
  const bindings: unknown = JSON.parse(served.member('scorers')?.text ?? '[]')
  try {
    if (source === undefined) {
      const of = { evaluation_ref: inputs.member('self')?.string ?? '', model_ref: model }
      const planned = await planOf(services, scope, of, signal, bindings)
      const pinned = served.member('pinned')?.string
      if (pinned !== undefined && pinned !== pinOf(planned.plan)) {
        throw notResumable(root.id, 'its rows or its prompt are others than when it began')
      }
      // A client may write attributes.
      const { data: concurrency } = StartBody.shape.concurrency.safeParse(
        Number(served.member('concurrency')?.text),
      )
      return { ...planned, plan: { ...planned.plan, ...(concurrency != null && { concurrency }) } }
    }
    const { begun } = await countTrials(boundTo(services.db, signal), scope.project, source, now())
    if (begun === 0) throw notResumable(root.id, 'the run that it scores again is gone')
    const known = scorerBindings.safeParse(bindings)
    if (!known.success) throw notResumable(root.id, 'its scorers are not known')
    const scorers = await pinnedScorers(services, scope.project, { scorers: known.data })
    return { plan: { source, after: null, model, scorers }, trials: begun }
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error
    throw error.code === 'evaluation_run_not_resumable' ? error : notResumable(root.id, error.message)
  }
}

/** The attributes of a run whose failed rows were asked so many times again. */
function withRetries(attributes: string, retries: number): string {
  const changed = (json: string, name: string, change: (text: string) => string) => {
    const members = new Map(membersOf(json))
    return objectText(members.set(name, change(members.get(name) ?? '{}')))
  }
  if (retries === 0) return attributes
  return changed(attributes, 'heddle', (heddle) =>
    changed(heddle, 'served_run', (run) => changed(run, 'retries', () => String(retries))),
  )
}
