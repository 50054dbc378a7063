import { createHash } from 'node:crypto'
import { objectText } from '../../../packages/json/index.ts'
import { requireScope } from '../../domain/callers.ts'
import { shortened } from '../../domain/described.ts'
import { newId } from '../../domain/ids.ts'
import { JsonText, withTexts, writeJson } from '../../domain/json/text.ts'
import { objectRef, parseRef } from '../../domain/refs.ts'
import { Refusal, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { CallPart, CallStart } from '../../storage/calls/parts.ts'
import type { ServedRun } from '../../storage/evaluations/served-runs.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { boundTo } from '../../storage/transaction.ts'
import { evaluations, models } from '../definitions/kinds.ts'
import { startOf } from '../evaluation-runs/run-calls.ts'
import { bindScorers, readScorer } from '../monitors/bound-scorers.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { storeOrder } from '../tables/store.ts'
import { maxTrials, type StartBody } from './contract.ts'
import { pinnedRequest, promptedRequest } from './named-prompt.ts'
import { type CallsPlan, checkOwnFields, type Plan, type RescoringPlan } from './plan.ts'
import { attributesOf, rowsOf } from './rows.ts'

/** Code that the server has itself. */
const noCode = ''

/** Begins a run for each of the settings. Everything that can be wrong for every row is refused before. */
export async function startRuns(
  services: OperationParts,
  scope: Scope,
  body: StartBody,
  signal: AbortSignal,
) {
  const { db } = services
  // Its evaluation and its models become the latest versions of their names.
  requireScope(scope.caller, 'write_calls')
  const { dataset, trials, scorers, requests } = await checkStart(services, scope, body, signal)
  if (dataset.order) await storeOrder(db, scope.project, dataset.table, dataset.order)
  const evaluation = await evaluations.create(
    services,
    scope,
    {
      name: body.name,
      dataset: dataset.ref,
      scorers: scorers.map(({ ref }) => ref),
      trials: body.repeats ?? 1,
      // Runs of a split are compared with runs of the same split only.
      ...(body.split && { eval_attributes: attributesOf(body.split) }),
    },
    signal,
  )
  const evaluationRef = String(evaluation.evaluation_ref)
  const begun: BegunRun[] = []
  for (const [index, { name, system }] of body.settings.entries()) {
    const plan = { prompt: body.prompt ?? null, system: system ?? null, request: requests[index] as string }
    const attributes = new JsonText(writeJson({ ...plan, request: new JsonText(plan.request) }))
    const made = await models.create(
      services,
      scope,
      { name: `${body.name} ${name}`, source_code: noCode, attributes },
      signal,
    )
    const of = { evaluation: evaluationRef, model: String(made.model_ref) }
    const whole: Plan = {
      ...{ ...plan, ...of, scorers, table: dataset.table, rows: dataset.rows },
      ...(body.concurrency != null && { concurrency: body.concurrency }),
    }
    begun.push(await begin(services, scope, { ...of, name: `${body.name}: ${name}`, trials, plan: whole }))
  }
  await db.write('addServedRuns', { calls: begun.map(({ call }) => call), runs: begun.map(({ run }) => run) })
  return { evaluation: evaluationRef, evaluation_run_ids: begun.map(({ run }) => run.run_id), trials }
}

interface BegunRun {
  call: CallPart & { start: CallStart }
  run: ServedRun
}

interface Beginning {
  /** Shown in lists. */
  name: string
  /** References. */
  evaluation: string
  model: string
  trials: number
  plan: Plan | RescoringPlan
  /** What else the server knows of the run. */
  heddle?: object
}

/** The root call of a run, and what is left to do for it. */
export async function begin(
  services: OperationParts,
  scope: Scope,
  { name, evaluation, model, trials, plan, heddle }: Beginning,
): Promise<BegunRun> {
  const call = await startOf(services, scope, {
    id: newId(),
    op_name: 'Evaluation.evaluate',
    display_name: name,
    weave: { evaluation_run: 'true', evaluation, model },
    // The evaluation names its scorers only: with their fields, the run can be made again.
    heddle: {
      served_run: {
        scorers: plan.scorers.map(bindingOf),
        ...('request' in plan && { pinned: pinOf(plan), concurrency: plan.concurrency }),
      },
      ...heddle,
    },
    inputs: { self: evaluation, model },
  })
  return {
    call: withTexts<CallPart & { start: CallStart }>(call),
    run: waitingRun(scope, call.id, plan, trials),
  }
}

/** Of what all trials of a run have in common: with labels and datasets that move, it may not be made again. */
export const pinOf = ({ request, table, rows }: Plan): string =>
  createHash('sha256')
    .update(JSON.stringify([request, table, rows]))
    .digest('base64url')

/** What no process works on yet. */
export const waitingRun = (
  { project, caller }: Scope,
  run_id: string,
  plan: Plan | RescoringPlan | CallsPlan,
  trials: number,
): ServedRun => ({
  ...{ project_id: project, run_id, runs_as: caller.name, plan: JSON.stringify(plan), trials },
  ...{ position: 0, stopped: 0, held_by: null, held_until: 0, turn_at: now() },
})

const bindingOf = ({ ref, fields }: MonitorScorer) => ({
  scorer: ref,
  ...(Object.keys(fields).length > 0 && { fields }),
})

/** What the runs would be made of. Nothing is written. */
export async function checkStart(
  services: OperationParts,
  scope: Scope,
  body: StartBody,
  signal: AbortSignal,
) {
  const { project } = scope
  const dataset = await rowsOf(boundTo(services.db, signal), project, body)
  const trials = dataset.rows * (body.repeats ?? 1)
  if (trials * body.settings.length > maxTrials) {
    throw wrong('repeats', `${trials * body.settings.length} trials`, `at most ${maxTrials} in all`)
  }
  const scorers = await pinnedScorers(services, project, body)
  const requests = await checkSettings(services, scope, body, dataset.first)
  return { dataset, trials, scorers, requests }
}

/** In the versions of now: all trials of a run are scored by the same ones. */
export async function pinnedScorers(
  { db }: Pick<OperationParts, 'db'>,
  project: string,
  body: Pick<StartBody, 'scorers'>,
) {
  const pinned: MonitorScorer[] = []
  for (const scorer of await bindScorers(db, project, body.scorers ?? [])) {
    const { name, digest } = await readScorer(db, project, scorer.ref, 'scorers')
    const { scheme } = parseRef(scorer.ref) ?? { scheme: 'weave' }
    pinned.push({ ...scorer, ref: objectRef(scheme, project, 'object', name, digest) })
  }
  return pinned
}

/** Makes the first request of each of the settings, as the model would be asked it. Returns their fields. */
async function checkSettings(
  services: OperationParts,
  { caller, project }: Scope,
  { settings, prompt }: StartBody,
  first: string,
): Promise<string[]> {
  const { models: served, chats } = services
  const requests: string[] = []
  for (const [index, { name, system, request }] of settings.entries()) {
    const field = `settings.${index}`
    if (settings.findIndex((other) => other.name === name) < index) {
      throw wrong(`${field}.name`, JSON.stringify(name), 'a name that no other of the settings has')
    }
    const fields = request?.text ?? '{}'
    checkOwnFields(fields, `${field}.request`)
    const own = await pinnedRequest(services, project, fields, `${field}.request`)
    requests.push(own)
    const plan = { prompt: prompt ?? null, system: system ?? null, request: own }
    const asked = await promptedRequest(services, project, plan, first)
    if ('why' in asked) {
      throw wrong(prompt == null ? 'dataset' : 'prompt', asked.why, 'columns of the dataset in braces')
    }
    try {
      await chats.checkFields(own)
      served.find(await chats.modelOf(objectText(asked)), caller)
    } catch (error) {
      if (!(error instanceof Refusal) || error.status >= 500) throw error
      throw wrong(`${field}.request`, shortened(own, 200), `fields of a chat completion: ${error.message}`)
    }
  }
  return requests
}
