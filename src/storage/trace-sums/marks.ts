import { batchesOf, readInBatches } from '../../domain/batches.ts'
import { emptySql, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { ofRange } from '../sums/counting.ts'
import { nextHour } from '../sums/marks.ts'
import { hour, hourOf } from '../sums/spans.ts'
import { allRows, type BoundReader, type Command, type LongReader } from '../transaction.ts'

/**
 * Which agent a call belongs to, whether its tokens count and which turn it is of are decided by the calls of its trace.
 * So a write may change the sums of all hours in which the traces of its hour name agents, and of their conversations.
 * Marks are read first, then calls, as for the sums of hours.
 */

export const traceLock = (project: string) => `the sums of traces of ${project}`

/** What marks that are not of an hour are at. */
const ofNames = 1

export interface TraceMark {
  project_id: string
  at: number
  about: string
  mark: number
}

const columns = rawSql('project_id, at, about, mark')
const isOfTraces = rawSql(`(about = 'traces' OR at = ${ofNames})`)
const maxMarks = 20_000

const numbered = (rows: readonly TraceMark[]) =>
  rows.map(({ at, mark, ...row }) => ({ ...row, at: Number(at), mark: Number(mark) }))

export async function traceMarks(db: BoundReader): Promise<TraceMark[]> {
  const found = sql`SELECT ${columns} FROM call_sum_marks WHERE ${isOfTraces} ORDER BY project_id, at, about, mark
    LIMIT ${rawSql(String(maxMarks))}`
  return numbered(await allRows<TraceMark>(db, found))
}

/** What has to be added up again. */
export interface Affected {
  hours: Set<number>
  threads: Set<string>
}

/**
 * What these marks stand for; undefined if it is too much. Traces are tied together where a call is below one of
 * another trace.
 */
export async function affectedBy(
  db: BoundReader,
  project: string,
  marks: readonly Pick<TraceMark, 'at' | 'about'>[],
  { expiredAt, maxTraces = Infinity }: { expiredAt?: number; maxTraces?: number } = {},
): Promise<Affected | undefined> {
  const hours = new Set(marks.flatMap(({ at, about }) => (about === 'traces' ? [at] : [])))
  const named = (kind: string) =>
    marks.flatMap(({ about }) => (about.startsWith(kind) ? [about.slice(kind.length)] : []))
  const threads = new Set(named('thread:'))
  const traces = new Set(named('trace:'))
  const read = async (query: Sql, add: (value: string) => unknown) => {
    for (const { value } of await allRows<{ value: string }>(db, query)) add(String(value))
  }
  const limit = maxTraces === Infinity ? emptySql : sql` LIMIT ${maxTraces + 1}`
  for (const starts of batchesOf([...hours], 100)) {
    await read(sql`${tracesOfHours(db, project, starts)}${limit}`, (trace) => traces.add(trace))
    if (traces.size > maxTraces) return undefined
  }
  if (expiredAt !== undefined) {
    const expired = sql`FROM calls WHERE project_id = ${project} AND expire_at <= ${expiredAt} AND expire_at IS NOT NULL
      AND deleted_at IS NULL AND started_at IS NOT NULL`
    await read(sql`SELECT DISTINCT trace_id AS value ${expired} AND trace_id IS NOT NULL${limit}`, (trace) =>
      traces.add(trace),
    )
  }
  let unread = [...traces]
  while (unread.length > 0) {
    if (traces.size > maxTraces) return undefined
    const tied: string[] = []
    const facts = await readInBatches(unread, 256, (some) =>
      allRows<{ kind: string; value: string | number }>(db, factsOf(project, some)),
    )
    for (const { kind, value } of facts) {
      if (kind === 'hour') hours.add(Number(value))
      else if (kind === 'thread') threads.add(String(value))
      else tied.push(String(value))
    }
    unread = tied.filter((trace) => !traces.has(trace))
    for (const trace of unread) traces.add(trace)
  }
  return { hours, threads }
}

function tracesOfHours({ dialect }: LongReader, project: string, starts: readonly number[]): Sql {
  const spans = rawSql(starts.map((at) => `(${at}, ${at + hour})`).join(', '))
  const conditions = [
    sql`calls.project_id = ${project}`,
    rawSql('calls.started_at >= ranges.from_time AND calls.started_at < ranges.to_time'),
    rawSql('calls.started_at IS NOT NULL AND calls.deleted_at IS NULL AND calls.trace_id IS NOT NULL'),
    dialect.callsCancellable,
  ]
  return sql`WITH ranges (from_time, to_time) AS (VALUES ${spans})
    SELECT DISTINCT trace_id AS value FROM ranges CROSS JOIN ${ofRange(dialect.engine, 'calls', conditions)}`
}

/** Of calls that are gone, too: they may have counted. */
function factsOf(project: string, traces: readonly string[]): Sql {
  const own = sql`member.project_id = ${project} AND member.trace_id IN (${listOf(traces)})`
  const from = rawSql('FROM calls AS member')
  const tied = (other: string) =>
    sql`SELECT 'trace' AS kind, other.trace_id AS value ${from} CROSS JOIN calls AS other
      WHERE ${own} AND other.project_id = ${project} AND ${rawSql(other)} AND other.trace_id <> member.trace_id`
  return sql`SELECT 'hour' AS kind, CAST(${rawSql(hourOf('member.started_at'))} AS TEXT) AS value ${from}
      WHERE ${own} AND member.agent IS NOT NULL AND member.started_at IS NOT NULL
    UNION SELECT 'thread' AS kind, member.thread_id AS value ${from} WHERE ${own} AND member.thread_id <> ''
    UNION ${tied('other.id = member.parent_id')} UNION ${tied('other.parent_id = member.id')}`
}

/** More marks, or more traces, cost as much to follow as reading the calls. */
const maxNamed = 1_000
const maxTraces = 10_000

/** What sums of traces do not know; undefined if that is too much, or nothing was added up yet. */
export async function unsettledTraces(
  db: BoundReader,
  project: string,
  now: number,
): Promise<Affected | undefined> {
  const state = sql`SELECT 1 AS one FROM trace_sums_state WHERE project_id = ${project} AND at IS NOT NULL`
  if ((await allRows(db, state)).length > 0) return undefined
  const marks = await allRows<TraceMark>(
    db,
    sql`SELECT DISTINCT at, about FROM call_sum_marks WHERE project_id = ${project} AND ${isOfTraces} LIMIT ${rawSql(String(maxNamed + 1))}`,
  )
  if (marks.length > maxNamed) return undefined
  const known = marks.map(({ about, at }) => ({ about, at: Number(at) }))
  return affectedBy(db, project, known, { expiredAt: now, maxTraces })
}

export const beforeAll = Number.MIN_SAFE_INTEGER

/** The mark of a walk is of no write and of no other walk. */
export const walkMark = () => -1 - Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)

/** Marks some hours of calls that were there before. Returns whether there are more. */
export const markUntraced: Command<{ limit: number }, boolean> = async (tx, { limit }) => {
  if (!(await tx.tryLock('marks of traces'))) return false
  const next = await tx.get<{ project_id: string; at: number | string }>(
    sql`SELECT project_id, at FROM trace_sums_state WHERE at IS NOT NULL ORDER BY project_id LIMIT 1`,
  )
  if (next === undefined) return false
  const project = next.project_id
  let from = Math.max(Number(next.at), beforeAll)
  let isDone = false
  const mark = walkMark()
  for (let n = 0; n < limit; n++) {
    const at = await nextHour(tx, project, from)
    isDone = at === undefined
    if (at === undefined) break
    await tx.run(
      sql`INSERT INTO call_sum_marks (project_id, at, about, mark) VALUES (${project}, ${at}, 'traces', ${mark})`,
    )
    from = at + hour
  }
  // Prices that changed meanwhile begin the walk anew.
  await tx.run(
    sql`UPDATE trace_sums_state SET at = CAST(${isDone ? null : from} AS BIGINT) WHERE project_id = ${project} AND at = ${next.at}`,
  )
  return true
}
