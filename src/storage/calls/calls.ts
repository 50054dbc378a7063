import type { Page } from '../../domain/view.ts'
import { feedbackOfCall } from '../feedback/feedback.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Sorting } from '../sql/readings.ts'
import { pageOf, rowsInOrder } from '../sql/rows-in-order.ts'
import { allOf, emptySql, join, listOf, rawSql, Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'
import { columnOf, type LargeColumn, largeColumns, queriedColumns, type RecordedColumns } from './columns.ts'

/** A call as it is read. */
export interface CallRow extends RecordedColumns {
  total_storage_size: number | null
  /** Derived when the call was written; read where the summary is not. Null in calls of older versions. */
  stored_status?: string | null
  /** 1 for a root below which a call has failed. */
  failed_below?: number | null
  /** The elements of a JSON list, if they were requested. */
  feedback?: string | null
  feedback_left_out?: number
}

/** The call can be seen: it has started, was not deleted and has not expired. */
export function isLive(now: number, table = rawSql('calls')): Sql {
  return sql`${table}.started_at IS NOT NULL AND ${table}.deleted_at IS NULL AND (${table}.expire_at IS NULL OR ${table}.expire_at > ${now})`
}

/** A root call that has a thread is a turn: clients that send spans name no turns. The index has the same condition. */
export const isTurn = rawSql("thread_id <> '' AND (parent_id IS NULL OR turn_id = id)")

/** The condition is that of the index calls_failed. */
const failedCalls = rawSql(`calls AS failed WHERE failed.status = 'error' AND failed.parent_id IS NOT NULL
  AND failed.started_at IS NOT NULL AND failed.deleted_at IS NULL`)

/** Holds for a root below which a call has failed, whatever its client counted: spans and plain HTTP have no counts. */
export const failedBelow = sql`calls.parent_id IS NULL AND (SELECT 1 FROM ${failedCalls}
  AND failed.project_id = calls.project_id AND failed.trace_id = calls.trace_id LIMIT 1) IS NOT NULL`

/** The small columns, which are always read; the caller names the large ones. */
const smallColumns = rawSql(
  queriedColumns
    .flatMap((column) => (columnOf(column).isFact ? [] : `${columnOf(column).sql ?? column} AS ${column}`))
    .join(', '),
)

export interface CallColumns {
  large: ReadonlySet<LargeColumn>
  totalStorageSize: boolean
  /** Adds the feedback about the call, and how much of it is too large to show. */
  feedback?: boolean
}

function selected(dialect: Dialect, { large, totalStorageSize }: CallColumns, now: number): Sql {
  const columns = largeColumns.map((name) =>
    large.has(name)
      ? sql`${dialect.stored(rawSql(`calls.${name}`))} AS ${rawSql(name)}`
      : rawSql(`NULL AS ${name}`),
  )
  // Only a root call reports the size of its trace.
  const total = totalStorageSize
    ? sql`CASE WHEN parent_id IS NULL THEN (SELECT sum(member.start_bytes + member.end_bytes) FROM calls AS member
          WHERE member.project_id = calls.project_id AND member.trace_id = calls.trace_id AND ${isLive(now, rawSql('member'))}) END`
    : rawSql('NULL')
  const status = large.has('summary') ? emptySql : rawSql(', status AS stored_status')
  return sql`${smallColumns}, ${join(columns, ', ')}, ${total} AS total_storage_size${status},
    CASE WHEN ${failedBelow} THEN 1 END AS failed_below`
}

/**
 * Built once, because this is the most frequent read. Its values are the times, the project and the id, in this order.
 */
const readTextsOf = (dialect: Dialect) => {
  const readText = (totalStorageSize: boolean) =>
    sql`SELECT ${selected(dialect, { large: new Set(largeColumns), totalStorageSize }, 0)} FROM calls
        WHERE project_id = ${''} AND id = ${''} AND ${isLive(0)}`.text
  return { plain: readText(false), withTotal: readText(true) }
}
const readTexts = new Map<Dialect, ReturnType<typeof readTextsOf>>()

/** Undefined if there is no such live call. */
export async function traceOfCall(
  db: Reader,
  projectId: string,
  id: string,
  now: number,
): Promise<string | undefined> {
  const row = await db.get<{ trace_id: string }>(
    sql`SELECT trace_id FROM calls WHERE project_id = ${projectId} AND id = ${id} AND ${isLive(now)}`,
  )
  return row?.trace_id
}

/** Those of the calls that are there. */
export async function liveCallIds(
  db: Reader,
  projectId: string,
  ids: readonly string[],
  now: number,
): Promise<Set<string>> {
  const found = await db.all<{ id: string }>(
    sql`SELECT id FROM calls WHERE project_id = ${projectId} AND id IN (${listOf(ids)}) AND ${isLive(now)}`,
  )
  return new Set(found.map(({ id }) => id))
}

export function readCall(
  db: Reader,
  projectId: string,
  id: string,
  totalStorageSize: boolean,
  now: number,
): Promise<CallRow | undefined> {
  const texts = readTexts.get(db.dialect) ?? readTextsOf(db.dialect)
  readTexts.set(db.dialect, texts)
  return db.get<CallRow>(
    totalStorageSize
      ? new Sql(texts.withTotal, [now, projectId, id, now])
      : new Sql(texts.plain, [projectId, id, now]),
  )
}

export interface CallsQuery extends Page, Sorting {
  projectId: string
  /** Yields some calls as `calls`, which hold all that are asked for. */
  from?: Sql
  conditions: readonly Sql[]
  /** In another order than that of time. */
  isSorted?: boolean
}

/** Their rows by their ids, if calls are sorted or skipped. */
export const callsById = ({ projectId, isSorted, offset }: CallsQuery): Sql | undefined =>
  isSorted || offset > 0 ? sql`calls.project_id = ${projectId}` : undefined

/** The part of the query that follows FROM. `callsCancellable` stops the query when its reader has left. */
export function matchingCalls(db: Reader, query: CallsQuery, now: number): Sql {
  return sql`FROM ${query.from ?? rawSql('calls')}${query.source ?? emptySql} WHERE ${allOf([sql`project_id = ${query.projectId}`, isLive(now), ...query.conditions, db.dialect.callsCancellable])}`
}

function feedbackColumns(db: Reader): Sql {
  const { list, leftOut } = feedbackOfCall(db.dialect)
  return sql`, ${list} AS feedback, ${leftOut} AS feedback_left_out`
}

export function selectCalls(db: Reader, query: CallsQuery, columns: CallColumns, now: number): Sql {
  return rowsInOrder(db.dialect, {
    table: 'calls',
    columns: sql`${selected(db.dialect, columns, now)}${columns.feedback ? feedbackColumns(db) : emptySql}`,
    matching: matchingCalls(db, query, now),
    order: query.order,
    page: query,
    byId: callsById(query),
  })
}

export interface CallStats {
  count: number
  bytes: number | null
}

export function countCalls(db: Reader, query: CallsQuery, now: number): Sql {
  const found = sql`SELECT start_bytes + end_bytes AS size ${matchingCalls(db, query, now)}${pageOf(db.dialect, query)}`
  return sql`SELECT count(*) AS count, sum(size) AS bytes FROM (${found}) AS found`
}
