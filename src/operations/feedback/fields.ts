import { splitPath } from '../../domain/expressions/path.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { FieldReading, FieldResolver } from '../../storage/sql/expressions.ts'
import { trusted } from '../../storage/sql/sql.ts'

/** The columns by their names on the wire, in the order in which they come back. */
export const wireColumns = {
  id: 'id',
  project_id: 'project_id',
  svc_ref: 'svc_ref',
  svc_user_id: 'user_id',
  creator: 'creator',
  created_at: 'created_at',
  feedback_type: 'feedback_type',
  payload: 'payload',
  annotation_ref: 'annotation_ref',
  runnable_ref: 'runnable_ref',
  call_ref: 'call_ref',
  trigger_ref: 'trigger_ref',
  queue_id: 'queue_id',
} as const

const aliases = { weave_ref: wireColumns.svc_ref, wb_user_id: wireColumns.svc_user_id } as const

export type Column = (typeof wireColumns)[keyof typeof wireColumns]

const columns = new Map<string, Column>([...Object.entries(wireColumns), ...Object.entries(aliases)])

export function columnOf(field: string): Column | undefined {
  return columns.get(field)
}

/** The steps behind `payload.`; undefined when the field is none of the payload. */
export function payloadPathOf(field: string): string[] | undefined {
  const [document, ...path] = splitPath(field)
  return document === 'payload' ? path : undefined
}

/** `place` is how a refusal names where the field was given. */
export function feedbackFields(place: string): FieldResolver {
  return (field): FieldReading => {
    const path = payloadPathOf(field)
    if (path !== undefined) return { kind: 'json', column: trusted('payload'), path }
    const column = columnOf(field)
    if (column === undefined) throw unknownField(place, field)
    return { kind: column === 'created_at' ? 'time' : 'text', sql: trusted(column) }
  }
}

export function unknownField(place: string, field: string, ...others: string[]): Refusal {
  const accepted = [...Object.keys(wireColumns), 'payload.…', ...others].join(', ')
  return refuse('unknown_field', { field: place, given: JSON.stringify(field), accepted })
}
