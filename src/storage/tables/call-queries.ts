import type { View } from '../../domain/view.ts'
import { compileCondition } from '../sql/conditions.ts'
import { sortingOf } from '../sql/sorting.ts'
import { trusted } from '../sql/sql.ts'
import { type LongReader, onlyRow, type Reader } from '../transaction.ts'
import { callFields } from './call-fields.ts'
import { type CallsFilter, filterConditions } from './call-filter.ts'
import {
  type CallColumns,
  type CallRow,
  type CallStats,
  type CallsQuery,
  countCalls,
  selectCalls,
} from './calls.ts'
import { askingForQueues, withQueues } from './queue-membership.ts'

export interface CallsView extends View {
  filter: CallsFilter | undefined
}

/** The calls of the view. It is checked before this answers. */
export function streamCalls(
  db: LongReader,
  view: CallsView,
  columns: CallColumns,
  now: number,
  signal: AbortSignal,
): AsyncIterable<CallRow[]> {
  return db.stream<CallRow>(selectCalls(db, queryOf(db, view), columns, now), { signal })
}

/** How many calls there are in the view, and their bytes. */
export function statsOfCalls(
  db: LongReader,
  view: CallsView,
  now: number,
  signal: AbortSignal,
): Promise<CallStats> {
  return onlyRow<CallStats>(db, countCalls(db, queryOf(db, view), now), signal)
}

/** Oldest first unless asked otherwise; the id decides between equals, so that pages fit together. */
function queryOf(
  { dialect }: Reader,
  { project, filter, query, sort, limit, offset }: CallsView,
): CallsQuery {
  const conditions = filter ? filterConditions(filter, dialect) : []
  if (query) {
    const fields = withQueues(callFields(dialect, 'query'))
    conditions.push(compileCondition(askingForQueues(query), fields, dialect))
  }
  const sorting = sortingOf(sort, (place) => callFields(dialect, place), dialect)
  const last = sort.at(-1)
  const direction =
    last === undefined || (last.field === 'started_at' && last.direction === 'asc') ? 'ASC' : 'DESC'
  const start = last === undefined ? [trusted('started_at ASC')] : sorting.order
  const order = [...start, trusted(`id ${direction}`)]
  return { projectId: project, conditions, ...sorting, order, limit, offset }
}
