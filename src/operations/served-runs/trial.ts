import { membersOf, objectText } from '../../../packages/json/index.ts'
import { idOf } from '../../domain/ids.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { callRef } from '../../domain/refs.ts'
import { Refusal } from '../../domain/refusals.ts'
import { monotonicNow, now } from '../../domain/time.ts'
import { type CallRow, readCall } from '../../storage/calls/calls.ts'
import type { ServedRun } from '../../storage/evaluations/served-runs.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { backgroundAsking } from '../background-caller.ts'
import { createPricing } from '../calls/costs.ts'
import { callRecord } from '../calls/record.ts'
import type { ChatAnswered } from '../chat-asking.ts'
import { createPrediction, finishPrediction } from '../evaluation-runs/predictions.ts'
import { createScore } from '../evaluation-runs/scores.ts'
import { readScorer } from '../monitors/bound-scorers.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { answerValues } from '../scorers/call-values.ts'
import { judgeCallOf } from '../scorers/judge-call.ts'
import { score } from '../scorers/scoring.ts'
import { promptedRequest } from './named-prompt.ts'
import type { Plan } from './plan.ts'

interface Trial {
  services: OperationParts
  scope: Scope
  run: ServedRun
  plan: Plan
  /** Among those of the run. */
  index: number
  row: string
  signal: AbortSignal
  /** Whether something that failed is tried again later; throws if so. */
  retry(error: Refusal): void
}

/**
 * Asks about one row, has the answer scored, and writes each step. What an earlier attempt has written is not done again:
 * each step has an id of its own, whichever process makes it.
 */
export async function carryOut(trial: Trial): Promise<void> {
  const { services, scope, run, plan, index } = trial
  const { db } = services
  const id = idOf(`${run.run_id} ${index}`)
  let call = await readCall(db, scope.project, id, false, now())
  if (call === undefined) {
    await predict(trial, id)
    call = await readCall(db, scope.project, id, false, now())
  }
  // The run was deleted meanwhile.
  if (call === undefined) return
  if (call.exception === null) for (const scorer of plan.scorers) await scoreOne(trial, call, scorer)
  await finishPrediction(services, scope, id)
}

/** The answer of the model as a call; one that fails for good has an exception instead. */
async function predict(trial: Trial, id: string): Promise<void> {
  const { services, scope, run, plan, row } = trial
  const started_at = monotonicNow()
  const made = await refusable(trial, () => promptedRequest(services, scope.project, plan, row))
  const request = made instanceof Map ? made : new Map<string, string>()
  const asked =
    made instanceof Map
      ? await refusable(trial, () => ask(trial, made))
      : { exception: 'why' in made ? made.why : made.exception }
  const { output, summary, exception } =
    'output' in asked
      ? { ...asked, summary: usageOf(asked), exception: undefined }
      : { ...asked, output: null, summary: {} }
  const inputs = [...request].map(([name, text]) => [name, new JsonText(text)])
  await createPrediction(
    services,
    scope,
    { id, model: plan.model, inputs: new JsonText(row), output, evaluation_run_id: run.run_id },
    {
      request: Object.fromEntries(inputs),
      started_at,
      end: {
        ended_at: monotonicNow(),
        summary: new JsonText(writeJson(summary)),
        ...(exception !== undefined && { exception }),
      },
    },
  )
}

async function ask({ services, scope, signal }: Trial, request: Map<string, string>): Promise<ChatAnswered> {
  const asking = await backgroundAsking(services.db, scope.caller.name, scope.project, signal)
  return services.chats.ask(services, objectText(request), asking)
}

/** As calls have it. */
function usageOf({ model, usage }: ChatAnswered) {
  const { prompt_tokens, completion_tokens, total_tokens } = usage
  return { usage: { [model]: { requests: 1, prompt_tokens, completion_tokens, total_tokens } } }
}

async function scoreOne(trial: Trial, call: CallRow, { ref, fields, name }: MonitorScorer): Promise<void> {
  const { services, scope, run } = trial
  const { db } = services
  const { project, caller } = scope
  const id = idOf(`${call.id} ${name}`)
  if ((await readCall(db, project, id, false, now())) !== undefined) return
  const started_at = monotonicNow()
  const outcome = await refusable(trial, async () => {
    const { scorer } = await readScorer(db, project, ref, 'scorer')
    const scored = {
      values: answerValues(recordOf(call, trial.row), { ...scorer.fields, ...fields }),
      costs: () => createPricing(db, project)(call),
      latencyMs: Math.trunc(((call.ended_at ?? call.started_at) - call.started_at) / 1000),
    }
    return score(services, scorer, scored, await backgroundAsking(db, caller.name, project, trial.signal))
  })
  if ('run' in outcome && outcome.run) {
    const links = { scorer: ref, call: callRef(services.refScheme, project, call.id) }
    const parent = { trace_id: run.run_id, parent_id: id }
    const fieldsOfCall = { project, user: caller.name, name, links, parent }
    await db.write('upsertCalls', [await judgeCallOf(services, fieldsOfCall, outcome.run)])
  }
  const why = 'output' in outcome ? undefined : 'detail' in outcome ? outcome.detail : outcome.exception
  const value = new JsonText('output' in outcome ? outcome.output : 'null')
  const ended_at = monotonicNow()
  await createScore(
    services,
    scope,
    { id, prediction_id: call.id, scorer: ref, value, evaluation_run_id: run.run_id },
    { started_at, end: { ended_at, ...(why !== undefined && { exception: why }) } },
  )
}

/** The call as scorers see it: the columns of the row are inputs, too. */
function recordOf(call: CallRow, row: string): Record<string, unknown> {
  const inputs = new Map([...membersOf(call.inputs ?? '{}'), ...membersOf(row)])
  return { ...callRecord(call, {}), inputs: new JsonText(objectText(inputs)) }
}

/** What fails may do so for a while only; `retry` then throws. Otherwise the reason is the result. */
async function refusable<Result>(
  { signal, retry }: Trial,
  work: () => Promise<Result>,
): Promise<Result | { exception: string }> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal) || signal.aborted) throw error
    retry(error)
    return { exception: error.message }
  }
}
