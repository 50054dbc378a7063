import { refuse } from '../../src/domain/refusals.ts'
import { createWatchers } from '../../src/storage/changes.ts'
import { coldRecord } from '../../src/storage/cold/cold-record.ts'
import type { Database } from '../../src/storage/database.ts'
import { loadMigrations } from '../../src/storage/engines/migrations.ts'
import { type Connection, connect } from '../../src/storage/engines/sqlite/connection.ts'
import { sqliteDialect } from '../../src/storage/engines/sqlite/dialect.ts'
import { failureError } from '../../src/storage/engines/sqlite/failures.ts'
import type { JobResult } from '../../src/storage/engines/sqlite/group.ts'
import { migrateSqlite } from '../../src/storage/engines/sqlite/migrate.ts'
import { createWriter } from '../../src/storage/engines/sqlite/writer.ts'
import { redactingRecord } from '../../src/storage/redaction/redacting-record.ts'
import { sql } from '../../src/storage/sql/sql.ts'

let migrated: Buffer | undefined

/**
 * An empty record with the schema of this version. Applying the migrations takes 25 ms, and a file of tests opens many
 * records: the first is copied for the others.
 */
function connectEmpty(): Connection {
  if (migrated === undefined) {
    const first = connect(':memory:', 'write')
    migrateSqlite(first, ':memory:', loadMigrations('sqlite'), 0)
    migrated = first.handle.serialize()
    first.close()
  }
  // better-sqlite3 takes the bytes of a database in the place of its name.
  return connect(migrated as unknown as string, 'write')
}

// Its statements and its writer are those of the file; the threads, the limits and the closing of the file are missing.
/** A new record on one connection in memory, without threads or files: for tests of the layers above the storage. */
export function openMemoryRecord(coldStore?: Parameters<typeof coldRecord>[1]): Database {
  const connection = connectEmpty()
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  const watchers = createWatchers()
  const deliver = (results: readonly JobResult[]) => {
    for (const result of results) {
      if ('failure' in result) pending.get(result.id)?.reject(failureError(result.failure))
      else {
        if (result.changes) watchers.tell(result.changes)
        pending.get(result.id)?.resolve(result.value)
      }
      pending.delete(result.id)
    }
  }
  const writer = createWriter(connection, deliver, { isWatched: () => watchers.isWatched })
  let lastId = 0
  let closing: Promise<void> | undefined

  function stillOpen() {
    if (closing) throw refuse('stopping')
    return connection
  }
  async function written<T>(name: string, input: unknown, isBackground?: true): Promise<T> {
    stillOpen()
    const answer = Promise.withResolvers<unknown>()
    const id = ++lastId
    pending.set(id, answer)
    writer.submit([{ id, name, input, ...(isBackground && { isBackground }) }])
    return answer.promise as Promise<T>
  }

  const database: Database = {
    dialect: sqliteDialect,
    all: async (query) => stillOpen().all(query),
    get: async (query) => stillOpen().get(query),
    write: (name, input) => written(name, input),
    writeInBackground: (name, input) => written(name, input, true),
    async *stream<T>(...[query, { signal, rows = 200 }]: Parameters<Database['stream']>) {
      signal.throwIfAborted()
      const all = stillOpen().all<T>(query)
      for (let from = 0; from < all.length; from += rows) {
        signal.throwIfAborted()
        yield all.slice(from, from + rows)
      }
    },
    async probe() {
      stillOpen().get(sql`SELECT id FROM heddle_probe`)
      await database.write('probe', { at: Date.now() * 1000 })
    },
    watch: watchers.watch,
    reclaim: async () => false,
    scrub: async () => 'clean',
    close() {
      closing ??= writer.idle().then(() => connection.close())
      return closing
    },
  }
  return redactingRecord(coldRecord(database, coldStore))
}
