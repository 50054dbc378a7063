import type { Page } from '../../domain/view.ts'
import type { Dialect } from './dialect.ts'
import { emptySql, join, rawSql, type Sql, sql } from './sql.ts'

/** Rows of one table, in an order for which an index may or may not exist. */
interface RowsInOrder {
  table: string
  columns: Sql
  /** A column of another table to select as well. */
  beside?: { column: Sql; name: string }
  /** FROM and WHERE. */
  matching: Sql
  order: readonly Sql[]
  page: Page
  /** Its rows by their `id`, if the database has to sort or to skip others. */
  byId?: Sql | undefined
}

/** Rows of a page that are looked up after they were sorted. */
const maxLookedUp = 1_000

/**
 * SQLite sorts rows together with everything that is selected, which may be many large values. So only their rowids are
 * sorted, and each row is read in turn: a CROSS JOIN follows the order of its left side, which the LIMIT preserves.
 * PostgreSQL would read every row that it sorts or skips, where their ids may be in an index.
 */
export function rowsInOrder(dialect: Dialect, rows: RowsInOrder): Sql {
  const { table, columns, beside, matching, order, page, byId } = rows
  const shown = beside === undefined ? emptySql : sql`${beside.column} AS ${rawSql(beside.name)}, `
  const sorted = sql`${matching} ORDER BY ${join(order, ', ')}`
  if (!dialect.sortsWholeRows && byId !== undefined && page.limit !== null && page.limit <= maxLookedUp) {
    const ids = sql`ARRAY(SELECT ${rawSql(table)}.id ${sorted}${pageOf(dialect, page)})`
    return sql`SELECT ${columns} FROM unnest(${ids}) WITH ORDINALITY AS found (found_id, found_rank)
      JOIN ${rawSql(table)} ON ${rawSql(table)}.id = found_id AND ${byId} ORDER BY found_rank`
  }
  if (!dialect.sortsWholeRows) return sql`SELECT ${shown}${columns} ${sorted}${pageOf(dialect, page)}`
  return sql`SELECT ${rawSql(beside === undefined ? '' : `${beside.name}, `)}${columns}
    FROM (SELECT ${shown}${rawSql(`${table}.rowid`)} AS found_row ${sorted} LIMIT ${page.limit ?? dialect.noLimit} OFFSET ${page.offset}) AS found
    CROSS JOIN ${rawSql(`${table} ON ${table}.rowid = found_row`)}`
}

/** LIMIT and OFFSET. */
export function pageOf(dialect: Dialect, { limit, offset }: Page): Sql {
  if (limit !== null) return sql` LIMIT ${limit} OFFSET ${offset}`
  return offset > 0 ? sql` LIMIT ${dialect.noLimit} OFFSET ${offset}` : emptySql
}
