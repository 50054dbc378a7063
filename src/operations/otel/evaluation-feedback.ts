import { inSteps } from '../../../packages/waiting/index.ts'
import { type Caller, hasAccess, hasScope } from '../../domain/callers.ts'
import { idOf } from '../../domain/ids.ts'
import { callRef, objectRef } from '../../domain/refs.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'
import type { Database } from '../../storage/database.ts'
import { createCheck } from '../feedback/check.ts'
import { feedbackOf } from '../feedback/create.ts'
import { atRoot, prefixes } from '../feedback/kinds.ts'
import { payloadGiven } from '../feedback/payload-size.ts'
import type { CallNames } from '../recording/named-calls.ts'
import type { Evaluation } from './evaluation-events.ts'
import type { InProject, Report } from './signals.ts'

export interface EvaluationIntake {
  db: Database
  schemas: SchemaChecks
  names: CallNames
  refScheme: string
}

/**
 * Judgements as feedback on the calls that they name. The id is made of the content, so that a request that is sent again
 * adds nothing. Who may send calls but not judge them gets them reported.
 */
export async function storeEvaluations(
  { db, schemas, names, refScheme }: EvaluationIntake,
  caller: Caller,
  evaluations: readonly InProject<Evaluation>[],
  report: Report,
): Promise<void> {
  const additions: { record: Awaited<ReturnType<typeof feedbackOf>>; field: string }[] = []
  const check = createCheck(db, schemas, caller.name)
  await inSteps(evaluations, async ({ item, project }) => {
    if (!hasAccess(caller, project, 'review') || !hasScope(caller, 'review')) {
      report.count('no feedback without the right review', item.name)
      return
    }
    const { name, call, response, payload, time } = item
    const named = call ?? (response && (await names.call(project, response)))
    if (named === undefined || named === '' || (call === undefined && named === response)) {
      report.count('the judged call is not known', item.name)
      return
    }
    const fields = {
      project_id: project,
      id: idOf(`evaluation ${JSON.stringify([caller.name, named, name, time, payload.text])}`),
      svc_ref: callRef(refScheme, project, named),
      feedback_type: `${prefixes.runnable}.${name}`,
      payload: payloadGiven(payload),
      runnable_ref: objectRef(refScheme, project, 'object', name, '*'),
    }
    additions.push({ record: await feedbackOf(check, caller, fields, atRoot), field: 'id' })
  })
  if (additions.length > 0) await db.write('addFeedback', additions)
}
