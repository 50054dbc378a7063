import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Database } from '../../src/storage/database.ts'
import { openRecord } from '../../src/storage/open.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'

export interface Driver {
  name: string
  /** Called before the first record is opened. */
  start(): Promise<void>
  stop(): Promise<void>
  /** One record shared by all tests that use projects of their own. */
  shared(): Promise<Database>
  /** A fresh record, closed after the test. */
  open(t: Pick<TestContext, 'after'>): Promise<Database>
}

/** Every storage engine for a record. */
export function allDrivers(): Driver[] {
  return [sqliteFile(), postgres()]
}

function sqliteFile(): Driver {
  return withShared({
    name: 'SQLite file',
    start: async () => undefined,
    stop: async () => undefined,
    async open(t) {
      const folder = await mkdtemp(join(tmpdir(), 'heddle-test-'))
      const remove = () => rm(folder, { recursive: true, force: true })
      return closedAfter(t, await openRecord({ ...place, folder }), remove)
    },
  })
}

function postgres(): Driver {
  let server: TestPostgres | undefined
  return withShared({
    name: 'PostgreSQL',
    async start() {
      server = await startPostgres()
    },
    stop: async () => server?.stop(),
    async open(t) {
      const databaseUrl = (await server?.createDatabase()) ?? ''
      return closedAfter(t, await openRecord({ ...place, databaseUrl }))
    },
  })
}

function withShared(driver: Omit<Driver, 'shared'>): Driver {
  let record: Promise<Database> | undefined
  const closing: (() => Promise<void>)[] = []
  const later = { after: (close: () => Promise<void>) => closing.push(close) } as Pick<TestContext, 'after'>
  return {
    ...driver,
    shared() {
      record ??= driver.open(later)
      return record
    },
    async stop() {
      for (const close of closing) await close()
      await driver.stop()
    },
  }
}

const place = { databaseUrl: '', folder: '', queryTimeoutMs: 60_000 }

function closedAfter(
  t: Pick<TestContext, 'after'>,
  db: Database,
  andThen: () => Promise<void> = async () => undefined,
): Database {
  t.after(async () => {
    await db.close()
    await andThen()
  })
  return db
}
