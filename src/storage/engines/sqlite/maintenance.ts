import { existsSync, rmSync } from 'node:fs'
import { SqliteError } from 'better-sqlite3'
import type { SqliteHandle } from './connection.ts'
import { openFailure } from './failures.ts'
import { readingFile, refuseMissing } from './migrate.ts'

/** Writes a complete copy as of one moment, even while a server is writing. */
export function backupSqlite(file: string, copy: string): void {
  const fresh = !existsSync(copy)
  onFile(file, (handle) => {
    // The copy is written through this connection, so the connection must be allowed to write.
    handle.pragma('query_only = OFF')
    try {
      handle.prepare('VACUUM INTO ?').run(copy)
      forgetStore(handle, copy)
    } catch (error) {
      if (fresh) rmSync(copy, { force: true })
      throw isErrorOfCopy(error)
        ? openFailure(copy, error, 'Name a file in a folder that can be written.')
        : error
    }
  })
}

/** The store of cold calls is that of the record: the copy must not remove files there. */
function forgetStore(handle: SqliteHandle, copy: string): void {
  handle.prepare('ATTACH ? AS copy').run(copy)
  // An older record has no such table.
  const has = handle.prepare(`SELECT 1 FROM copy.sqlite_master WHERE name = 'cold_owner'`).get()
  if (has !== undefined) handle.exec('DELETE FROM copy.cold_owner')
  handle.exec('DETACH copy')
}

/** If something is damaged or locked, it is the record; if it cannot be opened or written, it is the copy. */
function isErrorOfCopy(error: unknown): boolean {
  return error instanceof SqliteError && !/^SQLITE_(CORRUPT|NOTADB|BUSY|LOCKED)/.test(error.code)
}

/** Describes everything that is wrong with the file; empty if it is sound. */
export function checkSqlite(file: string): string[] {
  return onFile(file, (handle) => {
    const problems = damagedPages(handle)
    // The contents of damaged pages cannot be checked further.
    if (problems.length > 0) return problems
    const orphans = handle.pragma('foreign_key_check') as { table: string }[]
    for (const { table } of orphans) problems.push(`a row of ${table} refers to a row that does not exist`)
    const unreadable = handle
      .prepare(
        `SELECT project_id || ' ' || id FROM calls
         WHERE NOT (json_valid(coalesce(inputs, '{}')) AND json_valid(coalesce(output, 'null'))
           AND json_valid(coalesce(attributes, '{}')) AND json_valid(coalesce(summary, '{}'))) LIMIT 100`,
      )
      .pluck()
      .all() as string[]
    for (const call of unreadable) problems.push(`call ${call} contains text that is not JSON`)
    return problems
  })
}

function damagedPages(handle: SqliteHandle): string[] {
  const problems: string[] = []
  const check = handle.prepare<[], string>('PRAGMA integrity_check(100)').pluck()
  try {
    for (const text of check.iterate()) if (text !== 'ok') problems.push(text)
  } catch (error) {
    // A page may be so damaged that the check itself cannot continue.
    if (!(error instanceof SqliteError && error.code.startsWith('SQLITE_CORRUPT'))) throw error
    problems.push(`a page cannot be read: ${error.message}`)
  }
  return problems
}

function onFile<T>(file: string, work: (handle: SqliteHandle) => T): T {
  refuseMissing(file)
  return readingFile(file, ({ handle }) => work(handle))
}
