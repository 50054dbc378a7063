import { allHolding, fieldsOf } from '../../domain/expressions/expression.ts'
import { matchingCalls } from '../calls/calls.ts'
import { callFields } from '../calls/fields.ts'
import { filterConditions } from '../calls/filter.ts'
import { type CallsView, narrowedQuery } from '../calls/queries.ts'
import { compileCondition } from '../sql/conditions.ts'
import { type Sql, sql } from '../sql/sql.ts'
import { viewInFacts } from '../sums/selection.ts'
import { allRows, type BoundReader } from '../transaction.ts'

/** Newest calls that are looked at where sums do not know an answer: fewer where conditions read their rows. */
export interface Examined {
  /** All if undefined. */
  indexed?: number
  rows: number
}

/** All other fields are in the rows of calls, and most of them in JSON. */
const indexed =
  /^(op|model|svc_user_id|wb_user_id|parent_id|origin|cost|started_at|ended_at|\w+_tokens|first_token_ms|summary\.weave\..*)$/
const indexedMembers = new Set(['trace_roots_only', 'began_after', 'ops', 'parent_ids', 'svc_user_ids'])

const isIndexed = ({ filters, query, sort }: CallsView) =>
  sort.every(({ field }) => indexed.test(field)) &&
  filters.flatMap(Object.entries).every(([name, value]) => !value || indexedMembers.has(name)) &&
  (query === undefined || fieldsOf(query).every((field) => indexed.test(field)))

/** What calls are looked up by, wherever they are. */
const lookedUpBy = new Set(['id', 'trace_id', 'parent_id', 'thread_id', 'agent'])
const lookedUpMembers = new Set(['call_ids', 'trace_ids', 'parent_ids', 'thread_ids'])

/** The conditions of the view by which its calls are looked up. */
function lookupsIn({ filters, query }: CallsView, { dialect }: BoundReader): Sql[] {
  const own = filters.map((filter) =>
    Object.fromEntries(Object.entries(filter).filter(([name]) => lookedUpMembers.has(name))),
  )
  const asked = allHolding(query).filter((condition) => {
    const fields = fieldsOf(condition)
    return fields.length > 0 && fields.every((field) => lookedUpBy.has(field))
  })
  return [
    ...own.flatMap((filter) => filterConditions(filter, dialect)),
    ...asked.map((condition) => compileCondition(condition, callFields(dialect, 'query'), dialect)),
  ]
}

/** Of the view's range, when the newest calls began that are looked at, and how many these are; undefined if all are. */
export async function examinedOf(
  db: BoundReader,
  asked: CallsView,
  { projectId, narrowed, isFew }: Awaited<ReturnType<typeof narrowedQuery>>,
  bound: Examined | undefined,
  now: number,
  within: readonly Sql[] = [],
): Promise<{ since: number; max: number } | undefined> {
  if (bound === undefined || isFew) return undefined
  const { dialect } = db
  const view = await viewInFacts(db, asked)
  const max = isIndexed(view) ? bound.indexed : bound.rows
  if (max === undefined) return undefined
  const lookups = lookupsIn(view, db)
  const matching = (conditions: readonly Sql[]) =>
    matchingCalls(db, { projectId, conditions, order: [], limit: null, offset: 0 }, now)
  if (lookups.length > 0) {
    const some = sql`SELECT 1 AS one ${matching([...within, ...lookups])} LIMIT ${max + 1}`
    const [found] = await allRows<{ count: number | string }>(
      db,
      sql`SELECT count(*) AS count FROM (${some}) AS found`,
    )
    if (Number(found?.count) <= max) return undefined
  }
  const times = allHolding(view.query)
    .filter((condition) => fieldsOf(condition).every((field) => field === 'started_at'))
    .map((condition) => compileCondition(condition, callFields(dialect, 'query'), dialect))
  const [last] = await allRows<{ started_at: number | string }>(
    db,
    sql`SELECT started_at ${matching([...within, ...narrowed, ...times])} ORDER BY started_at DESC LIMIT 1 OFFSET ${max}`,
  )
  return last && { since: Number(last.started_at), max }
}

/** The view of its newest calls that began between these times, and how many these are; null if all. */
export async function newestOf(
  db: BoundReader,
  view: CallsView,
  { from, end, max }: { from: number; end: number; max: Examined },
  now: number,
): Promise<{ view: CallsView; sampled: number | null }> {
  const query = await narrowedQuery(db, { ...view, sort: [] }, now)
  const within = [sql`started_at >= ${from} AND started_at < ${end}`]
  const newest = await examinedOf(db, view, query, max, now, within)
  if (newest === undefined) return { view, sampled: null }
  return { view: { ...view, filters: [...view.filters, { began_after: newest.since }] }, sampled: newest.max }
}

/** The later of a time and the start of the newest calls of a view: of two lower bounds SQLite seeks either. */
export const startIn = ({ filters }: CallsView, from: number): number =>
  Math.max(from, ...filters.map(({ began_after = -Infinity }) => began_after))
