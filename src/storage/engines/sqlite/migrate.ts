import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { StorageRefusal } from '../../failures.ts'
import { sql } from '../../sql/sql.ts'
import { type AppliedMigration, type Migration, migrationTable, pendingMigrations } from '../migrations.ts'
import { type Connection, connect } from './connection.ts'
import { openFailure } from './failures.ts'

/**
 * "hedl", so that `file` and Heddle can recognise these files, https://www.sqlite.org/pragma.html#pragma_application_id
 */
const applicationId = 0x6865646c

/**
 * Brings the file to the schema of this version. Each migration is one transaction under the write lock, so that two
 * processes that start together apply it once. Before it changes a file that already contains a record, it saves a
 * copy.
 */
export function migrateSqlite(
  connection: Connection,
  file: string,
  known: readonly Migration[],
  now: number,
): Migration[] {
  const { handle } = connection
  const done: Migration[] = []
  try {
    refuseForeign(connection, file)
    handle.exec('BEGIN IMMEDIATE')
    const pending = pendingMigrations(known, applied(connection))
    handle.exec('ROLLBACK')
    if (pending.length === 0) return done
    setAside(connection, file, pending)
    for (const migration of pending) {
      handle.exec('BEGIN IMMEDIATE')
      // Another process may have applied it already.
      if (pendingMigrations(known, applied(connection)).some((left) => left.version === migration.version)) {
        handle.exec(migration.text)
        connection.run(
          sql`INSERT INTO heddle_migrations (version, name, checksum, applied_at)
              VALUES (${migration.version}, ${migration.name}, ${migration.checksum}, ${now})`,
        )
        handle.pragma(`application_id = ${applicationId}`)
        handle.pragma(`user_version = ${migration.version}`)
        done.push(migration)
      }
      handle.exec('COMMIT')
    }
    return done
  } catch (error) {
    if (handle.inTransaction) handle.exec('ROLLBACK')
    throw openFailure(file, error)
  }
}

/** Checks the file before a connection with write access could change even its header. */
export function refuseUnsuitable(file: string, known: readonly Migration[]): void {
  if (existsSync(file)) isOlder(file, known)
}

export function refuseMissing(file: string): void {
  if (!existsSync(file)) throw new StorageRefusal('missing', `There is no record at ${file}.`)
}

/** Whether an existing file has a schema from before this version. Refuses a file that cannot be used. */
export function isOlder(file: string, known: readonly Migration[]): boolean {
  return readingFile(
    file,
    (connection) => !hasMigrations(connection) || pendingMigrations(known, history(connection)).length > 0,
  )
}

/** Reads one of our files without changing it. */
export function readingFile<T>(file: string, look: (connection: Connection) => T): T {
  const connection = connect(file, 'read')
  try {
    refuseForeign(connection, file)
    return look(connection)
  } catch (error) {
    throw openFailure(file, error)
  } finally {
    connection.close()
  }
}

function applied(connection: Connection): AppliedMigration[] {
  connection.handle.exec(migrationTable)
  return history(connection)
}

function hasMigrations(connection: Connection): boolean {
  return connection.get(sql`SELECT name FROM sqlite_schema WHERE name = 'heddle_migrations'`) !== undefined
}

function history(connection: Connection): AppliedMigration[] {
  return connection.all<AppliedMigration>(
    sql`SELECT version, name, checksum FROM heddle_migrations ORDER BY version`,
  )
}

function refuseForeign({ handle }: Connection, file: string): void {
  const isOurs = () => handle.pragma('application_id', { simple: true }) === applicationId
  if (isOurs()) return
  const tables = handle
    .prepare("SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
    .pluck()
    .get()
  // Another server on the same empty folder may have created the tables meanwhile.
  if (tables !== 0 && !isOurs()) {
    throw new StorageRefusal(
      'foreign',
      `${file} is the database of another program. Set HEDDLE_DATA to a folder of its own.`,
    )
  }
}

function setAside({ handle }: Connection, file: string, pending: readonly Migration[]): void {
  const first = pending[0] as Migration
  if (first.version === 1) return
  const copy = `${file}.before-${first.name.replace(/\.sql$/, '')}`
  if (existsSync(copy)) return
  // Only a complete copy gets the final name: one that was cut short must not be mistaken for it at the next start.
  const unfinished = `${copy}.${process.pid}.unfinished`
  rmSync(unfinished, { force: true })
  try {
    handle.prepare('VACUUM INTO ?').run(unfinished)
    flush(unfinished, 'r+')
    renameSync(unfinished, copy)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
  // Makes the new name durable. Windows cannot open folders, and does not need this.
  if (process.platform !== 'win32') flush(dirname(copy), 'r')
}

function flush(path: string, flags: string): void {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
