import { existsSync } from 'node:fs'
import type { Config } from '../config.ts'
import { sqliteFile } from '../storage/open.ts'
import { backupSqlite, checkSqlite } from '../storage/sqlite/maintenance.ts'
import { CommandFailure, exitCodes } from './exit-codes.ts'
import type { Command } from './help.ts'
import { withRecord } from './record.ts'

export const databaseCommands: Record<string, Command> = {
  'db migrate': {
    usage: '',
    summary: 'Bring the record to the schema of this version',
    more: 'Serving does this too. A file that already holds a record is copied aside before it is changed.',
    async run(_args, config) {
      await withRecord(config, (db) => db.probe())
      process.stdout.write('The record has the schema of this version.\n')
    },
  },
  'db backup': {
    usage: 'FILE',
    summary: 'Write a copy of the record as of this moment, also while a server runs',
    async run(args, config) {
      const [copy, ...rest] = args
      if (copy === undefined || rest.length > 0)
        throw new CommandFailure('Give the file to write.', exitCodes.usage)
      const file = ownFile(config, 'pg_dump')
      if (existsSync(copy))
        throw new CommandFailure(`${copy} exists already; a backup never replaces a file.`)
      backupSqlite(file, copy)
      process.stdout.write(`${copy}\n`)
    },
  },
  'db check': {
    usage: '',
    summary: 'Look for damage; ends with 1 when there is any',
    async run(_args, config) {
      const problems = checkSqlite(ownFile(config, 'pg_amcheck'))
      if (problems.length > 0) throw new CommandFailure(problems.join('\n'))
      process.stdout.write('The record is sound.\n')
    },
  },
}

function ownFile(config: Config, tool: string): string {
  if (config.database_url !== '') {
    throw new CommandFailure(
      `The record is in PostgreSQL, which has its own tools for this: ${tool}.`,
      exitCodes.usage,
    )
  }
  return sqliteFile(config.data)
}
