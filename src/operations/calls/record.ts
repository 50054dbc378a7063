import { membersOf, objectText } from '../../../packages/json/index.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { textOfJson } from '../../domain/expressions/json-value.ts'
import { parseNumber } from '../../domain/expressions/numbers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { opNameOf } from '../../domain/refs.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import { type CallRow, readCall } from '../../storage/calls/calls.ts'
import { kindOf, namesOf, recordedColumns } from '../../storage/calls/columns.ts'
import type { Reader } from '../../storage/transaction.ts'
import { requireQueued } from '../queues/annotator-view.ts'
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
  await requireQueued(db, caller, body.project_id, id, { field: 'id', shown: body.id })
  const row = await readCall(db, body.project_id, id, body.include_total_storage_size === true, now())
  if (row === undefined) throw callNotFound('id', body.id, body.project_id)
  const costs = body.include_costs ? await createPricing(db, body.project_id)(row) : undefined
  return { call: callRecord(row, { storageSize: body.include_storage_size, username: true, costs }) }
}

export function callNotFound(field: string, id: string, project: string): Refusal {
  return refuse('call_not_found', { field, id, project })
}

const emptyObject = new JsonText('{}')

const members = recordedColumns.flatMap((column) =>
  namesOf(column).map((name) => ({ name, column, kind: kindOf(column) })),
)

const others = ['total_storage_size_bytes', 'deleted_at', 'svc_username', 'wb_username']
/** Copied with its members in place, because adding them one by one takes three times as long. */
const blank: Readonly<Record<string, unknown>> = Object.fromEntries(
  [...members.map(({ name }) => name), ...others].map((name) => [name, null]),
)

/** The call record of the API. Null members are present as null; only the user name may be absent. */
export function callRecord(
  row: CallRow,
  { storageSize, username, costs, hidden = [] }: Shown,
): Record<string, unknown> {
  const record: Record<string, unknown> = { ...blank }
  for (const { name, column, kind } of members) record[name] = shown(kind, row[column])
  if (row.attributes === null) record.attributes = emptyObject
  if (row.inputs === null) record.inputs = emptyObject
  record.summary = summaryOf(row, costs)
  if (!storageSize) record.storage_size_bytes = null
  record.total_storage_size_bytes = row.total_storage_size
  record.deleted_at = null
  const user = username ? (row.user_id ?? undefined) : undefined
  record.svc_username = user
  record.wb_username = user
  for (const member of hidden) record[member] = null
  return record
}

function shown(kind: string, value: string | number | null): unknown {
  if (typeof value === 'number') return kind === 'time' ? formatTime(value) : value
  return kind === 'json' && value !== null ? new JsonText(value) : value
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
  if (row.failed_below) return 'descendant_error'
  // A query that leaves out the summary does not read its counts.
  if (row.stored_status) return row.stored_status
  const counts = summary.get('status_counts')
  const errors = counts?.startsWith('{') ? parseNumber(textOfJson(membersOf(counts).get('error'))) : null
  return errors !== null && errors > 0 ? 'descendant_error' : 'success'
}
