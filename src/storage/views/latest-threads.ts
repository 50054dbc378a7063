import { isLive, isTurn } from '../calls/calls.ts'
import { maxValues } from '../sql/conditions.ts'
import { allOf, type Sql, sql } from '../sql/sql.ts'
import { readSums } from '../sums/reading.ts'
import { day } from '../sums/spans.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { maxInBin } from './histogram.ts'
import type { Thread, ThreadsView } from './threads-view.ts'

/**
 * The latest conversations, from the newest calls. A conversation without a turn among these went on before a time that
 * follows from how long calls took, which sums of days know.
 */

interface Windows {
  /** Of no more turns, the index of all is read as fast. */
  manyTurns: number
  /** Newest calls whose conversations are looked at, the few first. */
  calls: readonly number[]
  maxThreads: number
}

export const usualWindows: Windows = { manyTurns: 20_000, calls: [2_000, 16_000, 64_000], maxThreads: 4_000 }

/** Further back and ahead than a clock can be wrong. */
const [firstDay, lastDay] = [-100_000 * day, 100_000 * day]
const maxSums = 10_000
/** Where more than one in so many calls would be looked at, all are. */
const minShare = 4

/** A page of a view in order of time; undefined if it has to be found among all conversations. */
export async function readLatestThreads(
  db: BoundReader,
  view: ThreadsView,
  { page, windows }: { page: (threads: readonly string[]) => Sql; windows: Windows },
  now: number,
): Promise<Thread[] | undefined> {
  const { project, sort, limit, after } = view
  const [by = { field: 'last_updated', direction: 'desc' }, ...others] = sort
  if (by.field !== 'last_updated' || by.direction !== 'desc' || others.length > 0) return undefined
  if (limit === null || limit === 0 || view.threads !== undefined || view.before !== undefined)
    return undefined
  const live = sql`project_id = ${project} AND ${isLive(now)}`
  const found = (query: Sql) => allRows<{ found: string | number }>(db, query)
  // In the order of the index of turns: with it, no call is read.
  const beyond = sql`SELECT 1 AS found FROM calls WHERE ${live} AND ${isTurn}
    ORDER BY thread_id, started_at, id LIMIT 1 OFFSET ${windows.manyTurns}`
  if ((await found(beyond)).length === 0) return undefined
  const summed = await readDays(db, project, now)
  if (summed === undefined) return undefined
  for (const calls of windows.calls) {
    if (calls * minShare > summed.count) return undefined
    const [oldest] = await found(
      sql`SELECT started_at AS found FROM calls WHERE ${live} ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET ${calls}`,
    )
    if (oldest === undefined) return undefined
    const start = Number(oldest.found)
    const isWhole = after !== undefined && after >= start
    const recent = allOf([
      live,
      isTurn,
      sql`started_at > ${isWhole ? after : start}`,
      db.dialect.callsCancellable,
    ])
    const threads = await found(
      sql`SELECT DISTINCT thread_id AS found FROM calls WHERE ${recent} LIMIT ${windows.maxThreads + 1}`,
    )
    if (threads.length > windows.maxThreads) return undefined
    if (!isWhole && threads.length < view.offset + limit) continue
    const query = page(threads.map(({ found: thread }) => String(thread)))
    if (query.values.length > maxValues) return undefined
    const rows = await allRows<Thread>(db, query)
    const last = rows.length === limit ? rows.at(-1) : undefined
    if (isWhole || (last && Number(last.last_updated) > summed.lastEnd(start))) return rows
  }
  return undefined
}

/** How many calls there are, and when those that began up to a time had all ended, at the latest. */
async function readDays(db: BoundReader, project: string, now: number) {
  const view = { project, filters: [], query: undefined }
  const buckets = { from: firstDay, step: day, end: lastDay }
  const days = await readSums(db, view, { field: undefined, buckets, maxRows: maxSums }, now)
  if (days === undefined) return undefined
  const ends = days.map(({ at, figures }) => {
    const max = Math.max(0, ...[...figures.latencies.keys()].map(maxInBin))
    return { at, lastEnd: (start: number) => Math.min(start, at + day) + max }
  })
  return {
    count: days.reduce((sum, { figures }) => sum + figures.calls, 0),
    lastEnd: (start: number) =>
      Math.max(start, ...ends.filter(({ at }) => at <= start).map(({ lastEnd }) => lastEnd(start))),
  }
}
