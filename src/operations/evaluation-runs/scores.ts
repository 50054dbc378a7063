import { newId } from '../../domain/ids.ts'
import { JsonText, withTexts, writeJson } from '../../domain/json/text.ts'
import { callRef, parseRef } from '../../domain/refs.ts'
import { wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { CallPart } from '../../storage/calls/parts.ts'
import { type MarkedCall, requireMarked } from '../../storage/evaluations/marked-calls.ts'
import { createCheck } from '../feedback/check.ts'
import { feedbackOf } from '../feedback/create.ts'
import { prefixes } from '../feedback/kinds.ts'
import { payloadGiven } from '../feedback/payload-size.ts'
import { objectId } from '../objects/contract.ts'
import { Value } from '../objects/values.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import type { ScoreBody } from './contract.ts'
import { weaveOf } from './record.ts'
import { type OwnEnd, startOf, wholeOf } from './run-calls.ts'

/** A score is a sibling call of the prediction, and feedback on the prediction under the same id. */
export async function createScore(
  options: OperationParts,
  scope: Scope,
  body: ScoreBody,
  own?: { started_at: number; end: OwnEnd; decisions?: string | undefined },
) {
  const { db } = options
  const { project } = scope
  const { prediction_id, scorer, value, evaluation_run_id: run } = body
  const name = scorerName(scorer)
  if (run) await requireMarked(db, 'run', project, run, 'evaluation_run_id', now())
  const prediction = await requireMarked(db, 'prediction', project, prediction_id, 'prediction_id', now())
  if (run) checkRun(prediction, run)
  const id = body.id ?? newId()
  const start = await startOf(options, scope, {
    id,
    ...(run && { trace_id: run, parent_id: prediction.parent_id ?? run }),
    op_name: `${name}.score`,
    started_at: own?.started_at,
    weave: { score: 'true', prediction_id, scorer, evaluation_run_id: run ?? undefined },
    inputs: {
      self: scorer,
      inputs: new JsonText(new Value(prediction.inputs).member('inputs')?.text ?? '{}'),
      output: new JsonText(prediction.output ?? 'null'),
    },
  })
  // Without a value the scorer has failed: there is a call that says why, and no score.
  if (own?.end.exception !== undefined) {
    await db.write('upsertCalls', [withTexts<CallPart>(wholeOf(start, null, own.end))])
    return { score_id: id }
  }
  await db.write('addScore', {
    call: wholeOf(start, value, own?.end),
    field: body.id == null ? null : 'id',
    project_id: project,
    prediction_id,
    predictionField: 'prediction_id',
    feedback: await feedbackOn(options, scope, { ...body, id, name, decisions: own?.decisions }),
    now: now(),
  })
  return { score_id: id }
}

/** The name of the score among those of its trial. */
function scorerName(scorer: string): string {
  const ref = parseRef(scorer)
  if (ref?.kind === 'object' && objectId.safeParse(ref.name).success) return ref.name
  throw wrong(
    'scorer',
    JSON.stringify(scorer.length > 120 ? `${scorer.slice(0, 120)}…` : scorer),
    'a reference to an object, <scheme>:///<entity>/<project>/object/<name>:<digest>',
  )
}

function checkRun(prediction: MarkedCall, runId: string): void {
  const run = weaveOf(prediction)('evaluation_run_id')
  if (run === runId) return
  throw wrong(
    'evaluation_run_id',
    JSON.stringify(runId),
    run ? `${JSON.stringify(run)}, the run of the prediction` : 'none: the prediction belongs to no run',
  )
}

const fieldsOfScore: Record<string, string> = { payload: 'value', 'payload.output': 'value' }

function feedbackOn(
  { db, schemas, refScheme }: OperationParts,
  { caller, project }: Scope,
  {
    id,
    name,
    prediction_id,
    scorer,
    value: output,
    decisions,
  }: ScoreBody & { name: string; decisions?: string | undefined },
) {
  const payload = { output, ...(decisions !== undefined && { decisions: new JsonText(decisions) }) }
  const feedback = {
    project_id: project,
    id,
    svc_ref: callRef(refScheme, project, prediction_id),
    feedback_type: `${prefixes.runnable}.${name}`,
    payload: payloadGiven(new JsonText(writeJson(payload))),
    runnable_ref: scorer,
  }
  return feedbackOf(
    createCheck(db, schemas, caller.name),
    caller,
    feedback,
    (field) => fieldsOfScore[field] ?? field,
  )
}
