import type { Database } from '../../src/storage/database.ts'
import { openRecord, type RecordPlace } from '../../src/storage/open.ts'
import { openMemoryRecord } from './memory-record.ts'
import type { TestPostgres } from './postgres.ts'

let postgres: Promise<TestPostgres> | undefined

export const onPostgres = process.env.npm_lifecycle_event === 'test:postgres'

/** An empty record for an app: in memory, and in PostgreSQL while `npm run test:postgres` runs the same tests. */
export async function openAppRecord(coldStore?: RecordPlace['coldStore']): Promise<Database> {
  if (!onPostgres) return openMemoryRecord(coldStore)
  const [{ startPostgres }, { createRecord }, { usualAddresses }] = await Promise.all([
    import('./postgres.ts'),
    import('./postgres-record.ts'),
    import('./pgbouncer.ts'),
  ])
  postgres ??= startPostgres()
  const server = await postgres
  const addresses = await usualAddresses(server, await createRecord(server))
  return openRecord({ ...addresses, folder: '', queryTimeoutMs: 60_000, coldStore })
}
