import { createWriteStream, existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { newId } from '../domain/ids.ts'
import { Refusal } from '../domain/refusals.ts'
import { now } from '../domain/time.ts'
import type { ExportKind } from '../operations/exporting/contract.ts'
import type { Exported } from '../operations/exporting/export.ts'
import type { Database } from '../storage/database.ts'
import { hasProject } from '../storage/projects/deletion.ts'
import { boundTo } from '../storage/transaction.ts'
import { type Command, CommandError, onlyArgument, usageError, withRecord } from './command.ts'
import { projectArgument } from './name-arguments.ts'
import { operator, untilTheEnd } from './operator.ts'
import { parseWords } from './options.ts'

/** Exports and imports the contents of a project as lines. */
export const exportCommands: Record<string, Command> = {
  export: {
    usage: 'PROJECT [--to FILE] [--kinds LIST] [--format parquet]',
    summary: 'Write a project as JSON Lines or Parquet: files, tables, objects, calls, feedback',
    more: 'Writes to the standard output, or to a new FILE. With --format parquet, --to is a new folder, which gets a file of each kind; a single kind can also go to the standard output. --kinds is a comma-separated list of files, tables, objects, calls, feedback; all of them by default. A server may run meanwhile: what is written during the export may be in it or not. The last line has the counts. `heddle import` reads the export.',
    run: exportProject,
  },
  import: {
    usage: 'FILE [--project PROJECT]',
    summary: 'Write the contents of an export into the record, and print the result',
    more: 'FILE is JSON Lines (- is the standard input), Parquet, or a folder of Parquet with one file per kind. It goes to the project that was exported, or to --project. What already exists under the same id stays as it is, so after an interruption the same command continues where it stopped; what was deleted here stays deleted. Users and times stay as they were. References in calls and objects are not changed.',
    run: importFile,
  },
}

async function exportProject(...[args, config, print, { stdout }]: Parameters<Command['run']>) {
  const { values, positionals } = parseWords(args, {
    to: { type: 'string' },
    kinds: { type: 'string' },
    format: { type: 'string' },
  })
  const project = projectArgument('PROJECT', onlyArgument(positionals, 'one project, such as acme/qa'))
  const { exportKinds, exportFormats } = await import('../operations/exporting/contract.ts')
  const kinds = exportKinds.filter((kind) => values.kinds?.split(',').includes(kind) ?? true)
  if (values.kinds !== undefined && kinds.length !== new Set(values.kinds.split(',')).size) {
    throw wrongOption('kinds', values.kinds, `a list of ${exportKinds.join(', ')}`)
  }
  const { to, format = exportFormats[0] } = values
  if (!exportFormats.some((known) => known === format)) {
    throw wrongOption('format', format, exportFormats.join(' or '))
  }
  const isParquet = format === 'parquet'
  if (isParquet && to === undefined && kinds.length > 1) {
    throw wrongOption('kinds', values.kinds ?? 'everything', 'one kind, or a folder for them in --to')
  }
  if (to !== undefined && existsSync(to))
    throw new CommandError(`${to} exists already; an export never replaces a file.`)
  await withRecord(config, async (db) => {
    if (!(await hasProject(db, project))) throw new CommandError(`There is nothing in project ${project}.`)
    const asked = { project, kinds, view: undefined, after: undefined }
    if (to === undefined) {
      const [kind] = kinds
      const pieces = isParquet && kind ? await parquet(db, asked, kind) : await lines(db, asked)
      return pipeline(pieces, stdout, { end: false })
    }
    const partial = `${to}.part`
    try {
      if (isParquet) {
        const { nameOf } = await import('../operations/exporting/sources.ts')
        // Left behind by an export that was killed.
        await rm(partial, { force: true, recursive: true })
        await mkdir(partial)
        for (const kind of kinds) {
          await writeTo(join(partial, nameOf(kind)), await parquet(db, asked, kind))
        }
      } else {
        await writeTo(partial, await lines(db, asked))
      }
      await rename(partial, to)
    } catch (error) {
      await rm(partial, { force: true, recursive: true })
      throw error
    }
    print(to)
  })
}

function wrongOption(name: string, text: string, accepted: string): CommandError {
  return usageError(`--${name}: given ${JSON.stringify(text)}; accepted: ${accepted}.`)
}

async function lines(db: Database, asked: Exported): Promise<AsyncIterable<string>> {
  const { exportLines } = await import('../operations/exporting/export.ts')
  const texts = exportLines(boundTo(db, untilTheEnd), asked)
  return (async function* () {
    for await (const text of texts) yield `${text}\n`
  })()
}

async function parquet(db: Database, asked: Exported, kind: ExportKind): Promise<AsyncIterable<Uint8Array>> {
  const { parquetPieces } = await import('../operations/exporting/parquet/write.ts')
  return parquetPieces(boundTo(db, untilTheEnd), { ...asked, kind })
}

const writeTo = (path: string, pieces: AsyncIterable<string | Uint8Array>): Promise<void> =>
  pipeline(pieces, createWriteStream(path, { flush: true }))

async function importFile(...[args, config, print, around]: Parameters<Command['run']>) {
  const { values, positionals } = parseWords(args, { project: { type: 'string' } })
  const file = onlyArgument(positionals, 'the file of an export, or - for the standard input')
  const project = values.project === undefined ? undefined : projectArgument('--project', values.project)
  if (file !== '-' && !existsSync(file)) throw usageError(`There is no file ${file}.`)
  const { createImport } = await import('../operations/exporting/import.ts')
  const { LineTooLong } = await import('../operations/exporting/lines.ts')
  const { ParquetError } = await import('../operations/exporting/parquet/head.ts')
  const { openSource } = await import('../operations/exporting/sources.ts')
  await withRecord(config, async (db) => {
    const by = operator()
    const importing = createImport(db, { project, user: by.name })
    const source = await openSource(file === '-' ? around.stdin : file)
    let number = 0
    try {
      for await (const line of source.lines) {
        number++
        await importing.take(line)
      }
      await importing.end()
    } catch (error) {
      const isOurs = error instanceof Refusal || error instanceof LineTooLong || error instanceof ParquetError
      if (!isOurs || (error instanceof Refusal && error.status >= 500)) throw error
      await importing.end()
      print(JSON.stringify(importing.outcomes))
      throw new CommandError(
        `${source.at()}: ${error.message.replace(/\.?$/, '.')} Everything before that was imported; correct it and run the same command again.`,
      )
    } finally {
      const details = { ...importing.outcomes, lines: number }
      const deed = { action: 'project.import', ...(project && { project_id: project }), details, by }
      if (number > 0) await db.write('noteDeed', deed).catch(() => undefined)
    }
    print(JSON.stringify(importing.outcomes))
    if (importing.isWhole && importing.project !== undefined) {
      const note = { project_id: importing.project, outcomes: importing.outcomes }
      await db.write('noteImport', { ...note, id: newId(), now: now() })
    }
    if (!importing.isWhole) {
      throw new CommandError(
        `${file} has no ${source.missing()}: the export was cut off and is only a part. What it contains was imported.`,
      )
    }
  })
}
