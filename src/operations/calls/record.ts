import { type Caller, requireAccess } from '../../domain/callers.ts'
import { textOfJson } from '../../domain/expressions/json-value.ts'
import { parseNumber } from '../../domain/expressions/numbers.ts'
import { membersOf, objectText } from '../../domain/json/scan.ts'
import { JsonText } from '../../domain/json/text.ts'
import { opNameOf } from '../../domain/refs.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import { formatTime, formatTimeOrNull, now } from '../../domain/time.ts'
import { type CallRow, readCall } from '../../storage/calls/calls.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { CallNames } from '../recording/named-calls.ts'
import type { ReadBody } from './contract.ts'
import { createPricing } from './costs.ts'

interface Shown {
  storageSize?: boolean | null | undefined
  username?: boolean | null | undefined
  /** What its models cost, if the request asks for it. */
  costs?: string | undefined
  /** Members that are null, whatever the call has. */
  hidden?: readonly string[]
}

export async function readOneCall(
  { db, names }: { db: Reader; names: CallNames },
  caller: Caller,
  body: ReadBody,
) {
  requireAccess(caller, body.project_id)
  const id = await names.call(body.project_id, body.id)
  const row = await readCall(db, body.project_id, id, body.include_total_storage_size === true, now())
  if (row === undefined) throw callNotFound('id', body.id, body.project_id)
  const costs = body.include_costs ? await createPricing(db, body.project_id)(row) : undefined
  return { call: callRecord(row, { storageSize: body.include_storage_size, username: true, costs }) }
}

export function callNotFound(field: string, id: string, project: string): Refusal {
  return refuse('call_not_found', { field, id: JSON.stringify(id), project: JSON.stringify(project) })
}

const emptyObject = new JsonText('{}')

/** The call record of the API. Null members are present as null; only the user name may be absent. */
export function callRecord(
  row: CallRow,
  { storageSize, username, costs, hidden = [] }: Shown,
): Record<string, unknown> {
  const name = username ? (row.user_id ?? undefined) : undefined
  const record: Record<string, unknown> = {
    id: row.id,
    project_id: row.project_id,
    op_name: row.op_name,
    display_name: row.display_name || null,
    trace_id: row.trace_id,
    parent_id: row.parent_id,
    thread_id: row.thread_id,
    turn_id: row.turn_id,
    started_at: formatTime(row.started_at),
    ended_at: formatTimeOrNull(row.ended_at),
    exception: row.exception,
    attributes: row.attributes === null ? emptyObject : new JsonText(row.attributes),
    inputs: row.inputs === null ? emptyObject : new JsonText(row.inputs),
    output: row.output === null ? null : new JsonText(row.output),
    summary: summaryOf(row, costs),
    svc_user_id: row.user_id,
    svc_username: name,
    svc_run_id: row.run_id,
    svc_run_step: row.run_step,
    svc_run_step_end: row.run_step_end,
    expire_at: formatTimeOrNull(row.expire_at),
    deleted_at: null,
    storage_size_bytes: storageSize ? row.storage_size : null,
    total_storage_size_bytes: row.total_storage_size,
    // The names that the types of published clients have.
    wb_user_id: row.user_id,
    wb_username: name,
    wb_run_id: row.run_id,
    wb_run_step: row.run_step,
    wb_run_step_end: row.run_step_end,
  }
  for (const member of hidden) record[member] = null
  return record
}

/** The summary that the client stored, with what follows from the call itself under `weave`. */
function summaryOf(row: CallRow, costs: string | undefined): JsonText {
  const text = row.summary ?? '{}'
  const members = membersOf(text)
  const stored = members.get('weave')
  const derived = new Map(stored?.startsWith('{') ? membersOf(stored) : [])
  derived.set('status', JSON.stringify(statusOf(row, members)))
  if (row.ended_at === null) derived.delete('latency_ms')
  else derived.set('latency_ms', String(Math.trunc((row.ended_at - row.started_at) / 1000)))
  if (row.display_name) {
    derived.set('display_name', JSON.stringify(row.display_name))
    derived.delete('trace_name')
  } else {
    derived.set('trace_name', JSON.stringify(opNameOf(row.op_name)))
    derived.delete('display_name')
  }
  if (row.feedback !== undefined) {
    derived.set('feedback', `[${row.feedback ?? ''}]`)
    if (row.feedback_left_out) derived.set('feedback_left_out', String(row.feedback_left_out))
    else derived.delete('feedback_left_out')
  }
  derived.delete('costs')
  if (costs !== undefined) derived.set('costs', costs)
  members.set('weave', objectText(derived))
  return new JsonText(objectText(members))
}

/** The rule that queries follow, in storage/calls/fields.ts. */
function statusOf(row: CallRow, summary: ReadonlyMap<string, string>): string {
  if (row.exception) return 'error'
  if (row.ended_at === null) return 'running'
  // A query that leaves out the summary does not read its counts.
  if (row.stored_status) return row.stored_status
  const counts = summary.get('status_counts')
  const errors = counts?.startsWith('{') ? parseNumber(textOfJson(membersOf(counts).get('error'))) : null
  return errors !== null && errors > 0 ? 'descendant_error' : 'success'
}
