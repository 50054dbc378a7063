import { JsonText, writeJson } from '../../../domain/json/text.ts'
import { parseTime } from '../../../domain/time.ts'
import type { ExportKind } from '../contract.ts'
import type { ExportRecord } from '../export.ts'

/** JSON is text as it was sent, so that no reader changes its digits; a time is microseconds since 1970. */
export type ColumnType = 'text' | 'json' | 'time' | 'integer' | 'bytes'

export type Columns = readonly (readonly [name: string, type: ColumnType])[]

export type Cell = string | number | Uint8Array | null

/** The member of a line that contains the things of a kind. */
export const memberOf = {
  files: 'file',
  tables: 'rows',
  objects: 'object',
  calls: 'call',
  feedback: 'feedback',
} as const satisfies Record<ExportKind, string>

const columns = {
  files: { digest: 'text', size: 'integer', from: 'integer', bytes: 'bytes' },
  tables: { table: 'text', count: 'integer', position: 'integer', value: 'json' },
  objects: {
    project_id: 'text',
    object_id: 'text',
    digest: 'text',
    version_index: 'integer',
    is_latest: 'integer',
    kind: 'text',
    base_object_class: 'text',
    leaf_object_class: 'text',
    val: 'json',
    created_at: 'time',
    svc_user_id: 'text',
    size_bytes: 'integer',
    tags: 'json',
    aliases: 'json',
  },
  calls: {
    project_id: 'text',
    id: 'text',
    trace_id: 'text',
    parent_id: 'text',
    op_name: 'text',
    display_name: 'text',
    thread_id: 'text',
    turn_id: 'text',
    started_at: 'time',
    ended_at: 'time',
    exception: 'text',
    attributes: 'json',
    inputs: 'json',
    output: 'json',
    summary: 'json',
    svc_user_id: 'text',
    svc_run_id: 'text',
    svc_run_step: 'integer',
    svc_run_step_end: 'integer',
    expire_at: 'time',
  },
  feedback: {
    project_id: 'text',
    id: 'text',
    feedback_type: 'text',
    svc_ref: 'text',
    svc_user_id: 'text',
    creator: 'text',
    created_at: 'time',
    payload: 'json',
    annotation_ref: 'text',
    runnable_ref: 'text',
    call_ref: 'text',
    trigger_ref: 'text',
    queue_id: 'text',
  },
} as const satisfies Record<ExportKind, Record<string, ColumnType>>

export function columnsOf(kind: ExportKind): Columns {
  return Object.entries(columns[kind])
}

/** The rows of a record in the file of its kind; none if it is of another kind. */
export function rowsOf(kind: ExportKind, record: ExportRecord): Cell[][] {
  const given = record[memberOf[kind]]
  if (given === undefined) return []
  if (kind === 'files') {
    const { digest, size, from, base64 } = given as Record<string, string | number>
    return [[digest as string, size as number, from as number, Buffer.from(base64 as string, 'base64')]]
  }
  if (kind === 'tables') {
    const { table, count, from, values } = given as {
      table: string
      count: number
      from: number
      values: readonly JsonText[]
    }
    if (values.length === 0) return [[table, count, null, null]]
    return values.map((value, index) => [table, count, from + index, value.text])
  }
  return [columnsOf(kind).map(([name, type]) => cellOf(given[name], type))]
}

function cellOf(value: unknown, type: ColumnType): Cell {
  if (value === null || value === undefined) return null
  if (type === 'json') return value instanceof JsonText ? value.text : writeJson(value)
  if (type === 'time') return parseTime(value as string) as number
  return value as string | number
}

/** About the memory that a row takes. */
export function weightOf(row: readonly Cell[]): number {
  let weight = 0
  for (const cell of row) weight += typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : 8
  return weight
}
