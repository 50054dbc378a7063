import type { PackedTexts } from '../../domain/evaluations/columns/packing.ts'
import { join, rawSql, sql } from '../sql/sql.ts'
import { allRows, type LongReader } from '../transaction.ts'
import { keyedRows, orderTerms, type RowOrder } from './result-order.ts'
import { type RowsOfView, rowsOf } from './result-rows.ts'

export interface RankedRow {
  row_digest: string
  /** From 0. */
  place: number
  total: number
}

/** The same for rows that are already sorted. */
export function neighboursIn(
  { rows, digests }: { rows: Int32Array; digests: PackedTexts },
  row: string,
  neighbours: number,
): RankedRow[] {
  const place = rows.findIndex((at) => digests.at(at) === row)
  if (place === -1) return []
  const first = Math.max(0, place - neighbours)
  return Array.from(rows.subarray(first, place + neighbours + 1), (at, i) => ({
    ...{ row_digest: digests.at(at), place: first + i, total: rows.length },
  }))
}

/** A row of the view and its neighbours in the order; none if the row is not in the view. */
export function readNeighbours(
  db: LongReader,
  view: RowsOfView,
  order: readonly RowOrder[],
  row: string,
  neighbours: number,
  signal: AbortSignal,
): Promise<RankedRow[]> {
  const keyed = order.length === 0 ? rowsOf(db, view) : keyedRows(db, view, order)
  const terms = join([...order.flatMap(orderTerms), rawSql('row_digest')], ', ')
  const near = rawSql(String(neighbours))
  return allRows(
    db,
    sql`WITH keyed AS (${keyed}), ranked AS MATERIALIZED (
        SELECT row_digest, row_number() OVER (ORDER BY ${terms}) - 1 AS place, count(*) OVER () AS total FROM keyed
      ), own AS (SELECT place AS at FROM ranked WHERE row_digest = ${row})
      SELECT row_digest, place, total FROM ranked JOIN own ON place BETWEEN at - ${near} AND at + ${near} ORDER BY place`,
    signal,
  )
}
