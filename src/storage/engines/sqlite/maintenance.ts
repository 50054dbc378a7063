import { existsSync, rmSync } from 'node:fs'
import { SqliteError } from 'better-sqlite3'
import type { SqliteHandle } from './connection.ts'
import { openFailure } from './failures.ts'
import { readingFile, refuseMissing } from './migrate.ts'

/** Writes a copy that is whole and as of one moment, also while a server writes. */
export function backupSqlite(file: string, copy: string): void {
  const fresh = !existsSync(copy)
  onFile(file, (handle) => {
    // The copy is written too, and for that the connection has to be one that may write.
    handle.pragma('query_only = OFF')
    try {
      handle.prepare('VACUUM INTO ?').run(copy)
    } catch (error) {
      if (fresh) rmSync(copy, { force: true })
      throw aboutCopy(error) ? openFailure(copy, error, 'Name a file in a folder that takes one.') : error
    }
  })
}

/** What is damaged or locked is the record; what cannot be opened or written is the copy. */
function aboutCopy(error: unknown): boolean {
  return error instanceof SqliteError && !/^SQLITE_(CORRUPT|NOTADB|BUSY|LOCKED)/.test(error.code)
}

/** Everything that is wrong with the file, in words; empty when it is sound. */
export function checkSqlite(file: string): string[] {
  return onFile(file, (handle) => {
    const problems = damagedPages(handle)
    // What stands in damaged pages cannot be looked at.
    if (problems.length > 0) return problems
    const orphans = handle.pragma('foreign_key_check') as { table: string }[]
    for (const { table } of orphans) problems.push(`a row of ${table} points to nothing`)
    const unreadable = handle
      .prepare(
        `SELECT project_id || ' ' || id FROM calls
         WHERE NOT (json_valid(coalesce(inputs, '{}')) AND json_valid(coalesce(output, 'null'))
           AND json_valid(coalesce(attributes, '{}')) AND json_valid(coalesce(summary, '{}'))) LIMIT 100`,
      )
      .pluck()
      .all() as string[]
    for (const call of unreadable) problems.push(`call ${call} holds text that is not JSON`)
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
