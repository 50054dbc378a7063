import { join, sql, trusted } from '../sql/sql.ts'
import { allRows, type LongReader } from '../transaction.ts'
import { keyedRows, orderTerms, type RowOrder } from './result-order.ts'
import { type RowsOfView, rowsOf } from './result-rows.ts'

export interface RankedRow {
  row_digest: string
  /** From 0. */
  place: number
  total: number
}

/** A row of the view and those beside it in the order; none when the row is not in the view. */
export function readNeighbours(
  db: LongReader,
  view: RowsOfView,
  order: readonly RowOrder[],
  row: string,
  neighbours: number,
  signal: AbortSignal,
): Promise<RankedRow[]> {
  const keyed = order.length === 0 ? rowsOf(db, view) : keyedRows(db, view, order)
  const terms = join([...order.flatMap(orderTerms), trusted('row_digest')], ', ')
  const near = trusted(String(neighbours))
  return allRows(
    db,
    sql`WITH keyed AS (${keyed}), ranked AS MATERIALIZED (
        SELECT row_digest, row_number() OVER (ORDER BY ${terms}) - 1 AS place, count(*) OVER () AS total FROM keyed
      ), own AS (SELECT place AS at FROM ranked WHERE row_digest = ${row})
      SELECT row_digest, place, total FROM ranked JOIN own ON place BETWEEN at - ${near} AND at + ${near} ORDER BY place`,
    signal,
  )
}
