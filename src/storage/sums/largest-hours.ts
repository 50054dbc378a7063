import type { View } from '../../domain/view.ts'
import { costField } from '../calls/fields.ts'
import type { Dialect } from '../sql/dialect.ts'
import { allOf, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type LongReader } from '../transaction.ts'
import { ofRange, type Range } from './counting.ts'
import { idOfKey, isOrdered, isPlain, type Order, orderBy } from './largest.ts'
import { unsettledHours } from './marks.ts'
import { summedPrices } from './priced.ts'
import { mayLackFacts, type Selection, type SummedView, selectionOf } from './selection.ts'
import { day, hour, startOf } from './spans.ts'

/** Where the first calls of a view are that is sorted by what sums hold the largest of. */
interface LargestHours {
  ranges: Range[]
  /** Holds for as many calls as the page needs, at least when sums were read, and only within the ranges. */
  condition: Sql
}

/** Places of a page behind which all calls are read. */
const maxPlaces = 5_000
/** If the hours hold more of the calls, all are read: there would be nothing to gain. */
const maxShare = 1 / 3

type SortedView = SummedView & View & { limit: number }

export const isSortedByLargest = (view: SummedView & View): view is SortedView =>
  sortOf(view) !== undefined &&
  view.limit !== null &&
  view.limit > 0 &&
  view.limit + view.offset <= maxPlaces &&
  selectionOf(view) !== undefined

function sortOf({ sort: [first] }: Pick<View, 'sort'>): string | undefined {
  return first?.direction === 'desc' && isOrdered(first.field) ? first.field : undefined
}

/** The order of sums by that field; undefined if they do not know it. */
export async function orderOf(db: LongReader, project: string, field: string): Promise<Order | undefined> {
  return orderBy(field, db.dialect, field === costField ? await summedPrices(db, project) : undefined)
}

/** A sum of calls that are as they were when it was stored. */
export interface Span {
  at: number
  /** Null if it is not known, empty if no call has a value. */
  largest: string | null
  calls: number
}

/**
 * The hours that have to be read for a page. With as many hours as it has places whose largest call has a value of T or
 * more, there are as many calls, and hours whose largest is smaller have none of them. Where more than the id is sorted by,
 * each call of that value may be among the first. Undefined if this leaves too much, or sums do not know.
 */
export async function largestHours(
  db: BoundReader,
  view: SortedView,
  now: number,
): Promise<LargestHours | undefined> {
  if (await mayLackFacts(db, view)) return undefined
  const order = await orderOf(db, view.project, sortOf(view) ?? '')
  const unsettled = order && (await unsettledHours(db, view.project, now))
  if (order === undefined || unsettled === undefined) return undefined
  const rank = view.limit + view.offset
  const isByIds = view.sort.length === 1 && order.isExact
  const boundAt = (key: string) => (isByIds ? key : key.slice(0, key.length - idOfKey(key).length))
  const read = spanReader(db, view.project, order, selectionOf(view))
  const unsettledDays = new Set([...unsettled].map((at) => startOf(at, day)))
  const days = await read(day)
  // The sums of a day of which an hour is not settled may be those of before.
  const settledDays = days.filter(({ at }) => !unsettledDays.has(at))
  const floor = boundAt(nthKey(settledDays, rank) ?? '')
  const open = days.filter((span) => unsettledDays.has(span.at) || reaches(span, floor))
  const hours = (await read(hour, open)).filter(({ at }) => !unsettled.has(at))
  const last = nthKey(hours, rank)
  // If sums were stored since those of days were read, calls of other days may come before.
  if (last === undefined || last < floor) return undefined
  const chosen = hours.filter((span) => reaches(span, boundAt(last)))
  if (callsOf(chosen) > callsOf(days) * maxShare) return undefined
  const starts = [...chosen.map(({ at }) => at), ...unsettled]
  return { ranges: mergedRanges(starts), condition: reaching(order, last, isByIds) }
}

const callsOf = (spans: readonly Span[]) => spans.reduce((sum, { calls }) => sum + calls, 0)

