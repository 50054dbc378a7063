import { commands } from '../../commands.ts'
import type { Database } from '../../database.ts'
import { loadMigrations, type Migration } from '../migrations.ts'
import { createPostgresDatabase, type PostgresOptions, postgresDefaults } from './database.ts'
import { postgresDialect } from './dialect.ts'
import { migratePostgres } from './migrate.ts'

export interface OpenPostgresOptions extends Partial<PostgresOptions> {
  migrations?: readonly Migration[]
  /** For another process that migrates at the same time. */
  migrationLockTimeoutMs?: number
}

/** Migrates, then serves the record. */
export async function openPostgres(url: string, options: OpenPostgresOptions = {}): Promise<Database> {
  const { migrations = loadMigrations('postgres'), migrationLockTimeoutMs = 300_000, ...given } = options
  const settings: PostgresOptions = { ...postgresDefaults, ...given }
  await migratePostgres(url, migrations, {
    connectTimeoutMs: settings.connectTimeoutMs,
    lockTimeoutMs: migrationLockTimeoutMs,
  })
  return createPostgresDatabase(url, postgresDialect, commands, settings)
}
