import Sqlite from 'better-sqlite3'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { sqliteFile } from '../../src/storage/open.ts'
import { startedAt } from '../support/call-parts.ts'
import { project } from '../support/calls.ts'

/** A record with this many calls of a megabyte each. It is written without waiting for the disk: it is only read afterwards. */
export async function writeLargeRecord(folder: string, megabytes: number): Promise<void> {
  const file = sqliteFile(folder)
  await (await openSqlite({ file })).close()
  const handle = new Sqlite(file)
  handle.pragma('synchronous = OFF')
  handle
    .prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO calls (project_id, id, trace_id, op_name, started_at, start_bytes, attributes, inputs, derivation)
       SELECT ?, printf('%016x', i), printf('%032x', i), 'answer', ? + i, 1000000, '{}', '{"text":"' || ? || '"}', 2 FROM n`,
    )
    .run(megabytes, project, startedAt, 'x'.repeat(1_000_000))
  handle.close()
}
