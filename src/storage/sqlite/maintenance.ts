import { existsSync } from 'node:fs'
import { StorageRefusal } from '../failures.ts'
import { connect } from './connection.ts'
import { openFailure } from './failures.ts'

/** Writes a copy that is whole and as of one moment, also while a server writes. */
export function backupSqlite(file: string, copy: string): void {
  if (existsSync(copy))
    throw new StorageRefusal('read-only', `${copy} exists already; a backup never replaces a file.`)
  onFile(file, (handle) => handle.prepare('VACUUM INTO ?').run(copy))
}

/** Everything that is wrong with the file, in words; empty when it is sound. */
export function checkSqlite(file: string): string[] {
  return onFile(file, (handle) => {
    const pages = handle.pragma('integrity_check(100)') as { integrity_check: string }[]
    const problems = pages.map((row) => row.integrity_check).filter((text) => text !== 'ok')
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

function onFile<T>(file: string, work: (handle: ReturnType<typeof connect>['handle']) => T): T {
  if (!existsSync(file)) throw new StorageRefusal('unreachable', `There is no record at ${file}.`)
  const connection = connect(file, 'read')
  try {
    return work(connection.handle)
  } catch (error) {
    throw openFailure(file, error)
  } finally {
    connection.close()
  }
}
