import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { packageRoot } from '../../domain/package-root.ts'
import { StorageRefusal } from '../failures.ts'
import type { Engine } from '../sql/dialect.ts'

/** A migration as the store has recorded it. */
export interface AppliedMigration {
  version: number
  name: string
  checksum: string
}

export interface Migration extends AppliedMigration {
  text: string
}

/** The table of applied migrations, in SQL that both engines accept. */
export const migrationTable = `CREATE TABLE IF NOT EXISTS heddle_migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at BIGINT NOT NULL
)`

const folder = new URL('migrations/', packageRoot)

/** The numbered files of an engine, in order: `0001_name.sql`, `0002_…`. */
export function loadMigrations(engine: Engine): Migration[] {
  const directory = new URL(`${engine}/`, folder)
  return readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file, index) => {
      const text = readFileSync(new URL(file, directory), 'utf8')
      const version = Number.parseInt(file, 10)
      if (version !== index + 1)
        throw new Error(`migrations/${engine}/${file} should have number ${index + 1}`)
      return { version, name: file, checksum: createHash('sha256').update(text).digest('hex'), text }
    })
}

/**
 * The migrations left to apply. A store that is newer than this program, or whose history differs from ours, is refused
 * before anything is changed: opening it could only lose data.
 */
export function pendingMigrations(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): Migration[] {
  for (const have of applied) {
    const ours = known[have.version - 1]
    if (ours === undefined) {
      throw new StorageRefusal(
        'newer',
        `The record was written by a newer Heddle: it has schema ${applied.length}, this version knows ${known.length}. Start the newer version, or restore a backup from before the upgrade.`,
      )
    }
    if (ours.checksum !== have.checksum) {
      throw new StorageRefusal(
        'foreign',
        `The record has a different history: its migration ${have.name} is not the one of this version. Start the version that wrote it.`,
      )
    }
  }
  return known.slice(applied.length)
}
