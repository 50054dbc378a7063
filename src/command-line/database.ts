import { accessSync, constants, existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Config } from '../config.ts'
import { formatTime, now } from '../domain/time.ts'
import { sumAll } from '../operations/calls/sums.ts'
import { findWrongBatches, findWrongCalls } from '../storage/calls/check.ts'
import { missingFiles } from '../storage/cold/cleaning.ts'
import type { BoundDatabase } from '../storage/database.ts'
import { loadMigrations } from '../storage/engines/migrations.ts'
import { backupSqlite, checkSqlite } from '../storage/engines/sqlite/maintenance.ts'
import { isOlder } from '../storage/engines/sqlite/migrate.ts'
import { checkEvaluation, findEvaluations, maxProblems } from '../storage/evaluations/check.ts'
import { openRecord, sqliteFile } from '../storage/open.ts'
import { findWrongSums } from '../storage/sums/check.ts'
import { findWrongTraceSums } from '../storage/trace-sums/check.ts'
import { boundTo } from '../storage/transaction.ts'
import { type Command, CommandError, onlyArgument, type Print, usageError, withRecord } from './command.ts'
import { untilTheEnd } from './operator.ts'

export const databaseCommands: Record<string, Command> = {
  'db migrate': {
    usage: '',
    summary: 'Migrate the record to the schema of this version',
    more: 'The server does this too when it starts. A file that already contains a record is copied before it is changed.',
    async run(_args, config, print) {
      await withRecord(config, (db) => db.probe(), { mayMake: true })
      print('The record has the schema of this version.')
    },
  },
  'db backup': {
    usage: 'FILE',
    summary: 'Write a copy of the record as it is now, even while a server runs',
    more: 'The copy is an SQLite file, even of a record in PostgreSQL. To serve it, put it into a folder as heddle.db and set HEDDLE_DATA to that folder; `heddle db copy postgres://…` then puts it into an empty database.',
    async run(args, config, print) {
      const copy = onlyArgument(args, 'the file to write')
      if (existsSync(copy)) throw new CommandError(`${copy} exists already; a backup never replaces a file.`)
      refuseNowhere(copy)
      if (config.database_url === '') backupSqlite(sqliteFile(config.data), copy)
      else await backupPostgres(config, copy)
      print(copy)
    },
  },
  'db copy': {
    usage: 'TO',
    summary: 'Copy the whole record into an empty one: between SQLite and PostgreSQL, either way',
    more: 'TO is a folder or postgres://…. Stop the servers of both first. If the copy is interrupted, the same command continues where it stopped. Counts and hashes of every table are compared.',
    run: copyTo,
  },
  'db check': {
    usage: '[--rebuild]',
    summary:
      'Look for damage, and for anything derived from calls that does not match them; exits with 1 if it finds any',
    more: 'Derived are the columns of lists and charts, the words of the search, and the results of evaluations. --rebuild derives again what does not match, and the results of every evaluation. Best run while no server writes: each evaluation is one transaction.',
    async run(args, config, print) {
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
      await withRecord(config, (db) =>
        values.rebuild
          ? rebuildDerived(boundTo(db, untilTheEnd), print)
          : checkDerived(boundTo(db, untilTheEnd)),
      )
      print(
        config.database_url === ''
          ? 'The record is sound.'
          : 'The derived results match the calls. To look for damage, use the tool of PostgreSQL: pg_amcheck.',
      )
    },
  },
}

function refuseNowhere(copy: string): void {
  const folder = dirname(resolve(copy))
  try {
    if (!statSync(folder).isDirectory()) throw new Error('it is a file')
    accessSync(folder, constants.W_OK)
  } catch (error) {
    const why =
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : (error as Error).message
    throw usageError(
      `FILE: ${copy} cannot be written, because of its folder ${folder}: ${why}. Create the folder first, or name another file.`,
    )
  }
}

