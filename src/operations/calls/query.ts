import { type Caller, requireAccess } from '../../domain/callers.ts'
import { fieldsOf } from '../../domain/expressions/expression.ts'
import { writeJson } from '../../domain/json/text.ts'
import { now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import { type CallsView, streamCalls } from '../../storage/calls/queries.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { totalOfCalls } from '../../storage/sums/reading.ts'
import type { CallNames } from '../recording/named-calls.ts'
import { columnsOf } from './columns.ts'
import type { QueryStatsBody, StreamQueryBody } from './contract.ts'
import { createPricing } from './costs.ts'
import { expandCalls } from './expand.ts'
import { type ExpandedColumns, expandedColumns, refuseExpanded } from './expanded-columns.ts'
import { callRecord } from './record.ts'

interface Asked {
  db: BoundDatabase
  names: CallNames
}

/** One JSON text for each call. The query is checked before the first one is read. */
export async function queryCalls(
  { db, names }: Asked,
  caller: Caller,
  body: StreamQueryBody,
): Promise<AsyncIterable<string>> {
  requireAccess(caller, body.project_id)
  const expanded = expandedColumns(body.expand_columns ?? [])
  const { large, hidden } = columnsOf(body)
  const columns = {
    large,
    totalStorageSize: body.include_total_storage_size === true,
    feedback: body.include_feedback === true,
  }
  const view = { ...(await viewIn(names, body, expanded)), limit: body.limit || null }
  const chunks = streamCalls(db, view, columns, now())
  const costsOf = body.include_costs ? createPricing(db, body.project_id) : undefined
  const shown = { storageSize: body.include_storage_size, username: body.include_usernames, hidden }
  const isExpanded = expanded.steps.size > 0 && body.return_expanded_column_values !== false
  return (async function* () {
    for await (const rows of chunks) {
      const costs: (string | undefined)[] = []
      if (costsOf) for (const row of rows) costs.push(await costsOf(row))
      const records = Iterator.from(rows).map((row, index) =>
        callRecord(row, { ...shown, costs: costs[index] }),
      )
      if (!isExpanded) for (const record of records) yield writeJson(record)
      else for await (const record of expandCalls(db, caller, expanded, records)) yield writeJson(record)
    }
  })()
}

export async function countSomeCalls({ db, names }: Asked, caller: Caller, body: QueryStatsBody) {
  requireAccess(caller, body.project_id)
  const view = await viewIn(names, body, expandedColumns(body.expand_columns ?? []))
  const hasSize = body.include_total_storage_size === true
  const { count, bytes } = await totalOfCalls(db, view, hasSize, now())
  return {
    count,
    has_more: view.limit !== null && count >= view.limit,
    total_storage_size_bytes: hasSize ? (bytes ?? 0) : null,
  }
}

/** The view that a body describes. Its filter may name calls by their completions. */
export async function callsViewOf(
  names: CallNames,
  body: Parameters<typeof viewOf>[0] & Pick<StreamQueryBody, 'filter'>,
): Promise<CallsView> {
  const view = { ...viewOf(body), filters: body.filter ? [await namedIn(names, body)] : [] }
  const { input_refs, output_refs } = body.filter ?? {}
  await names.looksAt(body.project_id, [
    ...(view.query ? fieldsOf(view.query) : []),
    ...view.sort.map(({ field }) => field),
    ...(input_refs?.length ? ['inputs'] : []),
    ...(output_refs?.length ? ['output'] : []),
  ])
  return view
}

/** Refuses conditions and sorts on what lies below an expanded column: the calls themselves have no such field. */
async function viewIn(
  names: CallNames,
  body: StreamQueryBody | QueryStatsBody,
  expanded: ExpandedColumns,
): Promise<CallsView> {
  const view = await callsViewOf(names, body)
  for (const field of view.query ? fieldsOf(view.query) : []) refuseExpanded(expanded, field, 'query')
  for (const [index, { field }] of view.sort.entries()) {
    refuseExpanded(expanded, field, `sort_by.${index}.field`)
  }
  return view
}

/** Resolves ids of completions to ids of calls. */
async function namedIn(
  names: CallNames,
  { project_id, filter }: Pick<StreamQueryBody, 'project_id' | 'filter'>,
) {
  const { call_ids, parent_ids } = filter ?? {}
  return {
    ...filter,
    call_ids: call_ids && (await names.calls(project_id, call_ids)),
    parent_ids: parent_ids && (await names.calls(project_id, parent_ids)),
  }
}
