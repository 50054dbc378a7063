import { join } from 'node:path'
import type { Database } from './database.ts'
import { openSqlite } from './engines/sqlite/open.ts'

export interface RecordPlace {
  /** postgres://… or empty. */
  databaseUrl: string
  /** The folder of the SQLite file. */
  folder: string
  queryTimeoutMs: number
  /** Refuses where there is no record yet, instead of making one. */
  mustExist?: boolean
  /** Hears of connections to the server that end while nobody uses them. */
  report?: (error: Error) => void
  /** Hears once that the files of the record were removed or replaced. */
  onLost?: (text: string) => void
}

export function sqliteFile(folder: string): string {
  return join(folder, 'heddle.db')
}

/** Opens the record where the settings say, brought to the schema of this version. */
export async function openRecord({
  databaseUrl,
  folder,
  queryTimeoutMs,
  mustExist = false,
  report,
  onLost,
}: RecordPlace): Promise<Database> {
  if (databaseUrl === '') {
    return openSqlite({ file: sqliteFile(folder), queryTimeoutMs, mustExist, ...(onLost && { onLost }) })
  }
  const { openPostgres } = await import('./engines/postgres/database.ts')
  return openPostgres(databaseUrl, {
    queryTimeoutMs,
    mustExist,
    // A reader may take its rows as slowly here as on SQLite.
    idleTimeoutMs: queryTimeoutMs,
    ...(report && { report }),
  })
}
