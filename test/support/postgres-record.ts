import { openRecord } from '../../src/storage/open.ts'
import type { TestPostgres } from './postgres.ts'

const empty = new WeakMap<TestPostgres, Promise<string>>()

/** The address of a new empty record: a copy of the server's first one, because the migrations take longer than most tests. */
export async function createRecord(server: TestPostgres): Promise<string> {
  let first = empty.get(server)
  if (first === undefined) {
    first = migrate(server)
    empty.set(server, first)
  }
  return server.createDatabase(await first)
}

async function migrate(server: TestPostgres): Promise<string> {
  const databaseUrl = await server.createDatabase()
  await (await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })).close()
  return databaseUrl
}
