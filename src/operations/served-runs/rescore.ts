import { requireScope } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { opNameOf, parseRef } from '../../domain/refs.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { readCall } from '../../storage/calls/calls.ts'
import { derivePending } from '../../storage/evaluations/results.ts'
import { countTrials } from '../../storage/evaluations/trial-calls.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { isOf, readObject } from '../../storage/objects/objects.ts'
import { boundTo } from '../../storage/transaction.ts'
import { evaluations } from '../definitions/kinds.ts'
import { Value } from '../objects/values.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { maxTrials, type RescoreBody } from './contract.ts'
import { namedScorers } from './named-scorers.ts'
import { begin } from './start.ts'

const field = 'source_evaluation_run_id'

/** Begins a run with the predictions of a finished one and other scorers. The old run stays as it is. */
export async function rescoreRun(
  services: OperationParts,
  scope: Scope,
  { source_evaluation_run_id: source, scorer_refs }: RescoreBody,
  signal: AbortSignal,
) {
  const { db } = services
  const { project } = scope
  // It stores a version of the evaluation with the new scorers.
  requireScope(scope.caller, 'write_calls')
  const time = now()
  const root = await readCall(db, project, source, false, time)
  if (root === undefined || !opNameOf(root.op_name).endsWith('Evaluation.evaluate')) {
    throw refuse('evaluation_run_not_found', { field, run: source, project })
  }
  const accepted = 'a run that has ended and has trials'
  if (root.ended_at === null) throw wrong(field, `${JSON.stringify(source)}, which is running`, accepted)
  const scorers = await namedScorers(services, scope, scorer_refs, 'scorer_refs')
  await derivePending(boundTo(db, signal), project, time)
  const { begun: trials } = await countTrials(boundTo(db, signal), project, source, time)
  if (trials === 0) throw wrong(field, `${JSON.stringify(source)}, which has no trials`, accepted)
  if (trials > maxTrials) throw wrong(field, `a run of ${trials} trials`, `at most ${maxTrials} trials`)
  const inputs = new Value(root.inputs ?? '{}')
  const model = inputs.member('model')?.string ?? ''
  const { call, run } = await begin(services, scope, {
    evaluation: await evaluationWith(services, scope, inputs, scorers, signal),
    ...{ model, trials, name: `${root.display_name ?? (nameIn(model) || source)}, rescored` },
    plan: { source, after: null, model, scorers },
    heddle: { rescored: { run: source } },
  })
  await db.write('addServedRuns', { calls: [call], runs: [run] })
  return { call_id: run.run_id, evaluation_run_id: run.run_id }
}

function nameIn(text: string): string {
  const ref = parseRef(text)
  return ref?.kind === 'object' ? ref.name : ''
}

/** A version of the evaluation that names the new scorers; what is no object of the project stays as it is named. */
async function evaluationWith(
  services: OperationParts,
  scope: Scope,
  inputs: Value,
  scorers: readonly MonitorScorer[],
  signal: AbortSignal,
): Promise<string> {
  const named = (inputs.member('self') ?? inputs.member('this'))?.string ?? ''
  const ref = parseRef(named)
  if (ref?.kind !== 'object' || ref.project !== scope.project || ref.path.length > 0) return named
  const version = await readObject(services.db, scope.project, ref)
  if (version?.val == null || !isOf({ base_object_classes: ['Evaluation'] }, version)) return named
  const val = new Value(version.val)
  const dataset = val.member('dataset')?.string
  if (dataset === undefined) return named
  const attributes = val.member('eval_attributes')?.text
  const trials = Number(val.member('trials')?.text)
  const made = await evaluations.create(
    services,
    scope,
    {
      ...{ name: ref.name, description: val.member('description')?.string, dataset },
      scorers: scorers.map((scorer) => scorer.ref),
      trials: Number.isSafeInteger(trials) && trials > 0 ? trials : 1,
      evaluation_name: val.member('evaluation_name')?.string,
      eval_attributes: attributes?.startsWith('{') ? new JsonText(attributes) : undefined,
    },
    signal,
  )
  return String(made.evaluation_ref)
}
