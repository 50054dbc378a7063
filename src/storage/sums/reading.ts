import { inSteps } from '../../../packages/waiting/index.ts'
import type { CallStats } from '../calls/calls.ts'
import { type CallsView, statsOfCalls } from '../calls/queries.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { countIn, type Range, type SummedField } from './counting.ts'
import { addFigures, type Figures, figuresIn, noFigures } from './figures.ts'
import { unsettledHours } from './marks.ts'
import { mayLackFacts, type SummedView, selectionOf } from './selection.ts'
import { day, hour, startOf } from './spans.ts'

interface SumsWanted {
  /** By what the calls are told apart, if at all. */
  field: SummedField | 'origin' | undefined
  /** Buckets that begin at multiples of the step; without them all calls are counted. */
  buckets?: { from: number; step: number; end: number }
  /** Whether more is known than their number, as it is of buckets. */
  hasFigures?: boolean
  /** Calls before and after these times are told apart. */
  cuts?: readonly number[]
  /** Rows that are read. Of more groups than that, the database finds the largest itself. */
  maxRows?: number
}

/** What is known of the calls of a group that began at this time, up to the next one of its bucket. */
export interface Unit {
  at: number
  value: string
  figures: Figures
}

/** Hours whose calls are counted themselves. */
const maxCounted = 48

/**
 * What sums know of the calls of a view; undefined if its conditions are not about what sums are kept by, too much has
 * been written lately, or there are too many groups. Hours that were are counted anew, so the answer is exact. Each hour is as it was at a moment
 * of the request.
 */
export async function readSums(
  db: BoundReader,
  view: SummedView,
  { field, buckets, hasFigures = buckets !== undefined, cuts = [], maxRows = 100_000 }: SumsWanted,
  now: number,
): Promise<Unit[] | undefined> {
  const selection = selectionOf(view)
  if (selection === undefined || selection.kinds.length === 0) return undefined
  const { only } = selection
  if (only !== undefined && field !== undefined && field !== only.field) return undefined
  if (buckets !== undefined && (buckets.step % hour !== 0 || buckets.from % hour !== 0)) return undefined
  if (await mayLackFacts(db, view)) return undefined
  // Before the sums: what is written from here on may be in the answer or not.
  const unsettled = await unsettledHours(db, view.project, now)
  if (unsettled === undefined) return undefined
  const plan = planOf(unsettled, buckets, cuts)
  if (plan.counted.size > maxCounted) return undefined
  const byField = only?.field ?? (field === 'origin' ? undefined : field)
  const units = new Map<string, Unit>()
  const add = (at: number, kind: string, own: string, figures: Figures) => {
    if (only !== undefined && !only.values.includes(own)) return
    const value = field === 'origin' ? kind.slice(kind.indexOf(' ') + 1) : field === undefined ? '' : own
    const key = `${at} ${value}`
    const known = units.get(key)
    if (known === undefined) units.set(key, { at, value, figures })
    else addFigures(known.figures, figures)
  }
  const selected = sql`project_id = ${view.project} AND field = ${byField ?? ''} AND kind IN (${listOf(selection.kinds)})
    ${only === undefined ? rawSql('') : sql`AND value IN (${listOf(only.values)})`}`
  let left = maxRows
  for (const statement of statementsFor(plan, selected, buckets, hasFigures)) {
    const rows = await allRows<Row>(db, sql`${statement} LIMIT ${left + 1}`)
    left -= rows.length
    if (left < 0) return undefined
    await inSteps(rows, ({ at, kind, value, calls, figures }) => {
      add(
        Number(at),
        kind,
        value,
        figures === null ? noFigures(Number(calls)) : figuresIn(Number(calls), figures),
      )
    })
  }
  const fields = byField === undefined ? [] : [byField]
  const ranges = [...plan.counted].flatMap((at) => rangesOf(at, buckets, cuts))
  const counted = await countIn(db, view.project, {
    ranges,
    fields,
    figures: hasFigures,
    now,
    max: left + 1,
  })
  if (counted.length > left) return undefined
  for (const { at, kind, values, figures } of counted) {
    const start = buckets === undefined ? 0 : at
    if (selection.kinds.includes(kind))
      add(start, kind, byField === undefined ? '' : values[byField], figures)
  }
  return [...units.values()]
}

