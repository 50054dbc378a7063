import { loadMigrations } from '../../src/storage/engines/migrations.ts'
import { connect } from '../../src/storage/engines/sqlite/connection.ts'
import { sqliteDialect } from '../../src/storage/engines/sqlite/dialect.ts'
import { migrateSqlite } from '../../src/storage/engines/sqlite/migrate.ts'
import { type Sql, sql } from '../../src/storage/sql/sql.ts'
import type { Transaction } from '../../src/storage/transaction.ts'

export interface PlannedRecord {
  tx: Transaction
  /** The plan of SQLite for each statement since the last call: what it searches, scans and sorts. */
  plans(): string[][]
  planOf(query: Sql): string[]
}

/** An empty record on which commands can be run, and that reports which indexes they use. */
export function openWithPlans(t: { after(close: () => void): void }): PlannedRecord {
  const connection = connect(':memory:', 'write')
  t.after(() => connection.close())
  migrateSqlite(connection, ':memory:', loadMigrations('sqlite'), 0)
  const planOf = (query: Sql) =>
    connection
      .all<{ detail: string }>(sql`EXPLAIN QUERY PLAN ${query}`)
      .map(({ detail }) => detail)
      .filter((detail) => !/VALUES|SUBQUERY/.test(detail))
  let seen: string[][] = []
  const noted = (query: Sql) => {
    seen.push(planOf(query))
    return query
  }
  return {
    tx: {
      dialect: sqliteDialect,
      record: connection,
      all: async (query) => connection.all(noted(query)),
      get: async (query) => connection.get(noted(query)),
      run: async (query) => connection.run(noted(query)),
      lock: async () => {},
      lockShared: async () => {},
      tryLock: async () => true,
      changed: () => {},
    },
    plans() {
      const all = seen
      seen = []
      return all
    },
    planOf,
  }
}
