import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { unsettledTraces } from '../trace-sums/marks.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import type { ThreadsView } from './threads-view.ts'

/** More that are looked at would cost as much as all. */
const maxThreads = 2_000
/** Sums of the same numbers in another order differ by less. */
const rounding = 1e-9

/**
 * Conversations that have all of a page among them, sorted by their sums: the first of those whose sums are known, and all
 * others. Undefined if it has to be found among all conversations.
 */
export async function largestThreads(
  db: BoundReader,
  view: ThreadsView,
  now: number,
): Promise<string[] | undefined> {
  const { project, sort, limit, offset } = view
  const [by] = sort
  if (by === undefined || by.direction !== 'desc' || sort.length > 1) return undefined
  if (by.field !== 'error_count' && by.field !== 'cost') return undefined
  if (limit === null || limit === 0 || limit + offset > maxThreads / 2) return undefined
  if (view.query !== undefined || view.threads !== undefined) return undefined
  if (view.before !== undefined || view.after !== undefined) return undefined
  const unsettled = await unsettledTraces(db, project, now)
  if (unsettled === undefined || unsettled.threads.size > maxThreads) return undefined
  const read = async (query: Sql) => {
    const rows = await allRows<{ found: string | number }>(db, query)
    return rows.map(({ found }) => found)
  }
  const except =
    unsettled.threads.size === 0 ? rawSql('') : sql` AND thread_id NOT IN (${listOf([...unsettled.threads])})`
  const settled = sql`thread_sums WHERE project_id = ${project}${except}`
  const long = await read(
    sql`SELECT thread_id AS found FROM ${settled} AND failures IS NULL LIMIT ${maxThreads + 1}`,
  )
  if (long.length > maxThreads) return undefined
  const rank = limit + offset
  const inOrder = (order: Sql, most: number) =>
    read(sql`SELECT thread_id AS found FROM ${settled} AND ${order} LIMIT ${most}`)
  if (by.field === 'error_count') {
    const failed = await inOrder(rawSql('failures IS NOT NULL ORDER BY failures DESC, thread_id'), rank)
    return [...unsettled.threads, ...long, ...failed].map(String)
  }
  const [last] = await read(
    sql`SELECT cost AS found FROM ${settled} AND cost IS NOT NULL ORDER BY cost DESC LIMIT 1 OFFSET ${rank - 1}`,
  )
  const least = last === undefined ? undefined : Number(last) - Math.abs(Number(last)) * rounding
  const reaches = least === undefined ? rawSql('cost IS NOT NULL') : sql`cost >= ${least}`
  const costly = await inOrder(reaches, maxThreads + 1)
  // Of so many that cost the same but for rounding, the stored sums decide.
  if (costly.length > maxThreads) {
    const first = await inOrder(rawSql('cost IS NOT NULL ORDER BY cost DESC, thread_id'), rank)
    return [...unsettled.threads, ...long, ...first].map(String)
  }
  // Those without a cost are last.
  const others = rawSql('cost IS NULL AND failures IS NOT NULL ORDER BY thread_id')
  const free = costly.length >= rank ? [] : await inOrder(others, rank)
  return [...unsettled.threads, ...long, ...costly, ...free].map(String)
}