/** The key of that rank in the order of the largest calls of some spans, each of which has one at least. */
function nthKey(spans: readonly Span[], rank: number): string | undefined {
  const keys = spans.flatMap(({ largest }) => (largest ? [largest] : []))
  return keys.sort().at(-rank)
}

const reaches = ({ largest }: Span, key: string) => largest === null || (largest !== '' && largest >= key)

/** Reads the sums of days or hours, or of the hours of some days. */
export function spanReader(
  db: BoundReader,
  project: string,
  { largest: largestKey }: Order,
  { kinds, only }: Selection = { kinds: [] },
) {
  return async (span: number, within?: readonly Span[]): Promise<Span[]> => {
    if (kinds.length === 0 || within?.length === 0) return []
    const conditions = [
      sql`project_id = ${project} AND span = ${span} AND field = ${only?.field ?? ''} AND kind IN (${listOf(kinds)})`,
      ...(only === undefined ? [] : [sql`value IN (${listOf(only.values)})`]),
    ]
    const ranges = within && timesOf(within.map(({ at }) => ({ from: at, end: at + day })))
    const source =
      ranges === undefined
        ? sql`call_sums WHERE ${allOf(conditions)}`
        : sql`${ranges} ${ofRange(db.dialect.engine, 'call_sums', [...conditions, isWithin('at')])}`
    const rows = await allRows<{ at: number | string; largest: string | null; calls: number | string }>(
      db,
      sql`SELECT at, ${largestKey} AS largest, sum(calls) AS calls FROM ${source} GROUP BY at`,
    )
    return rows.map(({ at, largest, calls }) => ({
      at: Number(at),
      largest: largest === null || isPlain(largest) ? largest : null,
      calls: Number(calls),
    }))
  }
}

/** What begins a FROM. */
export const timesOf = (ranges: readonly Range[]) =>
  rawSql(
    `(SELECT column1 AS from_time, column2 AS to_time FROM (VALUES ${ranges.map(({ from, end }) => `(${from}, ${end})`).join(', ')}) AS times) AS ranges CROSS JOIN`,
  )

export const isWithin = (time: string) => rawSql(`${time} >= ranges.from_time AND ${time} < ranges.to_time`)

export function mergedRanges(starts: readonly number[]): Range[] {
  const ranges: Range[] = []
  for (const at of [...new Set(starts)].sort((start, other) => start - other)) {
    const before = ranges.at(-1)
    if (before?.end === at) before.end = at + hour
    else ranges.push({ from: at, end: at + hour })
  }
  return ranges
}

/**
 * Calls that are not behind this one. If calls were deleted since sums were read, a page of them is short, instead of
 * having calls for which others should be there.
 */
function reaching({ value, isExact, lowestOf }: Order, key: string, isByIds: boolean): Sql {
  const number = lowestOf(key)
  if (!isExact) return sql`${value} >= ${number}`
  const hasMore = sql`${value} > ${number}`
  return isByIds
    ? sql`(${hasMore} OR (${value} = ${number} AND calls.id >= ${idOfKey(key)}))`
    : sql`(${hasMore} OR ${value} = ${number})`
}

/**
 * FROM and a condition for the calls of these hours, which are looked up in the index of calls by time. PostgreSQL does so
 * with OFFSET, as in counting.ts, and reads no row there: only the calls that are left are looked up by their ids.
 */
export function callsIn(
  { engine }: Dialect,
  project: string,
  { ranges, condition }: LargestHours,
): { from: Sql; condition: Sql } {
  const times = timesOf(ranges)
  const isFound = sql`${isWithin('calls.started_at')} AND ${condition}`
  if (engine === 'sqlite') return { from: sql`${times} calls`, condition: isFound }
  const ids = sql`SELECT calls.id AS found_id FROM calls WHERE calls.project_id = ${project} AND calls.started_at IS NOT NULL
    AND calls.deleted_at IS NULL AND ${isFound} OFFSET 0`
  const rows = sql`SELECT * FROM calls WHERE calls.project_id = ${project} AND calls.id = found.found_id OFFSET 0`
  return {
    from: sql`${times} LATERAL (${ids}) AS found CROSS JOIN LATERAL (${rows}) AS calls`,
    condition: rawSql('1 = 1'),
  }
}
