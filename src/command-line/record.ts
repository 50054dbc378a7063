import type { Config } from '../config.ts'
import type { Database } from '../storage/database.ts'
import { openRecord } from '../storage/open.ts'

export function placeOf(config: Config) {
  return { databaseUrl: config.database_url, folder: config.data, queryTimeoutMs: config.query_timeout }
}

/** Opens the record for one piece of work; a running server notices nothing. */
export async function withRecord<T>(config: Config, work: (db: Database) => Promise<T>): Promise<T> {
  const db = await openRecord(placeOf(config))
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}
