import { type Caller, requireAccess } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { opNameOf, parseRef } from '../../domain/refs.ts'
import { Refusal, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { readCall } from '../../storage/calls/calls.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { readServedRun } from '../../storage/evaluations/served-runs.ts'
import { countTrials } from '../../storage/evaluations/trial-calls.ts'
import { readTable } from '../../storage/objects/tables.ts'
import { type NamedRef, resolveEach } from '../objects/resolve.ts'
import { Value } from '../objects/values.ts'
import type { StatusBody } from './contract.ts'

/**
 * How far an evaluation is. If its root does not exist, that is an answer and no refusal: the root may still be on its
 * way.
 */
export async function evaluationStatus(
  db: BoundDatabase,
  caller: Caller,
  { project_id, call_id }: StatusBody,
) {
  requireAccess(caller, project_id)
  const call = await readCall(db, project_id, call_id, false, now())
  if (call === undefined) return { status: { code: 'not_found' } }
  if (!opNameOf(call.op_name).endsWith('Evaluation.evaluate')) {
    throw wrong(
      'call_id',
      `${JSON.stringify(call_id)} is a call of ${JSON.stringify(opNameOf(call.op_name).slice(0, 120))}`,
      'the root call of an evaluation, with the op "Evaluation.evaluate"',
    )
  }
  if (call.exception) return { status: { code: 'failed', error: call.exception } }
  if (call.ended_at !== null) {
    return { status: { code: 'complete', output: call.output === null ? null : new JsonText(call.output) } }
  }
  const { begun, ended } = await countTrials(db, project_id, call_id, now())
  const served = await readServedRun(db, { project_id, run_id: call_id })
  const planned = served?.trials ?? (await plannedTrials(db, caller, project_id, call.inputs ?? '{}'))
  return { status: { code: 'running', completed_rows: ended, total_rows: Math.max(begun, planned) } }
}

/** Rows of the dataset that the evaluation names, times its trials; 0 if they cannot be read. */
async function plannedTrials(db: Database, caller: Caller, project: string, inputs: string): Promise<number> {
  const value = new Value(inputs)
  const ref = parseRef((value.member('self') ?? value.member('this'))?.string ?? '')
  if (ref?.kind !== 'object' || ref.project !== project) return 0
  const [rows, trials] = await stepsInto(db, caller, ref, [['dataset', 'rows'], ['trials']])
  const table = parseRef(new Value(rows ?? '').string ?? '')
  if (table?.kind !== 'table' || table.project !== project) return 0
  const count = (await readTable(db, project, table.digest))?.row_count ?? 0
  return count * positiveInteger(value.member('nTrials')?.text ?? trials)
}

function positiveInteger(text: string | undefined): number {
  const number = Number(text)
  return Number.isSafeInteger(number) && number > 0 ? number : 1
}

/** The JSON at each path in the object; undefined for all if one of them leads to what the caller may not see. */
async function stepsInto(
  db: Database,
  caller: Caller,
  ref: NamedRef,
  ways: readonly (readonly string[])[],
): Promise<(string | undefined)[]> {
  const refs = ways.map((way) => ({
    ...ref,
    path: [...ref.path, ...way.map((value) => ({ edge: 'attr' as const, value }))],
  }))
  try {
    const resolved = await resolveEach(db, caller, refs)
    return resolved.map((result) => ('found' in result ? result.found.text : undefined))
  } catch (error) {
    if (error instanceof Refusal && error.status < 500) return []
    throw error
  }
}
