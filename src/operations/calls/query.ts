import { type Caller, requireAccess } from '../../domain/callers.ts'
import { parseExpressionText } from '../../domain/expressions/parse.ts'
import { checkPath } from '../../domain/expressions/path.ts'
import { writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import {
  compileCondition,
  compileSorting,
  type FieldReading,
  firstOfEach,
  type Sorting,
} from '../../storage/sql/expressions.ts'
import { type Sql, trusted } from '../../storage/sql/sql.ts'
import {
  type CallRow,
  type CallStats,
  countCalls,
  type LargeColumn,
  largeColumns,
  selectCalls,
} from '../../storage/tables/calls.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { QueryStatsBody, StreamQueryBody } from './contract.ts'
import { createPricing } from './costs.ts'
import { expandCalls } from './expand.ts'
import { type ExpandedColumns, expandedColumns, outsideOf } from './expanded-columns.ts'
import { callFields } from './fields.ts'
import { filterConditions } from './filter.ts'
import { askingForQueues, withQueues } from './queue-membership.ts'
import { callRecord } from './record.ts'

/** One JSON text for each call. The query is checked before the first of them is asked for. */
export async function streamCalls(
  db: Database,
  caller: Caller,
  body: StreamQueryBody,
  signal: AbortSignal,
): Promise<AsyncIterable<string>> {
  requireAccess(caller, body.project_id)
  const expanded = expandedColumns(body.expand_columns ?? [])
  const large = largeGiven(body.columns)
  const time = now()
  const statement = selectCalls(
    db,
    {
      projectId: body.project_id,
      conditions: conditionsOf(db, body, expanded),
      ...orderOf(db, body.sort_by ?? [], expanded),
      limit: body.limit || null,
      offset: body.offset ?? 0,
    },
    {
      large,
      totalStorageSize: body.include_total_storage_size === true,
      feedback: body.include_feedback === true,
    },
    time,
  )
  const costsOf = body.include_costs ? createPricing(db, body.project_id) : undefined
  const shown = { storageSize: body.include_storage_size, username: body.include_usernames }
  const isExpanded = expanded.steps.size > 0 && body.return_expanded_column_values !== false
  return (async function* () {
    for await (const rows of db.stream<CallRow>(statement, { signal })) {
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

export async function countSomeCalls(
  db: Database,
  caller: Caller,
  body: QueryStatsBody,
  signal: AbortSignal,
) {
  requireAccess(caller, body.project_id)
  const conditions = conditionsOf(db, body, expandedColumns(body.expand_columns ?? []))
  const limit = body.limit ?? null
  const statement = countCalls(
    db,
    { projectId: body.project_id, conditions, order: [], limit, offset: 0 },
    now(),
  )
  for await (const [stats] of db.stream<CallStats>(statement, { signal })) {
    const { count = 0, bytes = 0 } = stats ?? {}
    return {
      count,
      has_more: limit !== null && count >= limit,
      total_storage_size_bytes: body.include_total_storage_size ? (bytes ?? 0) : null,
    }
  }
  throw new Error('a count answers one row')
}

function conditionsOf(
  db: Reader,
  { filter, query }: Pick<QueryStatsBody, 'filter' | 'query'>,
  expanded: ExpandedColumns,
): Sql[] {
  const conditions = filter ? filterConditions(filter, db.dialect) : []
  if (query) {
    const fields = outsideOf(expanded, 'query', withQueues(callFields(db.dialect, 'query')))
    const expression = askingForQueues(parseExpressionText(query.text))
    conditions.push(compileCondition(expression, fields, db.dialect))
  }
  return conditions
}

/** Oldest first unless asked otherwise; the id decides between equals, so that pages fit together. */
function orderOf(
  db: Reader,
  sortBy: NonNullable<StreamQueryBody['sort_by']>,
  expanded: ExpandedColumns,
): Sorting {
  const readings = new Map<string, FieldReading>()
  for (const [index, { field }] of sortBy.entries()) {
    const place = `sort_by.${index}.field`
    checkPath(field, place)
    readings.set(field, outsideOf(expanded, place, callFields(db.dialect, place))(field))
  }
  const sorts = firstOfEach(sortBy).map(({ field, direction }) => ({
    reading: readings.get(field) as FieldReading,
    direction,
  }))
  const last = sortBy.at(-1)
  if (last === undefined) return { order: [trusted('started_at ASC'), trusted('id ASC')] }
  const sorting = compileSorting(sorts, db.dialect)
  const direction = last.field === 'started_at' && last.direction === 'asc' ? 'ASC' : 'DESC'
  return { ...sorting, order: [...sorting.order, trusted(`id ${direction}`)] }
}

/** The large columns that are read. Small ones always come: they cost nothing. */
function largeGiven(columns: StreamQueryBody['columns']): ReadonlySet<LargeColumn> {
  if (!columns?.length) return new Set(largeColumns)
  for (const [index, column] of columns.entries()) checkPath(column, `columns.${index}`)
  const names = new Set<string>()
  for (const [index, column] of columns.entries()) {
    const name = column.split('.', 1)[0] as string
    names.add(name)
    if (!wireColumns.has(name)) {
      throw refuse('unknown_field', {
        field: `columns.${index}`,
        given: JSON.stringify(name),
        accepted: [...wireColumns].join(', '),
      })
    }
  }
  return new Set(largeColumns.filter((name) => names.has(name)))
}

const wireColumns = new Set(
  `id project_id op_name display_name trace_id parent_id thread_id turn_id started_at ended_at exception attributes inputs output
   summary svc_user_id wb_user_id svc_run_id wb_run_id svc_run_step wb_run_step svc_run_step_end wb_run_step_end expire_at deleted_at
   storage_size_bytes total_storage_size_bytes`.split(/\s+/),
)
