import { join } from 'node:path'
import { coldRecord } from './cold/cold-record.ts'
import { type ColdSettings, type ColdStore, folderStore } from './cold/store.ts'
import { unfinishedCopy } from './copying/incomplete-copy.ts'
import type { Database } from './database.ts'
import { openSqlite } from './engines/sqlite/open.ts'
import { StorageRefusal } from './failures.ts'
import { redactingRecord } from './redaction/redacting-record.ts'

export interface RecordPlace {
  /** postgres://… or empty. */
  databaseUrl: string
  /** The database itself, if that is a pooler's address in transaction mode; or empty. */
  directUrl?: string
  /** The folder of the SQLite file. */
  folder: string
  queryTimeoutMs: number
  /** The most connections to PostgreSQL. */
  maxConnections?: number
  /** Refuses if there is no record yet, instead of creating one. */
  mustExist?: boolean
  /** Also opens an incomplete copy, so that it can be resumed. */
  mayBePart?: boolean
  /** Called when a connection to the database server ends while it is idle. */
  report?: (error: Error) => void
  /** Called once when the files of the record were removed or replaced. */
  onLost?: (text: string) => void
  /** Where the texts of old calls are. */
  cold?: ColdSettings | undefined
  /** Called when that cannot be asked now. */
  onColdFailure?: (error: Error) => void
  /** The same, opened. */
  coldStore?: ColdStore | undefined
}

export function sqliteFile(folder: string): string {
  return join(folder, 'heddle.db')
}

/** Opens the record that the settings name and brings it to the schema of this version. */
export async function openRecord({
  mayBePart = false,
  cold,
  coldStore,
  onColdFailure,
  ...settings
}: RecordPlace): Promise<Database> {
  const store = coldStore ?? (cold && (await openStore(cold)))
  const db = redactingRecord(coldRecord(await openEngine(settings), store))
  if (mayBePart) return db
  async function closed(error: unknown): Promise<never> {
    await db.close()
    throw error
  }
  const from = await unfinishedCopy(db).catch(closed)
  // Whatever else is wrong with the store: newer calls are served without it.
  await db.cold?.store
    ?.check()
    .catch((error) => (error instanceof StorageRefusal ? closed(error) : onColdFailure?.(error)))
  if (from === undefined) return db
  await db.close()
  throw new StorageRefusal(
    'foreign',
    `The record is only a part of a copy of ${from}. Run the same \`heddle db copy\` again: it continues where it stopped.`,
  )
}

/** Undefined if there is none. Most servers have no bucket. */
async function openStore(settings: ColdSettings): Promise<ColdStore | undefined> {
  const { cold_store } = settings
  if (cold_store.startsWith('s3://')) return (await import('./cold/s3.ts')).s3Store(settings)
  return cold_store === '' ? undefined : folderStore(cold_store)
}

async function openEngine({
  databaseUrl,
  directUrl = '',
  folder,
  queryTimeoutMs,
  maxConnections,
  mustExist = false,
  report,
  onLost,
}: Omit<RecordPlace, 'mayBePart' | 'cold' | 'coldStore' | 'onColdFailure'>): Promise<Database> {
  if (databaseUrl === '') {
    return openSqlite({ file: sqliteFile(folder), queryTimeoutMs, mustExist, ...(onLost && { onLost }) })
  }
  const { openPostgres } = await import('./engines/postgres/database.ts')
  return openPostgres(databaseUrl, {
    queryTimeoutMs,
    mustExist,
    // A client may read its rows as slowly here as on SQLite.
    idleTimeoutMs: queryTimeoutMs,
    ...(directUrl !== '' && { directUrl }),
    ...(maxConnections !== undefined && { maxConnections }),
    ...(report && { report }),
  })
}
