import { allHolding, type Expression } from '../../domain/expressions/expression.ts'
import { isDeriving } from '../calls/underived.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { type BoundReader, onlyRow } from '../transaction.ts'
import { kinds, ofRange } from './counting.ts'
import { isOrdered } from './largest.ts'
import { isWithin, mergedRanges, orderOf, type Span, spanReader, timesOf } from './largest-hours.ts'
import { unsettledHours } from './marks.ts'
import type { SummedView } from './selection.ts'
import { day, hour, startOf } from './spans.ts'

/** A condition that calls have more than this of what sums hold the largest of. */
interface Threshold {
  field: string
  direction: 'desc'
  value: number
}

/** With more calls than these, each is not looked up by itself. */
const maxFew = 20_000

/**
 * A condition on when the calls of a view began, if one of its other conditions is that a cost, a time or tokens are above
 * a number: hours whose largest call is below it have none. `isFew` if the calls are among few that are named.
 */
export async function reachingHours(
  db: BoundReader,
  { project, query }: SummedView,
  now: number,
): Promise<{ condition: Sql; isFew: boolean } | undefined> {
  const threshold = thresholdIn(query)
  // What a server of an older version writes has no facts at first.
  if (threshold === undefined || (await isDeriving(db, project))) return undefined
  const order = await orderOf(db, project, threshold)
  const unsettled = order && (await unsettledHours(db, project, now))
  if (order === undefined || unsettled === undefined) return undefined
  const mayReach = ({ largest }: Span) =>
    largest === null || (largest !== '' && order.highestOf(largest) >= threshold.value)
  const read = spanReader(db, project, order, { kinds })
  const unsettledDays = new Set([...unsettled].map((at) => startOf(at, day)))
  const days = (await read(day)).filter((span) => unsettledDays.has(span.at) || mayReach(span))
  const hours = (await read(hour, days)).filter((span) => !unsettled.has(span.at) && mayReach(span))
  const ranges = mergedRanges([...hours.map(({ at }) => at), ...unsettled])
  const [first, last] = [ranges[0], ranges.at(-1)]
  if (first === undefined || last === undefined) return { condition: rawSql('1 = 0'), isFew: true }
  const calls = ofRange(db.dialect.engine, 'calls', [
    sql`calls.project_id = ${project} AND calls.started_at IS NOT NULL AND calls.deleted_at IS NULL`,
    isWithin('calls.started_at'),
  ])
  const ids = sql`SELECT calls.id FROM ${timesOf(ranges)} ${calls}`
  const counted = sql`SELECT count(*) AS count FROM (${ids} LIMIT ${maxFew + 1}) AS few`
  const { count } = await onlyRow<{ count: number | string }>(db, counted)
  if (Number(count) <= maxFew) return { condition: sql`calls.id IN (${ids})`, isFew: true }
  return { condition: sql`started_at >= ${first.from} AND started_at < ${last.end}`, isFew: false }
}

/** Whether a condition of the view is of that kind. */
export const hasThreshold = ({ query }: SummedView): boolean => thresholdIn(query) !== undefined

function thresholdIn(query: Expression | undefined): Threshold | undefined {
  for (const condition of allHolding(query)) {
    if (condition.op !== 'compare' || condition.by === 'eq') continue
    const isFieldFirst = condition.by === 'gt' || condition.by === 'gte'
    const { left, right } = condition
    const [field, bound] = isFieldFirst ? [left, right] : [right, left]
    if (field.op !== 'field' || !isOrdered({ ...field, direction: 'desc' })) continue
    if (bound.op !== 'literal' || bound.literal.kind !== 'number') continue
    return { field: field.field, direction: 'desc', value: Number(bound.literal.value) }
  }
  return undefined
}
