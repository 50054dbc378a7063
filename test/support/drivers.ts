import type { TestContext } from 'node:test'
import type { Database } from '../../src/storage/database.ts'
import { openRecord } from '../../src/storage/open.ts'
import { openSqlite } from '../../src/storage/sqlite/open.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'
import { newFolder } from './server.ts'

export interface Driver {
  name: string
  /** Before the first record is opened. */
  start(): Promise<void>
  stop(): Promise<void>
  /** A fresh record, closed after the test. */
  open(t: Pick<TestContext, 'after'>): Promise<Database>
}

/** Everything that a record can be kept in. */
export function allDrivers(): Driver[] {
  let server: TestPostgres | undefined
  const nothing = async () => undefined
  return [
    {
      name: 'SQLite in memory',
      start: nothing,
      stop: nothing,
      open: (t) => closedAfter(t, openSqlite({ file: ':memory:' })),
    },
    {
      name: 'SQLite file',
      start: nothing,
      stop: nothing,
      open: async (t) => closedAfter(t, openRecord({ ...place, folder: await newFolder(t) })),
    },
    {
      name: 'PostgreSQL',
      start: async () => {
        server = await startPostgres()
      },
      stop: async () => server?.stop(),
      open: async (t) => {
        const databaseUrl = (await server?.createDatabase()) ?? ''
        return closedAfter(t, openRecord({ ...place, databaseUrl }))
      },
    },
  ]
}

const place = { databaseUrl: '', folder: '', queryTimeoutMs: 60_000 }

async function closedAfter(t: Pick<TestContext, 'after'>, opening: Promise<Database>): Promise<Database> {
  const db = await opening
  t.after(() => db.close())
  return db
}
