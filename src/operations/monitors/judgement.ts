import { compactJson } from '../../../packages/json/index.ts'
import { idOf, newId } from '../../domain/ids.ts'
import { JsonText, withTexts, writeJson } from '../../domain/json/text.ts'
import { judgeOp } from '../../domain/judge-op.ts'
import { callRef, objectRef } from '../../domain/refs.ts'
import { Refusal } from '../../domain/refusals.ts'
import { monotonicNow, now } from '../../domain/time.ts'
import { readCall } from '../../storage/calls/calls.ts'
import type { CallPart } from '../../storage/calls/parts.ts'
import type { Feedback } from '../../storage/feedback/feedback.ts'
import { hasFeedback, type SettledJudgement, type TakenJudgement } from '../../storage/monitors/judgements.ts'
import type { Monitor, MonitorScorer } from '../../storage/monitors/monitors.ts'
import { readUserSettings } from '../../storage/users/settings.ts'
import { createPricing } from '../calls/costs.ts'
import { endPart, startPart } from '../calls/parts.ts'
import { callRecord } from '../calls/record.ts'
import { createCheck } from '../feedback/check.ts'
import { feedbackOf } from '../feedback/create.ts'
import { atRoot, prefixes } from '../feedback/kinds.ts'
import { payloadGiven } from '../feedback/payload-size.ts'
import type { OperationParts } from '../parts.ts'
import { callValues } from '../scorers/call-values.ts'
import { runCheck } from '../scorers/check.ts'
import type { Judge } from '../scorers/contract.ts'
import { askJudge, inputsOf, type JudgeAnswer, type Question, questionOf } from '../scorers/judge.ts'
import { type BoundScorer, readScorer } from './bound-scorers.ts'

/** One judgement of a monitor, from the call to what is written. */
interface Judgement {
  services: OperationParts
  monitor: Monitor
  taken: TakenJudgement
}

interface Score {
  /** JSON. */
  output: string
  call?: CallPart
  tokens?: number
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
  const values = callValues(callRecord(row, {}), { ...scorer.fields, ...binding.fields })
  let score: Score
  if ('check' in scorer) {
    const outcome = await runCheck(scorer.check, {
      schemas: services.schemas,
      tenant: monitor.runs_as,
      values,
      costs: () => createPricing(db, project)(row),
      latencyMs: Math.trunc(((row.ended_at ?? row.started_at) - row.started_at) / 1000),
    })
    if ('state' in outcome) return { ...name, ...outcome }
    score = { output: writeJson(outcome.score) }
  } else {
    const question = questionOf(scorer.judge, values)
    if ('state' in question) return { ...name, ...question }
    const started = monotonicNow()
    const answer = await askJudge(services, scorer.judge, question, await askingOf(db, monitor, signal))
    const call = await judgeCall(judgement, { bound, judge: scorer.judge, question, answer, started })
    const { total_tokens: tokens } = answer.usage
    if (!answer.isWhole) {
      return { ...name, state: 'failed', reason: 'answer_cut_off', detail: cutOff, call, tokens }
    }
    score = { output: answer.text, call, tokens }
  }
  const { output, ...made } = score
  return {
    ...name,
    ...made,
    state: 'judged',
    feedback: await feedbackOn(judgement, bound, feedbackId, output, made.call?.id),
  }
}

const cutOff = 'the answer was cut off at judge.max_tokens, before it fit the schema'

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

/** A judge runs as the user of its monitor, with the access of that user. */
async function askingOf(db: OperationParts['db'], { runs_as: name }: Monitor, signal: AbortSignal) {
  const settings = await readUserSettings(db, name)
  return {
    caller: { name, role: 'member' as const, entities: new Set<string>(), ...(settings && { settings }) },
    id: newId(),
    arrived: performance.now(),
    signal,
    note: () => undefined,
  }
}

interface JudgeRun {
  bound: BoundScorer
  judge: Judge
  question: Question
  answer: JudgeAnswer
  started: number
}

/** The judge's own call. It has no parent; its attributes link it. */
async function judgeCall({ services, monitor, taken }: Judgement, run: JudgeRun): Promise<CallPart> {
  const { bound, answer } = run
  const { project_id } = monitor
  const id = newId()
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage
  const usage = { [answer.model]: { requests: 1, prompt_tokens, completion_tokens, total_tokens } }
  const links = {
    monitor: monitor.id,
    scorer: objectRef(services.refScheme, project_id, 'object', bound.name, bound.digest),
    call: callRef(services.refScheme, project_id, taken.call_id),
  }
  const call = {
    project_id,
    id,
    op_name: judgeOp,
    display_name: bound.name,
    started_at: run.started,
    attributes: new JsonText(writeJson({ heddle: { judge: links } })),
    inputs: new JsonText(inputsOf(run.judge, answer.model, bound.name, run.question)),
  }
  const retentionDays = await services.projects.retentionDays(project_id)
  const start = startPart(call, { user: monitor.runs_as, retentionDays })
  const { end } = endPart({
    project_id,
    id,
    ended_at: monotonicNow(),
    exception: answer.isWhole ? null : cutOff,
    output: new JsonText(answer.isWhole ? compactJson(answer.text) : JSON.stringify(answer.text)),
    summary: new JsonText(writeJson({ usage })),
  })
  return withTexts<CallPart>({ ...start, end })
}

/** The score as feedback, in the form that evaluations and queries read. */
async function feedbackOn(
  { services, monitor, taken }: Judgement,
  { name, digest }: BoundScorer,
  id: string,
  output: string,
  judgeCallId: string | undefined,
): Promise<Feedback> {
  const { db, schemas, refScheme } = services
  const { project_id, runs_as } = monitor
  const caller = { name: runs_as, role: 'member' as const, entities: new Set<string>() }
  const payload = new JsonText(`{"output":${compactJson(output)},"monitor":${JSON.stringify(monitor.id)}}`)
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