interface Row {
  at: number | string
  kind: string
  value: string
  calls: number | string
  figures: string | null
}

interface Plan {
  /** Sums of days are read, except for these days, of which those of hours are. */
  days: Set<number> | undefined
  /** Hours whose calls are counted. */
  counted: Set<number>
}

function planOf(
  unsettled: ReadonlySet<number>,
  buckets: SumsWanted['buckets'],
  cuts: readonly number[],
): Plan {
  const { from, step, end } = buckets ?? { from: -Infinity, step: day, end: Infinity }
  const within = cuts.filter((cut) => cut > from && cut < end)
  const counted = new Set([...unsettled].filter((at) => at + hour > from && at < end))
  for (const cut of within) if (cut % hour !== 0) counted.add(startOf(cut, hour))
  if (end % hour !== 0 && end !== Infinity) counted.add(startOf(end, hour))
  const isByDay = buckets === undefined || (step % day === 0 && from % day === 0)
  if (!isByDay) return { days: undefined, counted }
  const days = new Set([...counted, ...within.filter((cut) => cut % day !== 0)].map((at) => startOf(at, day)))
  if (end % day !== 0 && end !== Infinity) days.add(startOf(end, day))
  return { days, counted }
}

/** The calls of an hour as ranges between the cuts. */
function rangesOf(at: number, buckets: SumsWanted['buckets'], cuts: readonly number[]): Range[] {
  const end = Math.min(at + hour, buckets?.end ?? Infinity)
  const times = [at, ...cuts.filter((cut) => cut > at && cut < end).sort((cut, other) => cut - other), end]
  return times
    .slice(1)
    .map((to, n) => ({ from: times[n] as number, end: to }))
    .filter(({ from, end }) => from < end)
}

function* statementsFor(
  { days, counted }: Plan,
  selected: Sql,
  buckets: SumsWanted['buckets'],
  hasFigures: boolean,
): Generator<Sql> {
  const within = buckets && sql` AND at >= ${buckets.from} AND at < ${buckets.end}`
  const of = (span: number, more: Sql, except: ReadonlySet<number>, source: string) => {
    const left = except.size === 0 ? rawSql('') : sql` AND at NOT IN (${listOf([...except])})`
    const where = sql`${rawSql(source)} WHERE ${selected} AND span = ${span}${more}${left}${within ?? rawSql('')}`
    const at = rawSql(within === undefined ? '0 AS at' : 'at')
    return !hasFigures
      ? sql`SELECT 0 AS at, kind, value, sum(calls) AS calls, NULL AS figures FROM ${where} GROUP BY kind, value`
      : sql`SELECT ${at}, kind, value, calls, figures FROM ${where}`
  }
  if (days === undefined) {
    yield of(hour, rawSql(''), counted, 'call_sums')
    return
  }
  yield of(day, rawSql(''), days, 'call_sums')
  if (days.size === 0) return
  const spans = [...days].map((at) => `(${at}, ${at + day})`).join(', ')
  const source = `(SELECT column1 AS from_time, column2 AS to_time FROM (VALUES ${spans}) AS given) AS spans CROSS JOIN call_sums`
  yield of(hour, rawSql(' AND at >= spans.from_time AND at < spans.to_time'), counted, source)
}

/** The number of calls in the view and, if it is asked for, of their bytes, which sums know of most views. */
export async function totalOfCalls(
  db: BoundReader,
  view: CallsView,
  hasFigures: boolean,
  now: number,
): Promise<CallStats> {
  const isWhole = view.limit === null && view.offset === 0
  const units = isWhole ? await readSums(db, view, { field: undefined, hasFigures }, now) : undefined
  const sumOf = (name: 'calls' | 'bytes') => units?.reduce((sum, { figures }) => sum + figures[name], 0)
  const [count, bytes = null] = [sumOf('calls'), hasFigures ? sumOf('bytes') : null]
  return count === undefined || Number.isNaN(bytes) ? statsOfCalls(db, view, now) : { count, bytes }
}
