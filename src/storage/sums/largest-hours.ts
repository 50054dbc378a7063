import type { SortBy, View } from '../../domain/view.ts'
import { costField } from '../calls/fields.ts'
import type { Dialect } from '../sql/dialect.ts'
import { allOf, join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type LongReader } from '../transaction.ts'
import { groupValue, ofRange, type Range, type SummedField } from './counting.ts'
import {
  beginningOf,
  idOfKey,
  isOrdered,
  isPlain,
  type NumberOrder,
  numberOf,
  type Order,
  orderBy,
} from './largest.ts'
import { unsettledHours } from './marks.ts'
import { summedPrices } from './priced.ts'
import { fieldNames, mayLackFacts, type Selection, type SummedView, selectionOf } from './selection.ts'
import { day, hour, startOf } from './spans.ts'

/** Where the first calls of a view are that is sorted by what sums hold the largest of. */
interface LargestHours {
  ranges: Range[]
  /** Holds for as many calls as the page needs, at least when sums were read, and only within the ranges. */
  condition: Sql
  /** What calls are sorted by before their ids, if by nothing else. */
  first?: { value: Sql; direction: Sql } | undefined
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

function sortOf({ sort: [first] }: Pick<View, 'sort'>): SortBy | undefined {
  return first && (isOrdered(first) || textOf(first) !== undefined) ? first : undefined
}

/** The order of sums by the numbers of a field; undefined if they do not know it. */
export async function orderOf(db: LongReader, project: string, by: SortBy): Promise<NumberOrder | undefined> {
  return orderBy(by, db.dialect, by.field === costField ? await summedPrices(db, project) : undefined)
}

/** The sums that are kept by a text by which calls are sorted. */
const textOf = ({ field }: SortBy) => (field === 'summary.weave.status' ? undefined : fieldNames.get(field))

/** The order of the values by which sums of that field are kept, or one of all sums. */
type SumsOrder = Order & { field?: SummedField }

/** Of more values, comparing each sum with all of them would cost as much as the calls. */
const maxValues = 200

/**
 * The order by a text that has few values, of which keys hold the rank. Sums with a value that came since are not known.
 */
async function orderByText(db: BoundReader, project: string, by: SortBy): Promise<SumsOrder | undefined> {
  const field = textOf(by)
  if (field === undefined) return undefined
  const [isBefore, lastFirst] = by.direction === 'asc' ? (['<', 'DESC'] as const) : (['>', 'ASC'] as const)
  const values = await allRows<{ value: string }>(
    db,
    sql`SELECT DISTINCT value FROM call_sums WHERE project_id = ${project} AND span = ${day} AND field = ${field} AND value <> ''
      ORDER BY value ${rawSql(lastFirst)} LIMIT ${maxValues + 1}`,
  )
  if (values.length === 0 || values.length > maxValues) return undefined
  const keys = values.map(
    ({ value }, rank) => sql`WHEN ${value} THEN ${rawSql(`'${beginningOf(rank)}'`)} || max_id`,
  )
  const key = sql`CASE value WHEN '' THEN '' ${join(keys, ' ')} END`
  return {
    ...{ field, isBefore, isExact: true },
    largest: sql`CASE WHEN count(${key}) = count(*) THEN max(${key}) END`,
    value: sql`nullif(${groupValue(field)}, '')`,
    lastOf: (key) => values[numberOf(key)]?.value ?? '',
  }
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
  const by = sortOf(view)
  if (by === undefined || (await mayLackFacts(db, view))) return undefined
  const { project } = view
  const order: SumsOrder | undefined =
    (await orderOf(db, project, by)) ?? (await orderByText(db, project, by))
  const selection = selectionOf(view)
  if (selection?.only && order?.field && order.field !== selection.only.field) return undefined
  const unsettled = order && (await unsettledHours(db, project, now))
  if (order === undefined || unsettled === undefined) return undefined
  const rank = view.limit + view.offset
  const isByIds = view.sort.length === 1 && order.isExact
  const boundAt = (key: string) => (isByIds ? key : key.slice(0, key.length - idOfKey(key).length))
  const read = spanReader(db, project, order, selection)
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
  const { value, isBefore } = order
  const first = isByIds ? { value, direction: rawSql(isBefore === '>' ? 'DESC' : 'ASC') } : undefined
  return { ranges: mergedRanges(starts), condition: reaching(order, last, isByIds), first }
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
  { field, largest: largestKey }: SumsOrder,
  { kinds, only }: Selection = { kinds: [] },
) {
  return async (span: number, within?: readonly Span[]): Promise<Span[]> => {
    if (kinds.length === 0 || within?.length === 0) return []
    const conditions = [
      sql`project_id = ${project} AND span = ${span} AND field = ${field ?? only?.field ?? ''} AND kind IN (${listOf(kinds)})`,
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
function reaching({ value, isBefore, isExact, lastOf }: Order, key: string, isByIds: boolean): Sql {
  const last = lastOf(key)
  if (!isExact) return sql`${value} >= ${last}`
  const isFirst = sql`${value} ${rawSql(isBefore)} ${last}`
  return isByIds
    ? sql`(${isFirst} OR (${value} = ${last} AND calls.id >= ${idOfKey(key)}))`
    : sql`(${isFirst} OR ${value} = ${last})`
}

/**
 * FROM and a condition for the calls of these hours, which are looked up in the index of calls by time. PostgreSQL does so
 * with OFFSET, as in counting.ts, and reads no row there: only the calls that are left are looked up by their ids, in their
 * order if it is known, so that of many equal ones only those of the page are.
 */
export function callsIn(
  { engine }: Dialect,
  project: string,
  { ranges, condition, first }: LargestHours,
): { from: Sql; condition: Sql; order?: Sql[] } {
  const times = timesOf(ranges)
  const isFound = sql`${isWithin('calls.started_at')} AND ${condition}`
  if (engine === 'sqlite') return { from: sql`${times} calls`, condition: isFound }
  const value = first?.value ?? rawSql('NULL')
  const order = first && [sql`found_value ${first.direction}`, rawSql('found_id DESC')]
  const ids = sql`SELECT calls.id AS found_id, ${value} AS found_value FROM calls WHERE calls.project_id = ${project} AND calls.started_at IS NOT NULL
    AND calls.deleted_at IS NULL AND ${isFound} OFFSET 0`
  const rows = sql`SELECT * FROM calls WHERE calls.project_id = ${project} AND calls.id = found.found_id OFFSET 0`
  const found = sql`SELECT found_id, found_value FROM ${times} LATERAL (${ids}) AS found${order ? sql` ORDER BY ${join(order, ', ')}` : rawSql('')}`
  return {
    from: sql`(${found}) AS found CROSS JOIN LATERAL (${rows}) AS calls`,
    condition: rawSql('1 = 1'),
    ...(order && { order }),
  }
}
