import type { Dialect } from './dialect.ts'
import { nothing, type Sql, sql } from './sql.ts'

export interface Page {
  /** Null is all of them. */
  limit: number | null
  offset: number
}

export function pageOf(dialect: Dialect, { limit, offset }: Page): Sql {
  if (limit !== null) return sql` LIMIT ${limit} OFFSET ${offset}`
  return offset > 0 ? sql` LIMIT ${dialect.noLimit} OFFSET ${offset}` : nothing
}
