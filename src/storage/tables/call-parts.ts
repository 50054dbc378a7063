import { groupsOf, insertInto } from '../sql/inserts.ts'
import type { SqlValue } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'

/** What a start tells. Times are microseconds; JSON is text. */
export interface CallStart {
  trace_id: string
  parent_id: string | null
  thread_id: string | null
  turn_id: string | null
  op_name: string
  started_at: number
  user_id: string
  run_id: string | null
  run_step: number | null
  expire_at: number | null
  start_bytes: number
  attributes: string
  inputs: string
}

/** What an end tells. */
export interface CallEnd {
  trace_id: string | null
  ended_at: number
  exception: string | null
  run_step_end: number | null
  end_bytes: number
  output: string | null
  summary: string
}

/** A part of a call, or the whole of it: its start and its end arrive in any order. */
export interface CallPart {
  project_id: string
  id: string
  display_name: string | null
  start?: CallStart
  end?: CallEnd
}

const startColumns = [
  'trace_id',
  'parent_id',
  'thread_id',
  'turn_id',
  'op_name',
  'started_at',
  'user_id',
  'run_id',
  'run_step',
  'expire_at',
  'start_bytes',
  'attributes',
  'inputs',
] as const satisfies readonly (keyof CallStart)[]

const endColumns = [
  'trace_id',
  'ended_at',
  'exception',
  'run_step_end',
  'end_bytes',
  'output',
  'summary',
] as const satisfies readonly (keyof CallEnd)[]

/** The start names the trace; an end that comes first may. */
const endOnlyColumns = endColumns.slice(1)

const replaced = (columns: readonly string[]) =>
  columns.map((column) => (column === 'user_id' ? firstOf(column) : `${column} = excluded.${column}`))
const firstOf = (column: string) => `${column} = coalesce(calls.${column}, excluded.${column})`

/** An end brings the name that the call had at last, so it wins over the one of the start. */
const endName = 'display_name = coalesce(excluded.display_name, calls.display_name)'

// A row that was swept may be written again by a late part: it stays deleted, and is swept once more.
const sweptAgain = 'swept_at = NULL'

/** Where a call was before it became another call or another's child; what is derived from calls follows it. */
const movedFrom = `moved_from = CASE WHEN calls.started_at IS NOT NULL
  AND (calls.parent_id IS DISTINCT FROM excluded.parent_id OR calls.op_name IS DISTINCT FROM excluded.op_name)
  THEN coalesce(calls.parent_id, '') ELSE calls.moved_from END`

const statements = {
  start: partInsert(startColumns, [
    firstOf('display_name'),
    ...replaced(startColumns),
    movedFrom,
    sweptAgain,
  ]),
  end: partInsert(endColumns, [endName, firstOf('trace_id'), ...replaced(endOnlyColumns), sweptAgain]),
  whole: partInsert(
    [...startColumns, ...endOnlyColumns],
    [endName, ...replaced(startColumns), ...replaced(endOnlyColumns), movedFrom, sweptAgain],
  ),
}

/** A re-sent start or end is the same start or end: it replaces its own part and touches nothing of the other. */
function partInsert(columns: readonly string[], merge: readonly string[]) {
  const all = ['project_id', 'id', 'display_name', ...columns]
  return insertInto('calls', all, `ON CONFLICT (project_id, id) DO UPDATE SET ${merge.join(', ')}`)
}

function kindOf({ start, end }: CallPart): keyof typeof statements {
  if (start) return end ? 'whole' : 'start'
  return 'end'
}

function valuesOf({ project_id, id, display_name, start, end }: CallPart): SqlValue[] {
  const values: SqlValue[] = [project_id, id, display_name]
  if (start) for (const column of startColumns) values.push(start[column])
  if (end) for (const column of start ? endOnlyColumns : endColumns) values.push(end[column])
  return values
}

const rowsAtOnce = 16

/** Writes parts of calls of one project. */
export async function mergeIntoCalls(tx: Transaction, parts: readonly CallPart[]): Promise<void> {
  for (const [kind, list] of Map.groupBy(parts, kindOf)) {
    for (const group of groupsOf(list, rowsAtOnce)) await tx.run(statements[kind](group.map(valuesOf)))
  }
}
