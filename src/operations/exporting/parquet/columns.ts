import { JsonText, writeJson } from '../../../domain/json/text.ts'
import { parseTime } from '../../../domain/time.ts'
import { columnOf, kindOf, nameOf, recordedColumns } from '../../../storage/calls/columns.ts'
import { shownFeedback } from '../../../storage/feedback/feedback.ts'
import type { ExportKind } from '../contract.ts'
import type { ExportRecord } from '../export.ts'

/** JSON is text as it was sent, so that no reader changes its digits; a time is microseconds since 1970. */
export type ColumnType = 'text' | 'json' | 'time' | 'number' | 'bytes'

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

/** Files of earlier versions begin with these, and programs may read columns by their place. */
const first = ['project_id', 'id', 'trace_id', 'parent_id'] as const

const callColumns = Object.fromEntries(
  [...new Set([...first, ...recordedColumns])]
    .filter((column) => !columnOf(column).isAsked)
    .map((column) => [nameOf(column), kindOf(column)]),
)

const columns: Record<ExportKind, Record<string, ColumnType>> = {
  files: { digest: 'text', size: 'number', from: 'number', bytes: 'bytes' },
  tables: { table: 'text', count: 'number', position: 'number', value: 'json' },
  objects: {
    project_id: 'text',
    object_id: 'text',
    digest: 'text',
    version_index: 'number',
    is_latest: 'number',
    kind: 'text',
    base_object_class: 'text',
    leaf_object_class: 'text',
    val: 'json',
    created_at: 'time',
    svc_user_id: 'text',
    size_bytes: 'number',
    tags: 'json',
    aliases: 'json',
  },
  calls: callColumns,
  feedback: Object.fromEntries(shownFeedback.map(({ name, kind }) => [name, kind])),
}

export function columnsOf(kind: ExportKind): Columns {
  return Object.entries(columns[kind])
}

/** The rows of a record in the file of its kind; none if it is of another kind. */
export function rowsOf(kind: ExportKind, record: ExportRecord): Cell[][] {
  const member = record[memberOf[kind]]
  if (member === undefined) return []
  if (kind === 'files') {
    const { digest, size, from, base64 } = member as Record<string, string | number>
    return [[digest as string, size as number, from as number, Buffer.from(base64 as string, 'base64')]]
  }
  if (kind === 'tables') {
    const { table, count, from, values } = member as {
      table: string
      count: number
      from: number
      values: readonly JsonText[]
    }
    if (values.length === 0) return [[table, count, null, null]]
    return values.map((value, index) => [table, count, from + index, value.text])
  }
  return [columnsOf(kind).map(([name, type]) => cellOf(member[name], type))]
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
