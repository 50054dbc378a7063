import { objectText } from '../../../packages/json/index.ts'
import { shortened } from '../../domain/described.ts'
import { newId } from '../../domain/ids.ts'
import { JsonText, withTexts, writeJson } from '../../domain/json/text.ts'
import { objectRef, parseRef } from '../../domain/refs.ts'
import { Refusal } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { CallPart, CallStart } from '../../storage/calls/parts.ts'
import type { ServedRun } from '../../storage/evaluations/served-runs.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { evaluations, models } from '../definitions/kinds.ts'
import { startOf } from '../evaluation-runs/run-calls.ts'
import { wrong } from '../generation/checks.ts'
import { bindScorers, readScorer } from '../monitors/bound-scorers.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { storeOrder } from '../tables/store.ts'
import { maxTrials, type StartBody } from './contract.ts'
import { pinnedRequest, promptedRequest } from './named-prompt.ts'
import { checkOwnFields, type Plan } from './plan.ts'
import { rowsOf } from './rows.ts'

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
  const { project, caller } = scope
  const { dataset, trials, scorers, requests } = await checkStart(services, scope, body, signal)
  if (dataset.order) await storeOrder(db, project, dataset.table, dataset.order)
  const evaluation = await evaluations.create(
    services,
    scope,
    {
      name: body.name,
      dataset: dataset.ref,
      scorers: scorers.map(({ ref }) => ref),
      trials: body.repeats ?? 1,
      // Runs of a split are compared with runs of the same split only.
      ...(body.split && { eval_attributes: new JsonText(writeJson({ split: body.split })) }),
    },
    signal,
  )
  const evaluationRef = String(evaluation.evaluation_ref)
  const calls: (CallPart & { start: CallStart })[] = []
  const runs: ServedRun[] = []
  for (const [index, { name, system }] of body.settings.entries()) {
    const request = requests[index] as string
    const plan = { prompt: body.prompt ?? null, system: system ?? null, request }
    const attributes = new JsonText(writeJson({ ...plan, request: new JsonText(plan.request) }))
    const made = await models.create(
      services,
      scope,
      { name: `${body.name} ${name}`, source_code: noCode, attributes },
      signal,
    )
    const model = String(made.model_ref)
    const call = await startOf(services, scope, {
      id: newId(),
      op_name: 'Evaluation.evaluate',
      display_name: `${body.name}: ${name}`,
      weave: { evaluation_run: 'true', evaluation: evaluationRef, model },
      // The evaluation names its scorers only: with their fields, the run can be made again.
      heddle: { served_run: { scorers: scorers.map(bindingOf) } },
      inputs: { self: evaluationRef, model },
    })
    calls.push(withTexts<CallPart & { start: CallStart }>(call))
    const whole: Plan = {
      ...plan,
      ...{ evaluation: evaluationRef, model, scorers },
      ...{ table: dataset.table, rows: dataset.rows },
    }
    runs.push({
      project_id: project,
      run_id: call.id,
      runs_as: caller.name,
      plan: JSON.stringify(whole),
      trials,
      position: 0,
      stopped: 0,
      held_by: null,
      held_until: 0,
      turn_at: now(),
    })
  }
  await db.write('addServedRuns', { calls, runs })
  return { evaluation: evaluationRef, evaluation_run_ids: runs.map(({ run_id }) => run_id), trials }
}

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
  const dataset = await rowsOf(services.db, project, body, signal)
  const trials = dataset.rows * (body.repeats ?? 1)
  if (trials * body.settings.length > maxTrials) {
    throw wrong('repeats', `${trials * body.settings.length} trials`, `at most ${maxTrials} in all`)
  }
  const scorers = await pinnedScorers(services, project, body)
  const requests = await checkSettings(services, scope, body, dataset.first)
  return { dataset, trials, scorers, requests }
}

/** In the versions of now: all trials of a run are scored by the same ones. */
async function pinnedScorers({ db }: OperationParts, project: string, body: StartBody) {
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
      served.find(await chats.modelOf(objectText(asked)), caller)
    } catch (error) {
      if (!(error instanceof Refusal) || error.status >= 500) throw error
      throw wrong(`${field}.request`, shortened(own, 200), `fields of a chat completion: ${error.message}`)
    }
  }
  return requests
}
