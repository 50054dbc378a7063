import { idOf, newId } from '../../domain/ids.ts'
import { JsonText, withTexts, writeJson } from '../../domain/json/text.ts'
import { callRef } from '../../domain/refs.ts'
import { now } from '../../domain/time.ts'
import { liveCallIds, readCall } from '../../storage/calls/calls.ts'
import type { Feedback } from '../../storage/feedback/feedback.ts'
import { hasFeedback } from '../../storage/monitors/judgements.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { callNotFound, callRecord } from '../calls/record.ts'
import { createCheck } from '../feedback/check.ts'
import { feedbackOf } from '../feedback/create.ts'
import { atRoot, prefixes } from '../feedback/kinds.ts'
import { payloadGiven } from '../feedback/payload-size.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { callValues } from '../scorers/call-values.ts'
import { type Attempt, refusable } from './attempt.ts'
import type { ScoreCallsBody } from './contract.ts'
import { judgeCallId, judgementOf } from './judgement.ts'
import { namedScorers } from './named-scorers.ts'
import { waitingRun } from './start.ts'

/** Has every scorer score every call, in the background. */
export async function scoreCalls(
  services: OperationParts,
  scope: Scope,
  { call_ids, scorer_refs }: ScoreCallsBody,
) {
  const { db } = services
  const { project } = scope
  const scorers = await namedScorers(services, scope, scorer_refs, 'scorer_refs')
  const calls = [...new Set(call_ids)]
  const found = await liveCallIds(db, project, calls, now())
  for (const [index, id] of call_ids.entries()) {
    if (!found.has(id)) throw callNotFound(`call_ids.${index}`, id, project)
  }
  const run = waitingRun(scope, newId(), { calls, scorers }, calls.length)
  await db.write('addServedRuns', { calls: [], runs: [run] })
  return {}
}

/** The score of a call as feedback on it, once. A scorer that cannot score it leaves none. */
export async function scoreCall(attempt: Attempt, callId: string, scorer: MonitorScorer): Promise<void> {
  const { services, scope, run } = attempt
  const { db, schemas, refScheme } = services
  const { project, caller } = scope
  const id = idOf(`${run.run_id} ${callId} ${scorer.name}`)
  if (await hasFeedback(db, project, id)) return
  const call = await readCall(db, project, callId, false, now())
  // It was deleted meanwhile.
  if (call === undefined) return
  const svc_ref = callRef(refScheme, project, callId)
  const judged = await judgementOf(attempt, {
    ...{ id, scorer, call },
    valuesOf: (fields) => callValues(callRecord(call, {}), fields),
    links: { scorer: scorer.ref, call: svc_ref },
  })
  if ('exception' in judged) return
  const payload = {
    output: new JsonText(judged.output),
    ...(judged.decisions !== undefined && { decisions: new JsonText(judged.decisions) }),
  }
  const fields = {
    ...{ project_id: project, id, svc_ref, runnable_ref: scorer.ref },
    feedback_type: `${prefixes.runnable}.${scorer.name}`,
    payload: payloadGiven(new JsonText(writeJson(payload))),
    ...(scorer.kind === 'judge' && { call_ref: callRef(refScheme, project, judgeCallId(id)) }),
  }
  // A score that feedback cannot hold does not keep the calls behind it waiting.
  await refusable(attempt, async () => {
    const record = await feedbackOf(createCheck(db, schemas, caller.name), caller, fields, atRoot)
    await db.write('addFeedback', [{ record: withTexts<Feedback>(record), field: 'id' }])
  })
}
