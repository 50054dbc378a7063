import { itemsOf } from '../../../packages/json/index.ts'
import { requireScope } from '../../domain/callers.ts'
import { shortened } from '../../domain/described.ts'
import { JsonText } from '../../domain/json/text.ts'
import { objectRef, parseRef } from '../../domain/refs.ts'
import { Refusal, wrong } from '../../domain/refusals.ts'
import { isOf } from '../../storage/objects/objects.ts'
import type { Reader } from '../../storage/transaction.ts'
import { liveObject } from '../objects/read.ts'
import { Value } from '../objects/values.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { storeOrder } from '../tables/store.ts'
import { type EvaluateModelBody, StartBody } from './contract.ts'
import type { Plan } from './plan.ts'
import { splitIn } from './rows.ts'
import { begin, checkStart } from './start.ts'

/** Begins a run of an evaluation with a model that is one of this server's, with its settings. */
export async function evaluateModel(
  services: OperationParts,
  scope: Scope,
  body: EvaluateModelBody,
  signal: AbortSignal,
) {
  const { db } = services
  // It stores a run that others compare, as what a client runs itself does.
  requireScope(scope.caller, 'write_calls')
  const planned = await planOf(services, scope, body, signal)
  const { call, run } = await begin(services, scope, planned)
  await db.write('addServedRuns', { calls: [call], runs: [run] })
  return { call_id: run.run_id }
}

/** What a run of the evaluation with the model does. Scorers are those of the evaluation, unless others are named. */
export async function planOf(
  services: OperationParts,
  scope: Scope,
  { evaluation_ref, model_ref }: Pick<EvaluateModelBody, 'evaluation_ref' | 'model_ref'>,
  signal: AbortSignal,
  scorers?: unknown,
) {
  const { db } = services
  const { project } = scope
  const evaluation = await namedObject(db, project, evaluation_ref, 'Evaluation', 'evaluation_ref')
  const model = await namedObject(db, project, model_ref, 'Model', 'model_ref')
  const settings = model.val.member('attributes')
  const body = StartBody.safeParse({
    name: evaluation.name.slice(0, 64),
    dataset: evaluation.val.member('dataset')?.string,
    split: splitIn(evaluation.val),
    prompt: settings?.member('prompt')?.string,
    settings: [{ name: model.name.slice(0, 64), ...settingsIn(settings) }],
    scorers: scorers ?? scorersIn(evaluation.val),
    repeats: Number(evaluation.val.member('trials')?.text ?? '1'),
  })
  if (settings?.member('request') === undefined) {
    throw wrong('model_ref', JSON.stringify(shortened(model_ref, 200)), accepted)
  }
  if (!body.success) {
    const [issue] = body.error.issues
    const isOfModel = issue?.path[0] === 'settings' || issue?.path[0] === 'prompt'
    const why = `${issue?.path.join('.')}: ${issue?.message}`
    throw isOfModel ? wrong('model_ref', why, accepted) : wrong('evaluation_ref', why, acceptedEvaluation)
  }
  const checked = await named(() => checkStart(services, scope, body.data, signal))
  const { dataset, trials, requests } = checked
  const [{ system }] = body.data.settings as [StartBody['settings'][number]]
  if (dataset.order) await storeOrder(db, project, dataset.table, dataset.order)
  const asked = { prompt: body.data.prompt ?? null, system: system ?? null, request: requests[0] as string }
  const of = { evaluation: evaluation.ref, model: model.ref }
  const rows = { table: dataset.table, rows: dataset.rows }
  const plan: Plan = { ...asked, ...of, ...rows, scorers: checked.scorers }
  return { ...of, name: `${evaluation.name}: ${model.name}`, trials, plan }
}

const accepted =
  'a Model with attributes {"prompt": …, "system": …, "request": {…}}: fields of a chat completion with a model that this server has'
const acceptedEvaluation =
  'an Evaluation with a dataset of this project, a number of trials, and scorers that are judges or checks'

function settingsIn(settings: Value | undefined) {
  const request = settings?.member('request')?.text
  return {
    system: settings?.member('system')?.string,
    request: request === undefined ? undefined : new JsonText(request),
  }
}

function scorersIn(evaluation: Value) {
  const scorers = evaluation.member('scorers')?.text ?? ''
  return scorers.startsWith('[')
    ? itemsOf(scorers).map((text) => ({ scorer: JSON.parse(text) as unknown }))
    : []
}

async function namedObject(db: Reader, project: string, text: string, type: string, field: string) {
  const ref = parseRef(text)
  const form = `a reference to an object of class ${type} of the same project, <scheme>:///${project}/object/<name>:<version>`
  if (ref?.kind !== 'object' || ref.project !== project || ref.path.length > 0) {
    throw wrong(field, JSON.stringify(shortened(text, 200)), form)
  }
  const version = await liveObject(db, project, ref, field)
  if (!isOf({ base_object_classes: [type] }, version)) throw wrong(field, 'an object of another class', form)
  const pinned = objectRef(ref.scheme, project, 'object', ref.name, version.digest)
  return { name: ref.name, ref: pinned, val: new Value(version.val) }
}

/** What is wrong with a part is told by the reference that led to it. */
async function named<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 400) throw error
    const isOfModel = /^(settings|prompt)\b/.test(error.message)
    throw isOfModel
      ? wrong('model_ref', shortened(error.message, 300), accepted)
      : wrong('evaluation_ref', shortened(error.message, 300), acceptedEvaluation)
  }
}
