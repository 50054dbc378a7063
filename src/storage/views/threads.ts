import { fieldsOf } from '../../domain/expressions/expression.ts'
import { type CallsQuery, isLive, isTurn, matchingCalls } from '../calls/calls.ts'
import { comparedPrices } from '../calls/cost.ts'
import type { FieldSources } from '../calls/fields.ts'
import { filterConditions } from '../calls/filter.ts'
import { callsQueryOf, costMentions, narrowingOf } from '../calls/queries.ts'
import type { FeedbackSubject } from '../feedback/feedback.ts'
import { pageOf } from '../sql/rows-in-order.ts'
import { allOf, join, joined, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader, LongReader } from '../transaction.ts'
import { largestThreads } from './largest-threads.ts'
import { readLatestThreads, usualWindows } from './latest-threads.ts'
import { readThreadDetails, type SummedField, sumsOfThreads } from './thread-details.ts'
import type { Thread, ThreadsView } from './threads-view.ts'

/** A running turn counts by its start. */
const lastSeen = rawSql('coalesce(ended_at, started_at)')

const summed: ReadonlySet<string> = new Set<SummedField>(['cost', 'error_count'])

/** Latest first by default. Validates the query at once. */
export function streamThreads(
  db: BoundReader,
  view: ThreadsView,
  now: number,
  windows = usualWindows,
): AsyncIterable<Thread[]> {
  const { project, query } = view
  const [unpriced, named] = [readingsOf(db, view), namedIn(db, view)]
  return latestOrAll()

  async function* latestOrAll() {
    const mentions = costMentions(view)
    const prices = mentions > 0 ? await comparedPrices(db, project, mentions) : undefined
    const readings = prices === undefined ? unpriced : readingsOf(db, view, prices)
    const { narrowed, isFew } = await narrowingOf(db, { project, query, filters: [] }, now)
    const asked = readings.map((calls) => ({ ...calls, conditions: [...narrowed, ...calls.conditions] }))
    // These may be more than a filter may name.
    const page = (threads: readonly string[]) =>
      selectThreads(db, { ...view, prices }, asked, now, [sql`thread_id IN (${listOf(threads)})`])
    const largest = await largestThreads(db, view, now)
    if (largest !== undefined) {
      yield* db.stream<Thread>(page(largest))
      return
    }
    const latest = isFew ? undefined : await readLatestThreads(db, view, { page, windows }, now)
    if (latest === undefined)
      yield* db.stream<Thread>(selectThreads(db, { ...view, prices }, asked, now, named))
    else yield latest
  }
}

/** Everything is read from the index of turns, unless sums are sorted by. */
function selectThreads(
  db: LongReader,
  view: ThreadsView & Pick<FieldSources, 'prices'>,
  asked: readonly CallsQuery[],
  now: number,
  named: readonly Sql[],
): Sql {
  const { dialect } = db
  const turns = turnsOf(db, view, now, named)
  const took = rawSql('CAST(ended_at - started_at AS DOUBLE PRECISION) / 1000')
  const holding = askedFor(db, asked, now, named)
  const counted = (
    conditions: Sql,
  ) => sql`SELECT thread_id, count(*) AS turn_count, min(started_at) AS start_time, max(${lastSeen}) AS last_updated,
      ${dialect.percentile(took, 0.5)} AS p50_turn_duration_ms, ${dialect.percentile(took, 0.99)} AS p99_turn_duration_ms
    FROM calls WHERE ${conditions} GROUP BY thread_id`
  const grouped =
    named.length === 0
      ? counted(allOf([turns, ...holding]))
      : sql`SELECT * FROM (${counted(turns)}) AS named WHERE ${allOf(holding)}`
  const isSummed = view.sort.some(({ field }) => summed.has(field))
  const threads = isSummed
    ? sql`SELECT threads.*, cost, error_count FROM (${grouped}) AS threads
        LEFT JOIN (${sumsOfThreads(db, view, turns, now)}) AS sums ON sums.thread_id = threads.thread_id`
    : grouped
  const order = orderOf(view.sort)
  const ofOne = turnsOf(db, view, now, [])
  const turn = (first: Sql) =>
    sql`(SELECT id FROM calls WHERE ${ofOne} AND calls.thread_id = found.thread_id ORDER BY ${first} LIMIT 1)`
  return sql`SELECT thread_id, turn_count, start_time, last_updated, p50_turn_duration_ms, p99_turn_duration_ms,
      ${turn(rawSql('started_at, id'))} AS first_turn_id,
      ${turn(sql`${lastSeen} DESC, started_at DESC, id DESC`)} AS last_turn_id
    FROM (SELECT * FROM (${threads}) AS threads ORDER BY ${order}${pageOf(dialect, view)}) AS found ORDER BY ${order}`
}

export function detailsOfThreads(
  db: BoundReader,
  view: ThreadsView,
  threads: readonly string[],
  now: number,
) {
  return readThreadDetails(db, view.project, turnsOf(db, view, now, namedIn(db, view)), threads, now)
}

const namedIn = ({ dialect }: LongReader, { threads }: ThreadsView): Sql[] =>
  filterConditions({ thread_ids: threads }, dialect)

/** The condition of the turns that count. */
function turnsOf(db: LongReader, view: ThreadsView, now: number, named: readonly Sql[]): Sql {
  return allOf([
    sql`project_id = ${view.project} AND ${isLive(now)} AND ${isTurn}`,
    ...named,
    ...(view.after === undefined ? [] : [sql`started_at > ${view.after}`]),
    ...(view.before === undefined ? [] : [sql`started_at < ${view.before}`]),
    db.dialect.callsCancellable,
  ])
}

/** The calls that a conversation must have one of. */
function readingsOf(
  db: LongReader,
  { project, query }: ThreadsView,
  prices?: FieldSources['prices'],
): CallsQuery[] {
  if (query === undefined) return []
  const view = { project, query, filters: [], sort: [], limit: null, offset: 0 }
  // Feedback is that of its calls, or that of the conversation.
  const asksForFeedback = fieldsOf(query).some((field) => field.startsWith('feedback.'))
  const subjects: FeedbackSubject[] = asksForFeedback ? ['call', 'conversation'] : ['call']
  return subjects.map((subject) => callsQueryOf(db, view, { subject, prices }))
}

/** Whether a conversation has such a call: each of those that are `named` is looked up, by no other index. */
function askedFor(db: LongReader, asked: readonly CallsQuery[], now: number, named: readonly Sql[]): Sql[] {
  if (asked.length === 0) return []
  const readings = asked.map((calls) => {
    const matching = (...conditions: Sql[]) => matchingCalls(db, { ...calls, conditions }, now)
    if (named.length === 0)
      return sql`thread_id IN (SELECT thread_id ${matching(rawSql("thread_id <> ''"), ...calls.conditions)})`
    const holds = sql`CASE WHEN ${allOf(calls.conditions)} THEN 1 END = 1`
    return sql`(SELECT 1 AS one ${matching(rawSql('calls.thread_id = named.thread_id'), holds)} LIMIT 1) IS NOT NULL`
  })
  return [joined(readings, ' OR ')]
}

function orderOf(sort: ThreadsView['sort']): Sql {
  const fields = sort.length > 0 ? sort : [{ field: 'last_updated', direction: 'desc' } as const]
  const by = fields.map(
    ({ field, direction }) => `${field} ${direction === 'asc' ? 'ASC' : 'DESC'} NULLS LAST`,
  )
  return join([...by, 'thread_id'].map(rawSql), ', ')
}
