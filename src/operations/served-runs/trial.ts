import { objectText } from '../../../packages/json/index.ts'
import { idOf } from '../../domain/ids.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { monotonicNow, now } from '../../domain/time.ts'
import { readCall } from '../../storage/calls/calls.ts'
import { withPictures } from '../../storage/pictures/restore.ts'
import { backgroundAsking } from '../background-caller.ts'
import type { ChatAnswered } from '../chat-asking.ts'
import { createPrediction, finishPrediction } from '../evaluation-runs/predictions.ts'
import { type Attempt, refusable } from './attempt.ts'
import { promptedRequest } from './named-prompt.ts'
import type { Plan } from './plan.ts'
import { scoreTrial } from './trial-scores.ts'

/** As of a request over HTTP. */
const maxRequestLength = 4 * 1024 * 1024

interface Trial extends Attempt {
  plan: Plan
  /** Among those of the run. */
  index: number
  row: string
}

/**
 * Asks about one row, has the answer scored, and writes each step. What an earlier attempt has written is not done again:
 * each step has an id of its own, whichever process makes it.
 */
export async function carryOut(trial: Trial): Promise<void> {
  const { services, scope, run, plan, index } = trial
  const { db } = services
  const [id = '', ...earlier] = predictionIds(run.run_id, index, plan.retries)
  const standing = await standingAnswer(trial, earlier)
  let call = standing ?? (await readCall(db, scope.project, id, false, now()))
  if (call === undefined) {
    await predict(trial, id)
    call = await readCall(db, scope.project, id, false, now())
  }
  // The run was deleted meanwhile.
  if (call === undefined) return
  if (call.exception === null) {
    for (const scorer of plan.scorers) await scoreTrial(trial, { call, scored: call, row: trial.row }, scorer)
  }
  await finishPrediction(services, scope, call.id)
}

/** Of one row, the last attempt first: the id of what was deleted is not used again. */
const predictionIds = (run: string, index: number, retries = 0): string[] =>
  Array.from({ length: retries + 1 }, (_, at) => {
    const attempt = retries - at
    return idOf(attempt === 0 ? `${run} ${index}` : `${run} ${index} ${attempt}`)
  })

/** The answer of an earlier attempt. Those that failed are deleted before the row is asked again. */
async function standingAnswer({ services: { db }, scope: { project } }: Trial, ids: readonly string[]) {
  for (const id of ids) {
    const call = await readCall(db, project, id, false, now())
    if (call === undefined) continue
    if (call.exception === null) return call
    await db.write('deletePredictions', { project_id: project, ids: [id], now: now() })
  }
  return undefined
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
  const { db } = services
  const asking = await backgroundAsking(db, scope.caller.name, scope.project, signal)
  // Rows that were made of calls name the files of their pictures.
  const text = await withPictures(db, scope.project, objectText(request), maxRequestLength)
  if (text === undefined) {
    throw wrong('messages', 'pictures that are too large together', `at most ${maxRequestLength} characters`)
  }
  return services.chats.ask(services, text, asking)
}

/** As calls have it. */
function usageOf({ model, usage }: ChatAnswered) {
  const { prompt_tokens, completion_tokens, total_tokens } = usage
  return { usage: { [model]: { requests: 1, prompt_tokens, completion_tokens, total_tokens } } }
}
