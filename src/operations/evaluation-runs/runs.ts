import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { monotonicNow, now } from '../../domain/time.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { requireMarked } from '../../storage/evaluations/marked-calls.ts'
import { streamTrialValues } from '../../storage/evaluations/trial-calls.ts'
import { boundTo } from '../../storage/transaction.ts'
import { Value } from '../objects/values.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import type { FinishBody, RunBody } from './contract.ts'
import { createMeans } from './means.ts'
import { endOf, startOf } from './run-calls.ts'

export async function createRun(options: OperationParts, scope: Scope, body: RunBody) {
  const { evaluation, model, id } = body
  const call = await startOf(options, scope, {
    id,
    op_name: 'Evaluation.evaluate',
    weave: { evaluation_run: 'true', evaluation, model },
    inputs: { self: evaluation, model },
  })
  await options.db.write('addEvaluationRun', { call, field: id == null ? null : 'id', now: now() })
  return { evaluation_run_id: call.id }
}

/**
 * The means are of the trials that are finished when this begins. They are read before the write, because a large
 * evaluation takes a while. The summary and the end are written together.
 */
export async function finishRun(
  options: OperationParts,
  scope: Scope,
  id: string,
  { summary }: FinishBody,
  signal: AbortSignal,
) {
  const { db } = options
  const { project } = scope
  const field = 'evaluation_run_id'
  const run = await requireMarked(db, 'run', project, id, field, now())
  const summarize = await startOf(options, scope, {
    trace_id: id,
    parent_id: id,
    op_name: 'Evaluation.summarize',
    inputs: { self: evaluationOf(run.inputs) },
  })
  const output = new JsonText(run.ended_at === null ? await meansOf(boundTo(db, signal), project, id) : '{}')
  const ended = monotonicNow()
  await db.write('finishEvaluationRun', {
    project_id: project,
    run_id: id,
    field,
    end: endOf(project, id, ended, output, summary ?? undefined),
    summarize: { ...summarize, end: endOf(project, summarize.id, ended, output).end },
    now: now(),
  })
  return { success: true as const }
}

/** The reference to the evaluation, from the inputs of its root. */
export function evaluationOf(inputs: string): JsonText {
  return new JsonText(new Value(inputs).member('self')?.text ?? 'null')
}

async function meansOf(db: BoundDatabase, project: string, id: string): Promise<string> {
  const yieldToLoop = createYieldToLoop()
  const scores = createMeans(yieldToLoop)
  const output = createMeans(yieldToLoop)
  for await (const trials of streamTrialValues(db, project, id, now())) {
    for (const trial of trials) {
      if (trial.scores !== null) await scores.addMembers(trial.scores)
      if (trial.output !== null) await output.add('output', trial.output)
    }
  }
  return joined(scores.text(), output.text())
}

/** The model's own output takes precedence over a scorer that is called `output`. */
function joined(scores: string, output: string): string {
  if (output === '{}') return scores
  return scores === '{}' ? output : `${scores.slice(0, -1)},${output.slice(1)}`
}
