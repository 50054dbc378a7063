import { now as clock } from '../../domain/time.ts'
import { announceDeletion, announceParts, followDeletion, followParts } from '../evaluations/pending.ts'
import { refreshStale } from '../evaluations/trials.ts'
import type { Sorting } from '../sql/expressions.ts'
import { type Page, pageOf } from '../sql/page.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { allOf, join, listOf, nothing, Sql, type SqlValue, sql, trusted } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import { feedbackOfCall } from './feedback.ts'

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

export interface CallRow {
  id: string
  project_id: string
  trace_id: string
  parent_id: string | null
  thread_id: string | null
  turn_id: string | null
  op_name: string
  display_name: string | null
  started_at: number
  ended_at: number | null
  exception: string | null
  user_id: string | null
  run_id: string | null
  run_step: number | null
  run_step_end: number | null
  expire_at: number | null
  storage_size: number
  total_storage_size: number | null
  attributes: string | null
  inputs: string | null
  output: string | null
  summary: string | null
  /** The members of a JSON list, when they were asked for. */
  feedback?: string | null
  feedback_left_out?: number
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

/** A re-sent start or end is the same start or end: it replaces its own part and touches nothing of the other. */
const kinds = {
  start: {
    columns: startColumns,
    merge: [firstOf('display_name'), ...replaced(startColumns), movedFrom, sweptAgain],
  },
  end: {
    columns: endColumns,
    merge: [endName, firstOf('trace_id'), ...replaced(endOnlyColumns), sweptAgain],
  },
  whole: {
    columns: [...startColumns, ...endOnlyColumns],
    merge: [endName, ...replaced(startColumns), ...replaced(endOnlyColumns), movedFrom, sweptAgain],
  },
} as const satisfies Record<string, { columns: readonly string[]; merge: readonly string[] }>

type Kind = keyof typeof kinds

function kindOf({ start, end }: CallPart): Kind {
  if (start) return end ? 'whole' : 'start'
  return 'end'
}

/** Rows of one statement: few sizes, so that few statements are prepared. */
const rowsAtOnce = 16

const texts = new Map<string, string>()

function upsertText(kind: Kind, rows: number): string {
  const key = `${kind} ${rows}`
  let text = texts.get(key)
  if (text === undefined) {
    const { columns, merge } = kinds[kind]
    const all = ['project_id', 'id', 'display_name', ...columns]
    const row = `(${all.map(() => '?').join(', ')})`
    text = `INSERT INTO calls (${all.join(', ')}) VALUES ${Array(rows).fill(row).join(', ')}
      ON CONFLICT (project_id, id) DO UPDATE SET ${merge.join(', ')}`
    texts.set(key, text)
  }
  return text
}

function upsert(kind: Kind, parts: readonly CallPart[]): Sql {
  const values: SqlValue[] = []
  for (const { project_id, id, display_name, start, end } of parts) {
    values.push(project_id, id, display_name)
    if (start) for (const column of startColumns) values.push(start[column])
    if (end) for (const column of start ? endOnlyColumns : endColumns) values.push(end[column])
  }
  return new Sql(upsertText(kind, parts.length), values)
}

/** Writes parts of calls; each call appears once in the list. */
export const upsertCalls: Command<readonly CallPart[], void> = async (tx, parts) => {
  await announceParts(tx, parts)
  const time = clock()
  const byProject = Map.groupBy(parts, ({ project_id }) => project_id)
  for (const project of [...byProject.keys()].sort()) {
    const own = byProject.get(project) as CallPart[]
    await upsertParts(tx, own)
    await followParts(tx, project, own, time)
  }
}

/** Of one project. */
async function upsertParts(tx: Transaction, parts: readonly CallPart[]): Promise<void> {
  for (const [kind, list] of Map.groupBy(parts, kindOf)) {
    for (let from = 0; from < list.length; ) {
      const size = list.length - from >= rowsAtOnce ? rowsAtOnce : 1
      await tx.run(upsert(kind, list.slice(from, from + size)))
      from += size
    }
  }
}

export interface CallName {
  project_id: string
  id: string
  /** The empty text takes the name away. */
  name: string
}

/** Apart from what the parts of a call bring, so that none of them, early, late or sent again, undoes it. */
export const renameCall: Command<CallName, void> = async (tx, { project_id, id, name }) => {
  await tx.run(
    sql`INSERT INTO calls (project_id, id, renamed) VALUES (${project_id}, ${id}, ${name})
        ON CONFLICT (project_id, id) DO UPDATE SET renamed = excluded.renamed`,
  )
}

/** There is a call to see: it was started, was not deleted and has not expired. */
export function isLive(now: number, table = trusted('calls')): Sql {
  return sql`${table}.started_at IS NOT NULL AND ${table}.deleted_at IS NULL AND (${table}.expire_at IS NULL OR ${table}.expire_at > ${now})`
}

/** The small columns, always read; the large ones are named by the caller. */
const smallColumns = trusted(
  'id, project_id, trace_id, parent_id, thread_id, turn_id, op_name, coalesce(renamed, display_name) AS display_name, started_at, ended_at, exception, user_id, run_id, run_step, run_step_end, expire_at, start_bytes + end_bytes AS storage_size',
)

export const largeColumns = ['attributes', 'inputs', 'output', 'summary'] as const
export type LargeColumn = (typeof largeColumns)[number]

export interface CallColumns {
  large: ReadonlySet<LargeColumn>
  totalStorageSize: boolean
  /** What was said about the call, and how much of it is too much to show. */
  feedback?: boolean
}

function selected({ large, totalStorageSize }: CallColumns, now: number): Sql {
  const columns = largeColumns.map((name) => trusted(large.has(name) ? `calls.${name}` : `NULL AS ${name}`))
  // Only a root speaks for its trace.
  const total = totalStorageSize
    ? sql`CASE WHEN parent_id IS NULL THEN (SELECT sum(member.start_bytes + member.end_bytes) FROM calls AS member
          WHERE member.project_id = calls.project_id AND member.trace_id = calls.trace_id AND ${isLive(now, trusted('member'))}) END`
    : trusted('NULL')
  return sql`${smallColumns}, ${join(columns, ', ')}, ${total} AS total_storage_size`
}

/** Made once: this is the read that everything waits for. Its values are times, the project and the id, in this order. */
const readText = (totalStorageSize: boolean) =>
  sql`SELECT ${selected({ large: new Set(largeColumns), totalStorageSize }, 0)} FROM calls
      WHERE project_id = ${''} AND id = ${''} AND ${isLive(0)}`.text
const readTexts = { plain: readText(false), withTotal: readText(true) }

export function readCall(
  db: Reader,
  projectId: string,
  id: string,
  totalStorageSize: boolean,
  now: number,
): Promise<CallRow | undefined> {
  return db.get<CallRow>(
    totalStorageSize
      ? new Sql(readTexts.withTotal, [now, projectId, id, now])
      : new Sql(readTexts.plain, [projectId, id, now]),
  )
}

export interface CallsQuery extends Page, Sorting {
  projectId: string
  conditions: readonly Sql[]
}

/** The pieces that follow FROM. `going` stops the query when its reader has left. */
function matching(db: Reader, query: CallsQuery, now: number): Sql {
  return sql`FROM calls${query.source ?? nothing} WHERE ${allOf([sql`project_id = ${query.projectId}`, isLive(now), ...query.conditions, db.dialect.going])}`
}

function said(db: Reader): Sql {
  const { list, leftOut } = feedbackOfCall(db.dialect)
  return sql`, ${list} AS feedback, ${leftOut} AS feedback_left_out`
}

export function selectCalls(db: Reader, query: CallsQuery, columns: CallColumns, now: number): Sql {
  return rowsInOrder(db.dialect, {
    table: 'calls',
    columns: sql`${selected(columns, now)}${columns.feedback ? said(db) : nothing}`,
    matching: matching(db, query, now),
    order: query.order,
    page: query,
  })
}

export interface CallStats {
  count: number
  bytes: number | null
}

export function countCalls(db: Reader, query: CallsQuery, now: number): Sql {
  const found = sql`SELECT start_bytes + end_bytes AS size ${matching(db, query, now)}${pageOf(db.dialect, query)}`
  return sql`SELECT count(*) AS count, sum(size) AS bytes FROM (${found}) AS found`
}

/**
 * A deleted call takes its descendants of the same trace with it. Answers how many went that were not named. SQLite joins
 * in the order of a CROSS JOIN; left to itself it reads every call of the project in each round.
 */
export const deleteCalls: Command<
  { project_id: string; ids: readonly string[]; now: number },
  { descendants: number }
> = async (tx, { project_id, ids, now }) => {
  let descendants = 0
  const named = new Set(ids)
  await announceDeletion(tx, project_id)
  for (let from = 0; from < ids.length; from += 100) {
    const roots = ids.slice(from, from + 100)
    const family = await tx.all<{ id: string }>(
      sql`WITH RECURSIVE family (id, trace_id) AS (
            SELECT id, trace_id FROM calls WHERE project_id = ${project_id} AND deleted_at IS NULL AND id IN (${listOf(roots)})
            UNION
            SELECT calls.id, calls.trace_id FROM family CROSS JOIN calls
            WHERE calls.parent_id = family.id AND calls.project_id = ${project_id} AND calls.trace_id = family.trace_id AND calls.deleted_at IS NULL
          ) SELECT id FROM family`,
    )
    for (let i = 0; i < family.length; i += 100) {
      const some = family.slice(i, i + 100).map(({ id }) => id)
      await tx.run(
        sql`UPDATE calls SET deleted_at = ${now} WHERE project_id = ${project_id} AND id IN (${listOf(some)})`,
      )
    }
    await followDeletion(
      tx,
      project_id,
      family.map(({ id }) => id),
      now,
    )
    for (const { id } of family) {
      if (!named.has(id)) {
        named.add(id)
        descendants++
      }
    }
  }
  return { descendants }
}

export interface SweepStep {
  now: number
  /** Deleted calls that were emptied before this are forgotten. */
  forgetBefore: number
  /** Of rows. */
  limit: number
  /** What is freed at a time: a step ends at the row that reaches it. */
  bytes: number
}

/**
 * Frees the space of what is deleted or expired, a few rows at a time. The empty row stays for a while, so that a late
 * part of a deleted call cannot bring it back. Answers how many rows it touched.
 */
export const sweepCalls: Command<SweepStep, number> = async (tx, { now, forgetBefore, limit, bytes }) => {
  const some = (condition: Sql) =>
    sql`(project_id, id) IN (SELECT project_id, id FROM calls WHERE ${condition} LIMIT ${limit})`
  // To empty a row is to free its pages one by one, and to mark it is to write it again.
  const light = (condition: Sql) =>
    sql`(project_id, id) IN (
      SELECT project_id, id FROM (
        SELECT project_id, id, sum(size) OVER (ORDER BY project_id, id ROWS UNBOUNDED PRECEDING) - size AS before
        FROM (SELECT project_id, id, start_bytes + end_bytes AS size FROM calls WHERE ${condition} LIMIT ${limit}) AS chosen
      ) AS summed WHERE before < ${bytes})`
  const expired = await tx.run(
    sql`UPDATE calls SET deleted_at = expire_at WHERE ${light(sql`expire_at <= ${now} AND deleted_at IS NULL`)}`,
  )
  const emptied = await tx.run(
    sql`UPDATE calls SET attributes = NULL, inputs = NULL, output = NULL, summary = NULL, exception = NULL,
        start_bytes = 0, end_bytes = 0, swept_at = ${now} WHERE ${light(trusted('deleted_at IS NOT NULL AND swept_at IS NULL'))}`,
  )
  const forgotten = await tx.run(sql`DELETE FROM calls WHERE ${some(sql`swept_at < ${forgetBefore}`)}`)
  const results = await refreshStale(tx, { now, project_id: null, limit })
  return expired + emptied + forgotten + results
}
