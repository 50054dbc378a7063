import { newId } from '../../domain/ids.ts'
import { parseRef } from '../../domain/refs.ts'
import { now } from '../../domain/time.ts'
import { type MarkedCall, requireMarked } from '../../storage/evaluations/marked-calls.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import type { PredictionBody } from './contract.ts'
import { type OwnEnd, startOf, wholeOf } from './run-calls.ts'
import { evaluationOf } from './runs.ts'

const runField = 'evaluation_run_id'

/** What is known of a prediction that this server has made itself. */
interface OwnPrediction {
  /** What was asked, beside the inputs. */
  request: Record<string, unknown>
  /** What it was made from. */
  heddle?: object
  started_at: number
  end: OwnEnd
}

/** Within a run, the prediction is the first part of a trial, which stays open until the prediction is finished. */
export async function createPrediction(
  options: OperationParts,
  scope: Scope,
  body: PredictionBody,
  own?: OwnPrediction,
) {
  const { model, inputs, output, evaluation_run_id: run } = body
  const { db } = options
  const id = body.id ?? newId()
  const of = run ? await requireMarked(db, 'run', scope.project, run, runField, now()) : null
  const { started_at } = own ?? {}
  const trial = of && (await trialOf(options, scope, of, id, { ...body, started_at }))
  const start = await startOf(options, scope, {
    id,
    ...(trial && { trace_id: trial.start.trace_id, parent_id: trial.id }),
    op_name: opOf(model),
    started_at,
    weave: { prediction: 'true', model, evaluation_run_id: run ?? undefined },
    ...(own?.heddle && { heddle: own.heddle }),
    inputs: { ...own?.request, self: model, inputs },
  })
  await db.write('addPrediction', {
    call: wholeOf(start, output, own?.end),
    field: body.id == null ? null : 'id',
    trial,
    run: of && { id: of.id, field: runField },
    now: now(),
  })
  return { prediction_id: id }
}

function trialOf(
  options: OperationParts,
  scope: Scope,
  run: MarkedCall,
  prediction: string,
  { model, inputs, started_at }: PredictionBody & { started_at: number | undefined },
) {
  return startOf(options, scope, {
    trace_id: run.id,
    parent_id: run.id,
    op_name: 'Evaluation.predict_and_score',
    started_at,
    weave: { predict_call_id: prediction },
    inputs: { self: evaluationOf(run.inputs), model, example: inputs },
  })
}

function opOf(model: string): string {
  const ref = parseRef(model)
  return ref?.kind === 'object' || ref?.kind === 'op' ? `${ref.name}.predict` : 'Model.predict'
}

export async function finishPrediction({ db }: OperationParts, { project }: Scope, prediction_id: string) {
  const field = 'prediction_id'
  await db.write('finishPrediction', { project_id: project, prediction_id, field, now: now() })
  return { success: true as const }
}
