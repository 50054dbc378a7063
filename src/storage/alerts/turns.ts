import { rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

/** The number of a row among those of its entity, from 1: whoever reads in this order serves all entities alike. */
export function turnOfEntity({ dialect }: Pick<Reader, 'dialect'>, order: Sql): Sql {
  const entity = sql`substr(project_id, 1, ${dialect.position(rawSql('project_id'), rawSql("'/'"))})`
  return sql`row_number() OVER (PARTITION BY ${entity} ORDER BY ${order})`
}
