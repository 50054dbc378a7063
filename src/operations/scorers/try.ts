import { requireScope } from '../../domain/callers.ts'
import { projectPath } from '../../domain/fields.ts'
import { newId } from '../../domain/ids.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { readCall } from '../../storage/calls/calls.ts'
import { createPricing } from '../calls/costs.ts'
import { callRecord } from '../calls/record.ts'
import { family, type OperationParts, operation, refusalsOfModels } from '../parts.ts'
import { type Scope, scopeOf } from '../scope.ts'
import { callValues } from './call-values.ts'
import { checkScorer, runnableOf } from './runnable.ts'
import { score } from './scoring.ts'
import { Tried, TryBody } from './try-contract.ts'

/** Applies a scorer to a few calls. Nothing is stored. */
async function tryScorer(services: OperationParts, scope: Scope, body: TryBody, signal: AbortSignal) {
  const { db } = services
  const { caller, project } = scope
  const { call_ids, judge, check, fields } = body
  if ((judge == null) === (check == null)) {
    const problem = judge == null ? 'nothing' : 'a value together with judge'
    throw wrong('check', problem, 'a judge or a check')
  }
  await checkScorer(services, scope, body, signal)
  const scorer = runnableOf(writeJson({ judge, check, fields }))
  if ('why' in scorer) throw wrong('judge', scorer.why, 'a scorer')
  const results: object[] = []
  for (const call_id of call_ids) {
    const row = await readCall(db, project, call_id, false, now())
    if (row === undefined) {
      results.push({ call_id, state: 'skipped', output: null, detail: 'there is no such call' })
      continue
    }
    const call = {
      values: callValues(callRecord(row, {}), scorer.fields),
      costs: () => createPricing(db, project)(row),
      latencyMs: Math.trunc(((row.ended_at ?? row.started_at) - row.started_at) / 1000),
    }
    const asking = { caller, id: newId(), arrived: performance.now(), project, signal, note: () => undefined }
    const outcome = await score(services, scorer, call, asking)
    results.push(
      'output' in outcome
        ? { call_id, state: 'judged', output: new JsonText(outcome.output), detail: null }
        : { call_id, state: outcome.state, output: null, detail: outcome.detail },
    )
  }
  return { results }
}

export const scorerRoutes = family(
  operation('POST', '/v2/:entity/:project/scorers/try', {
    right: 'infer',
    summary: 'Apply a judge or a check to a few calls, without storing anything',
    tags: ['scorers'],
    params: projectPath,
    body: TryBody,
    answer: Tried,
    spendsTokens: true,
    refusals: ['scope_forbidden', 'invalid_value', ...refusalsOfModels],
    rule(services, { caller, body, params }) {
      // What it finds in the calls tells what they contain.
      requireScope(caller, 'read')
      return tryScorer(services, scopeOf(caller, params), body, services.signal)
    },
  }),
)
