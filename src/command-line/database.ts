import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { now } from '../domain/time.ts'
import type { Database } from '../storage/database.ts'
import { loadMigrations } from '../storage/engines/migrations.ts'
import { backupSqlite, checkSqlite } from '../storage/engines/sqlite/maintenance.ts'
import { isOlder } from '../storage/engines/sqlite/migrate.ts'
import { checkEvaluation, findEvaluations, mostProblems } from '../storage/evaluations/check.ts'
import { sqliteFile } from '../storage/open.ts'
import { type Command, CommandError, exitCodes, onlyArgument, print, withRecord } from './command.ts'

export const databaseCommands: Record<string, Command> = {
  'db migrate': {
    usage: '',
    summary: 'Bring the record to the schema of this version',
    more: 'Serving does this too. A file that already holds a record is copied aside before it is changed.',
    async run(_args, config) {
      await withRecord(config, (db) => db.probe(), { mayMake: true })
      print('The record has the schema of this version.')
    },
  },
  'db backup': {
    usage: 'FILE',
    summary: 'Write a copy of the record as of this moment, also while a server runs',
    async run(args, config) {
      const copy = onlyArgument(args, 'the file to write')
      if (config.database_url !== '') {
        throw new CommandError(
          'The record is in PostgreSQL, which has its own tools for this: pg_dump.',
          exitCodes.usage,
        )
      }
      if (existsSync(copy)) throw new CommandError(`${copy} exists already; a backup never replaces a file.`)
      backupSqlite(sqliteFile(config.data), copy)
      print(copy)
    },
  },
  'db check': {
    usage: '[--rebuild]',
    summary:
      'Look for damage, and for evaluation results that are not what the calls say; ends with 1 when there is any',
    more: '--rebuild derives the results of every evaluation again from its calls. Best while no server writes: an evaluation is one transaction.',
    async run(args, config) {
      const { values } = parseArgs({ args: [...args], options: { rebuild: { type: 'boolean' } } })
      if (config.database_url === '') {
        const file = sqliteFile(config.data)
        const problems = checkSqlite(file)
        if (problems.length > 0) throw new CommandError(problems.join('\n'))
        if (isOlder(file, loadMigrations('sqlite'))) {
          print('The record is sound. Its schema is older than this version: `heddle db migrate`.')
          return
        }
      }
      await withRecord(config, values.rebuild ? rebuildResults : checkResults)
      print(
        config.database_url === ''
          ? 'The record is sound.'
          : 'What is derived is what the calls say. For damage PostgreSQL has a tool of its own: pg_amcheck.',
      )
    },
  },
}

async function checkResults(db: Database): Promise<void> {
  const problems: string[] = []
  for (const evaluation of await findEvaluations(db, untilTheEnd)) {
    problems.push(...(await checkEvaluation(db, evaluation, now(), untilTheEnd)))
    if (problems.length >= mostProblems) break
  }
  if (problems.length === 0) return
  const advice = '`heddle db check --rebuild` derives the results again.'
  throw new CommandError([...problems.slice(0, mostProblems), advice].join('\n'))
}

async function rebuildResults(db: Database): Promise<void> {
  let evaluations = 0
  let trials = 0
  for (const evaluation of await findEvaluations(db, untilTheEnd)) {
    evaluations++
    trials += await db.write('rebuildEvaluation', { ...evaluation, now: now() })
  }
  print(`Derived ${trials} trials of ${evaluations} evaluations again.`)
}

/** A command on the terminal is ended by ending its process. */
const untilTheEnd = new AbortController().signal
