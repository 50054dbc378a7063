import { hash } from 'node:crypto'
import { maxCompared } from '../calls/cost.ts'
import { type Price, pricesOfProject } from '../prices.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type Command, type Reader } from '../transaction.ts'
import { markHours, ofPrices } from './marks.ts'
import { hour } from './spans.ts'

/** The prices of a project. Sums know the largest cost of their calls by the prices with this digest. */
export interface SummedPrices {
  digest: string
  /** Undefined if they are too many to compare a call with each. */
  compared: readonly Price[] | undefined
}

export const digestLength = 16
/** With more prices in a project, sums do not know what calls cost. */
const maxPrices = 1_000

export async function summedPrices(db: Reader, project: string): Promise<SummedPrices | undefined> {
  const prices = await pricesOfProject(db, project, maxPrices + 1)
  if (prices.length > maxPrices) return undefined
  const facts = prices
    .toSorted((price, other) => (price.id < other.id ? -1 : 1))
    .map((price) => [price.id, price.llm_id, price.effective_date, price.created_at, ...costsOf(price)])
  const digest = hash('sha256', JSON.stringify(facts), 'hex').slice(0, digestLength)
  return { digest, compared: prices.length > maxCompared ? undefined : prices }
}

const costsOf = (price: Price) => [
  price.prompt_token_cost,
  price.completion_token_cost,
  price.cache_read_input_token_cost,
  price.cache_creation_input_token_cost,
]

interface Repricing {
  project_id: string
  /** That were there before the prices were read. */
  marks: readonly number[]
  digest: string
}

/** A project whose prices have changed. Marks after the turn may be of writes that are not finished. */
export async function nextRepricing(db: BoundReader, turn: number): Promise<Repricing | undefined> {
  const rows = await allRows<{ project_id: string; mark: number | string }>(
    db,
    sql`SELECT project_id, mark FROM call_sum_marks WHERE at = ${ofPrices} AND mark <= ${turn} ORDER BY project_id, mark LIMIT 1000`,
  )
  // One that is always written to would keep all others waiting.
  const first = rows[Math.floor(Math.random() * rows.length)]
  if (first === undefined) return undefined
  const { project_id } = first
  const marks = rows.filter((row) => row.project_id === project_id).map(({ mark }) => Number(mark))
  return { project_id, marks, digest: (await summedPrices(db, project_id))?.digest ?? '' }
}

/** Marked at a time: as long as there are few marks, sums answer for all other hours. */
const maxHours = 20

/** Marks some hours whose costs are those of other prices, the newest first; if there are none, the prices are summed. */
export const markRepriced: Command<Repricing, boolean> = async (tx, { project_id, marks, digest }) => {
  const marked = await tx.get<{ count: number | string }>(
    sql`SELECT count(DISTINCT at) AS count FROM call_sum_marks WHERE project_id = ${project_id} AND about = ''`,
  )
  const left = maxHours - Number(marked?.count ?? 0)
  if (left <= 0) return false
  const isStale =
    digest === ''
      ? sql`max_cost IS NOT NULL`
      : sql`(max_cost IS NULL OR substr(max_cost, 1, ${rawSql(String(digestLength))}) <> ${digest})`
  const stale = await tx.all<{ at: number | string }>(
    sql`SELECT DISTINCT at FROM call_sums
      WHERE project_id = ${project_id} AND span = ${hour} AND field = '' AND ${isStale} ORDER BY at DESC LIMIT ${left}`,
  )
  for (const { at } of stale)
    await markHours(
      tx,
      sql`SELECT CAST(${project_id} AS TEXT) AS project_id, CAST(${Number(at)} AS BIGINT) AS at`,
    )
  if (stale.length > 0) return false
  await tx.run(
    sql`DELETE FROM call_sum_marks WHERE project_id = ${project_id} AND at = ${ofPrices} AND mark IN (${listOf(marks)})`,
  )
  return false
}
