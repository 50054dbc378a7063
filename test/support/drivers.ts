import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Database } from '../../src/storage/database.ts'
import { openRecord, sqliteFile as sqliteFileIn } from '../../src/storage/open.ts'
import { usualAddresses, usualConnections } from './pgbouncer.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'
import { createRecord } from './postgres-record.ts'

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

/** Every storage engine for a record; only the one that has poolers while tests are repeated with one. */
export function allDrivers(): Driver[] {
  return usualConnections > 0 ? [postgres()] : [sqliteFile(), postgres()]
}

const newFolder = () => mkdtemp(join(tmpdir(), 'heddle-test-'))

/** Every record but the first is a copy of an empty one, because the migrations take longer than most tests. */
function sqliteFile(): Driver {
  let empty: Promise<string> | undefined
  const remove = (folder: string) => rm(folder, { recursive: true, force: true })
  return withShared({
    name: 'SQLite file',
    start: async () => undefined,
    stop: async () => empty && remove(await empty),
    async open(t) {
      empty ??= newFolder().then(async (folder) => {
        await (await openRecord({ ...place, folder })).close()
        return folder
      })
      const folder = await newFolder()
      await copyFile(sqliteFileIn(await empty), sqliteFileIn(folder))
      return closedAfter(t, await openRecord({ ...place, folder }), () => remove(folder))
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
      if (server === undefined) throw new Error('PostgreSQL has not been started')
      const addresses = await usualAddresses(server, await createRecord(server))
      return closedAfter(t, await openRecord({ ...place, ...addresses }))
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
