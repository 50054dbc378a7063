import { membersOf, objectText } from '../../../packages/json/index.ts'
import { idOf } from '../../domain/ids.ts'
import { JsonText } from '../../domain/json/text.ts'
import { callRef } from '../../domain/refs.ts'
import { monotonicNow, now } from '../../domain/time.ts'
import { type CallRow, readCall } from '../../storage/calls/calls.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { callRecord } from '../calls/record.ts'
import { createScore } from '../evaluation-runs/scores.ts'
import { answerValues } from '../scorers/call-values.ts'
import type { Attempt } from './attempt.ts'
import { judgementOf } from './judgement.ts'

interface ScoredTrial {
  /** The prediction of the run. */
  call: CallRow
  /** What the scorer looks at: the same call, or the one that it is a copy of. */
  scored: CallRow
  /** The columns of the row. */
  row: string
}

/** Has the answer of a trial scored, unless that has happened before. */
export async function scoreTrial(
  attempt: Attempt,
  { call, scored, row }: ScoredTrial,
  scorer: MonitorScorer,
): Promise<void> {
  const { services, scope, run } = attempt
  const { project } = scope
  const id = idOf(`${call.id} ${scorer.name}`)
  if ((await readCall(services.db, project, id, false, now())) !== undefined) return
  const started_at = monotonicNow()
  const judged = await judgementOf(attempt, {
    ...{ id, scorer, call: scored },
    valuesOf: (fields) => answerValues(recordOf(scored, row), fields),
    links: { scorer: scorer.ref, call: callRef(services.refScheme, project, call.id) },
    parent: { trace_id: run.run_id, parent_id: id },
  })
  const value = new JsonText('output' in judged ? judged.output : 'null')
  const ended_at = monotonicNow()
  await createScore(
    services,
    scope,
    { id, prediction_id: call.id, scorer: scorer.ref, value, evaluation_run_id: run.run_id },
    {
      ...{ started_at, decisions: 'output' in judged ? judged.decisions : undefined },
      end: { ended_at, ...('exception' in judged && { exception: judged.exception }) },
    },
  )
}

/** The call as scorers see it: the columns of the row are inputs, too. */
function recordOf(call: CallRow, row: string): Record<string, unknown> {
  const inputs = new Map([...membersOf(call.inputs ?? '{}'), ...membersOf(row)])
  return { ...callRecord(call, {}), inputs: new JsonText(objectText(inputs)) }
}