/** Copies every row as of one moment; the file appears once all of them are in it. */
async function backupPostgres(config: Config, copy: string): Promise<void> {
  const { openSnapshot } = await import('../storage/engines/postgres/snapshot.ts')
  const { copyRecord } = await import('../storage/copying/copy.ts')
  await withRecord(config, async () => {
    const folder = mkdtempSync(`${copy}.part-`)
    try {
      const source = await openSnapshot(config.database_direct_url || config.database_url)
      try {
        const target = await openRecord({
          databaseUrl: '',
          folder,
          queryTimeoutMs: config.query_timeout,
          mayBePart: true,
        })
        try {
          const from = placeInWords(config.database_url, config.data)
          await copyRecord(source, target, { from, signal: untilTheEnd, report: () => {} })
        } finally {
          await target.close()
        }
      } finally {
        await source.close()
      }
      renameSync(sqliteFile(folder), copy)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

async function copyTo(args: readonly string[], config: Config, print: Print): Promise<void> {
  const to = onlyArgument(args, 'the folder or the postgres:// address to copy to')
  const isUrl = /^postgres(ql)?:\/\//.test(to)
  const location = { databaseUrl: isUrl ? to : '', folder: isUrl ? config.data : resolve(to) }
  const here = placeInWords(config.database_url, config.data)
  const there = placeInWords(location.databaseUrl, location.folder)
  if (here === there) throw usageError(`The record is in ${here} already.`)
  const { copyRecord } = await import('../storage/copying/copy.ts')
  await withRecord(config, async (source) => {
    const target = await openRecord({ ...location, queryTimeoutMs: config.query_timeout, mayBePart: true })
    try {
      const rows = await copyRecord(source, target, {
        from: here,
        signal: untilTheEnd,
        report: (table, count) => print(`${table}: ${count} rows`),
      })
      print(`${there} now contains everything from ${here}: ${rows} rows.`)
    } finally {
      await target.close()
    }
  })
}

/** Without its password. */
function placeInWords(databaseUrl: string, folder: string): string {
  if (databaseUrl === '') return resolve(folder)
  const { hostname, port, pathname } = new URL(databaseUrl)
  return `PostgreSQL at ${hostname}:${port || '5432'}${pathname}`
}

async function checkDerived(db: BoundDatabase): Promise<void> {
  const problems = await missingFiles(db, maxProblems)
  if (problems.length > 0) throw new CommandError(problems.join('\n'))
  for await (const { project_id, id, derived } of findWrongCalls(db)) {
    problems.push(`${derived.join(', ')} of call ${id} in ${project_id} does not match the call`)
    if (problems.length >= maxProblems) break
  }
  for await (const { project_id, day } of findWrongSums(db)) {
    if (problems.length >= maxProblems) break
    problems.push(`sums of ${formatTime(day).slice(0, 10)} in ${project_id} do not match the calls`)
  }
  for await (const { project_id, hours, threads } of findWrongTraceSums(db)) {
    if (problems.length >= maxProblems) break
    const about =
      threads.length > 0
        ? `conversation ${threads[0]}`
        : `agents of ${formatTime(hours[0] ?? 0).slice(0, 10)}`
    problems.push(`sums of ${about} in ${project_id} do not match the calls`)
  }
  for (const evaluation of await findEvaluations(db)) {
    if (problems.length >= maxProblems) break
    problems.push(...(await checkEvaluation(db, evaluation, now())))
  }
  if (problems.length === 0) return
  const advice = '`heddle db check --rebuild` derives them again.'
  throw new CommandError([...problems.slice(0, maxProblems), advice].join('\n'))
}

/** Derived in one transaction. */
const atOnce = { limit: 64, characters: 512 * 1024 }

async function rebuildDerived(db: BoundDatabase, print: Print): Promise<void> {
  let derived = 0
  for await (const batch of findWrongBatches(db, atOnce)) {
    const calls = batch.map(({ id }) => id)
    await db.write('deriveAgain', { project_id: batch[0]?.project_id ?? '', calls, now: now() })
    derived += batch.length
  }
  print(`Derived ${derived} calls again.`)
  let days = 0
  for await (const wrong of findWrongSums(db)) {
    await db.write('markWrongSums', wrong)
    days++
  }
  for await (const wrong of findWrongTraceSums(db)) await db.write('markWrongTraces', wrong)
  await sumAll(db)
  print(`Added up ${days} days again.`)
  let evaluations = 0
  let trials = 0
  for (const evaluation of await findEvaluations(db)) {
    evaluations++
    trials += await db.write('rebuildEvaluation', { ...evaluation, now: now() })
  }
  print(`Derived ${trials} trials of ${evaluations} evaluations again.`)
}
