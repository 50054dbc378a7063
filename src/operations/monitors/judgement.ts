import { idOf } from '../../domain/ids.ts'
import { JsonText, withTexts, writeJson } from '../../domain/json/text.ts'
import { callRef, objectRef } from '../../domain/refs.ts'
import { Refusal } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { readCall } from '../../storage/calls/calls.ts'
import type { Feedback } from '../../storage/feedback/feedback.ts'
import { hasFeedback, type SettledJudgement, type TakenJudgement } from '../../storage/monitors/judgements.ts'
import type { Monitor, MonitorScorer } from '../../storage/monitors/monitors.ts'
import { backgroundAsking } from '../background-caller.ts'
import { createPricing } from '../calls/costs.ts'
import { callRecord } from '../calls/record.ts'
import { createCheck } from '../feedback/check.ts'
import { feedbackOf } from '../feedback/create.ts'
import { atRoot, prefixes } from '../feedback/kinds.ts'
import { payloadGiven } from '../feedback/payload-size.ts'
import type { OperationParts } from '../parts.ts'
import { callValues } from '../scorers/call-values.ts'
import { judgeCallOf } from '../scorers/judge-call.ts'
import { score } from '../scorers/scoring.ts'
import { type BoundScorer, readScorer } from './bound-scorers.ts'

/** One judgement of a monitor, from the call to what is written. */
interface Judgement {
  services: OperationParts
  monitor: Monitor
  taken: TakenJudgement
}

/** Makes the judgement and returns its outcome. Throws refusals of a model or of the record. */
export async function judge(judgement: Judgement, signal: AbortSignal): Promise<SettledJudgement> {
  const { services, monitor, taken } = judgement
  const { db } = services
  const { project_id: project } = monitor
  const name = { call_id: taken.call_id, scorer: taken.scorer }
  const binding = (JSON.parse(monitor.scorers) as MonitorScorer[]).find((item) => item.name === taken.scorer)
  // The scorer has been removed from the monitor.
  if (binding === undefined) return { ...name, state: 'other' }
  const bound = await scorerOf(db, project, binding)
  if ('reason' in bound) return { ...name, ...bound }
  const feedbackId = idOf(`${monitor.id} ${bound.name} ${bound.digest} ${taken.call_id}`)
  if (await hasFeedback(db, project, feedbackId)) {
    return { ...name, state: 'judged', feedback_id: feedbackId }
  }
  const row = await readCall(db, project, taken.call_id, false, now())
  if (row === undefined) {
    return { ...name, state: 'skipped', reason: 'call_gone', detail: 'the call was deleted or has expired' }
  }
  const { scorer } = bound
  const call = {
    values: callValues(callRecord(row, {}), { ...scorer.fields, ...binding.fields }),
    costs: () => createPricing(db, project)(row),
    latencyMs: Math.trunc(((row.ended_at ?? row.started_at) - row.started_at) / 1000),
  }
  const asking = await backgroundAsking(db, monitor.runs_as, project, signal)
  const { run, ...outcome } = await score(services, scorer, call, asking)
  const made = run && {
    call: await judgeCallOf(services, judgeCallFields(judgement, bound), run),
    tokens: run.answer.usage.total_tokens,
  }
  if ('state' in outcome) return { ...name, ...outcome, ...made }
  return {
    ...name,
    ...made,
    state: 'judged',
    feedback: await feedbackOn(
      judgement,
      bound,
      feedbackId,
      outcome.output,
      made?.call.id,
      run?.answer.decisions,
    ),
  }
}

/** A scorer that was deleted, or that no longer is one, fails: it will not come back by itself. */
async function scorerOf(
  db: OperationParts['db'],
  project: string,
  { ref }: MonitorScorer,
): Promise<BoundScorer | { state: 'failed'; reason: string; detail: string }> {
  try {
    return await readScorer(db, project, ref, 'scorer')
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error
    return { state: 'failed', reason: error.code, detail: error.message }
  }
}

/** The judge's own call has no parent; its attributes link it. */
const judgeCallFields = ({ services, monitor, taken }: Judgement, { name, digest }: BoundScorer) => ({
  project: monitor.project_id,
  user: monitor.runs_as,
  name,
  links: {
    monitor: monitor.id,
    scorer: objectRef(services.refScheme, monitor.project_id, 'object', name, digest),
    call: callRef(services.refScheme, monitor.project_id, taken.call_id),
  },
})

/** The score as feedback, in the form that evaluations and queries read. */
async function feedbackOn(
  { services, monitor, taken }: Judgement,
  { name, digest }: BoundScorer,
  id: string,
  output: string,
  judgeCallId: string | undefined,
  decisions: object | undefined,
): Promise<Feedback> {
  const { db, schemas, refScheme } = services
  const { project_id, runs_as } = monitor
  const caller = { name: runs_as, role: 'member' as const, entities: new Set<string>() }
  const payload = new JsonText(
    writeJson({
      output: new JsonText(output),
      monitor: monitor.id,
      ...(decisions && { decisions }),
    }),
  )
  const fields = {
    project_id,
    id,
    svc_ref: callRef(refScheme, project_id, taken.call_id),
    feedback_type: `${prefixes.runnable}.${name}`,
    payload: payloadGiven(payload),
    creator: monitor.name,
    runnable_ref: objectRef(refScheme, project_id, 'object', name, digest),
    ...(judgeCallId && { call_ref: callRef(refScheme, project_id, judgeCallId) }),
  }
  const feedback = await feedbackOf(createCheck(db, schemas, runs_as), caller, fields, atRoot)
  return withTexts<Feedback>(feedback)
}
