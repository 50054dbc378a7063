import { type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

export interface StoredTable {
  name: string
  columns: string[]
  /** The columns of the primary key, in order. */
  key: string[]
}

/**
 * Not copied: tables about how this record was opened, the word index, which each engine stores in its own way, and sums,
 * which follow from the calls.
 */
const ofTheStore = new Set([
  ...['agent_sums', 'call_sum_marks', 'call_sum_turn', 'call_sums', 'cold_owner', 'cold_turn'],
  ...['derivation_turn', 'heddle_migrations', 'heddle_probe', 'search_entries', 'search_marks'],
  ...['search_state', 'thread_sums', 'trace_sums_state', 'unsummed_projects'],
])

/** Plain tables only: what an engine builds behind them, such as a search index, is not copied. */
const catalogues: Record<Reader['dialect']['engine'], Sql> = {
  sqlite: sql`SELECT l.name AS "table", c.name AS "column", c.pk AS rank
    FROM pragma_table_list l JOIN pragma_table_info(l.name) c
    WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite%' ORDER BY l.name, c.cid`,
  postgres: sql`SELECT t.relname AS "table", a.attname AS "column",
      COALESCE(array_position(CAST(k.indkey AS SMALLINT[]), a.attnum) + 1, 0) AS rank
    FROM pg_catalog.pg_class t
    JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace AND n.nspname = current_schema()
    JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    LEFT JOIN pg_catalog.pg_index k ON k.indrelid = t.oid AND k.indisprimary
    WHERE t.relkind IN ('r', 'p') ORDER BY t.relname, a.attnum`,
}

/** Every table that both records have. Users come first, because their keys refer to them. */
export async function tablesInBoth(source: Reader, other: Reader): Promise<StoredTable[]> {
  const there = new Map((await tablesOf(other)).map((table) => [table.name, table]))
  const both = (await tablesOf(source)).flatMap((table) => {
    const columns = table.columns.filter((column) => there.get(table.name)?.columns.includes(column))
    return columns.length === 0 || ofTheStore.has(table.name) ? [] : [{ ...table, columns }]
  })
  return both.sort((a, b) => Number(b.name === 'users') - Number(a.name === 'users'))
}

async function tablesOf(db: Reader): Promise<StoredTable[]> {
  const rows = await db.all<{ table: string; column: string; rank: number }>(catalogues[db.dialect.engine])
  const tables = Map.groupBy(rows, ({ table }) => table)
  return [...tables].map(([name, all]) => ({
    name,
    columns: all.map(({ column }) => column),
    key: all
      .filter(({ rank }) => rank > 0)
      .sort((a, b) => a.rank - b.rank)
      .map(({ column }) => column),
  }))
}
