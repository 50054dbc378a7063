import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { loadMigrations } from '../src/storage/engines/migrations.ts'
import { type Row, rowColumns } from './calls.ts'

/** The record's own table and indexes, filled directly: one prepared statement per row, FULL and WAL as in the record. */
export function openRows(folder: string) {
  const db = new Sqlite(join(folder, 'rows.db'))
  db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('cache_size = -16384')
  for (const { text } of loadMigrations('sqlite')) db.exec(text)
  const parameters = rowColumns.split(',').map(() => '?')
  const one = db.prepare(`INSERT INTO calls (${rowColumns}) VALUES (${parameters})`)
  const count = db.prepare('SELECT count(*) FROM calls').pluck()
  return {
    /** All of them in one transaction. */
    insert: db.transaction((rows: readonly Row[]) => {
      for (const row of rows) one.run(row)
    }),
    count: () => count.get() as number,
    close: () => db.close(),
  }
}
