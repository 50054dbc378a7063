import { membersOf } from '../../../packages/json/index.ts'
import { rowDigestOfRef } from '../../domain/evaluations/example.ts'
import { modelOutput } from '../../domain/evaluations/trial.ts'
import { idOf } from '../../domain/ids.ts'
import { JsonText } from '../../domain/json/text.ts'
import { monotonicNow, now } from '../../domain/time.ts'
import { type CallRow, readCall } from '../../storage/calls/calls.ts'
import type { trialsAfter } from '../../storage/evaluations/trial-calls.ts'
import { readRows } from '../../storage/objects/tables.ts'
import { createPrediction, finishPrediction } from '../evaluation-runs/predictions.ts'
import { Value } from '../objects/values.ts'
import type { Attempt } from './attempt.ts'
import type { RescoringPlan } from './plan.ts'
import { scoreTrial } from './trial-scores.ts'

type SourceTrial = Awaited<ReturnType<typeof trialsAfter>>[number]

/** A trial with the answer of another one, scored anew. Each step has an id of its own, so that it happens once. */
export async function rescoreTrial(
  attempt: Attempt,
  plan: RescoringPlan,
  { trial_id, predict_call_id, output_key }: SourceTrial,
): Promise<void> {
  const { services, scope, run } = attempt
  const { db } = services
  const callAt = (id: string) => readCall(db, scope.project, id, false, now())
  const source = await callAt(trial_id)
  // It was deleted meanwhile.
  if (source === undefined) return
  const predicted = predict_call_id === null ? undefined : await callAt(predict_call_id)
  const scored = predicted ?? {
    ...{ ...source, inputs: '{}' },
    output: modelOutput(source.output ?? null, output_key),
  }
  const example = new Value(source.inputs ?? '{}').member('example')?.text ?? 'null'
  const id = idOf(`${run.run_id} ${trial_id}`)
  if ((await callAt(id)) === undefined) await copyPrediction(attempt, { id, plan, scored, example })
  const call = await callAt(id)
  // The run was deleted meanwhile.
  if (call === undefined) return
  const row = await columnsOf(attempt, example)
  if (call.exception === null) {
    for (const scorer of plan.scorers) await scoreTrial(attempt, { call, scored, row }, scorer)
  }
  await finishPrediction(services, scope, id)
}

interface Copied {
  id: string
  plan: RescoringPlan
  scored: CallRow
  example: string
}

/** It took as long as the first one. Its tokens were spent once, so the copy has none. */
async function copyPrediction(
  { services, scope, run }: Attempt,
  { id, plan, scored, example }: Copied,
): Promise<void> {
  const inputs = [...membersOf(scored.inputs ?? '{}')].filter(
    ([name]) => name !== 'self' && name !== 'inputs',
  )
  const ended_at = monotonicNow()
  await createPrediction(
    services,
    scope,
    {
      ...{ id, model: plan.model, inputs: new JsonText(example), evaluation_run_id: run.run_id },
      output: scored.output == null ? null : new JsonText(scored.output),
    },
    {
      request: Object.fromEntries(inputs.map(([name, text]) => [name, new JsonText(text)])),
      heddle: { rescored: { run: plan.source, call: scored.id } },
      started_at: ended_at - ((scored.ended_at ?? scored.started_at) - scored.started_at),
      end: { ended_at, ...(scored.exception !== null && { exception: scored.exception }) },
    },
  )
}

/** The columns of a row that stands in the trial, or in a table that it refers to. */
async function columnsOf({ services: { db }, scope }: Attempt, example: string): Promise<string> {
  if (example.startsWith('{')) return example
  const digest = example.startsWith('"') ? rowDigestOfRef(JSON.parse(example) as string) : undefined
  const [row] = digest === undefined ? [] : await readRows(db, scope.project, [digest])
  return row?.val.startsWith('{') ? row.val : '{}'
}
