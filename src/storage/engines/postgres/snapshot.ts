import type { Sql } from '../../sql/sql.ts'
import type { LongReader, StreamOptions } from '../../transaction.ts'
import { createConnections } from './connections.ts'
import { postgresDefaults } from './database.ts'
import { postgresDialect } from './dialect.ts'
import { postgresFailure } from './failures.ts'
import { createStatements } from './statements.ts'

/** Only the process that opened the snapshot waits for it, and a large record takes long to read. */
const patienceMs = 6 * 3_600_000

const rowsAtOnce = 200

/** The record as of this moment, whatever is written later: one transaction, for one reader. */
export async function openSnapshot(url: string): Promise<LongReader & { close(): Promise<void> }> {
  const limits = { queryTimeoutMs: patienceMs, idleTimeoutMs: patienceMs }
  const connections = createConnections(url, { ...postgresDefaults, ...limits, connections: 1 })
  const statements = createStatements()
  const session = await connections.checkOut('').catch(async (error: unknown) => {
    await connections.close()
    throw postgresFailure(error, limits)
  })
  let cursors = 0

  async function ask(statement: Parameters<typeof session.query>[0]): Promise<unknown[]> {
    try {
      return (await session.query(statement)).rows
    } catch (error) {
      throw postgresFailure(error, limits)
    }
  }

  await ask('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  return {
    dialect: postgresDialect,
    all: async <T>(query: Sql) => (await ask(statements(query))) as T[],
    get: async <T>(query: Sql) => (await ask(statements(query)))[0] as T | undefined,
    async *stream<T>(query: Sql, { signal, rows = rowsAtOnce }: StreamOptions) {
      const cursor = `heddle_snapshot_${++cursors}`
      const { text, values } = statements(query)
      await ask({ text: `DECLARE ${cursor} NO SCROLL CURSOR FOR ${text}`, values })
      for (;;) {
        signal.throwIfAborted()
        const some = (await ask(`FETCH FORWARD ${rows} FROM ${cursor}`)) as T[]
        if (some.length > 0) yield some
        if (some.length < rows) break
      }
      await ask(`CLOSE ${cursor}`)
    },
    async close() {
      await ask('ROLLBACK').catch(() => undefined)
      session.giveBack()
      await connections.close()
    },
  }
}
