import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { Config } from '../config.ts'
import { Refusal } from '../domain/refusals.ts'
import { hasProject } from '../storage/tables/project-deletion.ts'
import { type Command, CommandError, exitCodes, onlyArgument, print, withRecord } from './command.ts'
import { projectGiven } from './given-names.ts'
import { operator } from './operator.ts'

/** A command on the terminal is ended by ending its process. */
const untilTheEnd = new AbortController().signal

/** Larger than what a body, and so a call, may have. */
const longestLine = 256 << 20

/** The things of a project as lines, out and in. */
export const exportCommands: Record<string, Command> = {
  export: {
    usage: 'PROJECT [--to FILE] [--kinds LIST]',
    summary: 'Write a project as JSON Lines: files, tables, objects, calls, feedback',
    more: 'To the standard output, or to a FILE that is not there yet. --kinds is a comma-separated list of files, tables, objects, calls, feedback; all of them when it is absent. A server may run meanwhile: what is written during the export may be in it or not. The last line counts what there was. `heddle import` reads it.',
    run: exportProject,
  },
  import: {
    usage: 'FILE [--project PROJECT]',
    summary: 'Write what an export holds into the record, and print what became of it',
    more: 'FILE is - for the standard input. It goes to the project that was exported, or to --project. What is there under the same id stays as it is, so the same command goes on where it was cut off; what was deleted here stays deleted. Users and times stay as they were. References in calls and objects are left as they are.',
    run: importFile,
  },
}

async function exportProject(args: readonly string[], config: Config): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { to: { type: 'string' }, kinds: { type: 'string' } },
  })
  const project = projectGiven('PROJECT', onlyArgument(positionals, 'one project, such as acme/qa'))
  const { exportKinds } = await import('../operations/exporting/contract.ts')
  const kinds = exportKinds.filter((kind) => values.kinds?.split(',').includes(kind) ?? true)
  if (values.kinds !== undefined && kinds.length !== new Set(values.kinds.split(',')).size) {
    throw new CommandError(
      `--kinds: given ${JSON.stringify(values.kinds)}; accepted: a list of ${exportKinds.join(', ')}.`,
      exitCodes.usage,
    )
  }
  const { to } = values
  if (to !== undefined && existsSync(to))
    throw new CommandError(`${to} exists already; an export never replaces a file.`)
  const { exportLines } = await import('../operations/exporting/export.ts')
  await withRecord(config, async (db) => {
    if (!(await hasProject(db, project))) throw new CommandError(`There is nothing in project ${project}.`)
    const lines = exportLines(db, { project, kinds, view: undefined, after: undefined }, untilTheEnd)
    if (to === undefined) return writeLines(process.stdout, lines)
    const part = `${to}.part`
    const file = createWriteStream(part)
    try {
      await writeLines(file, lines)
      file.end()
      await once(file, 'finish')
      await rename(part, to)
    } catch (error) {
      file.destroy()
      await rm(part, { force: true })
      throw error
    }
    print(to)
  })
}

/** At the pace of whoever takes them. */
async function writeLines(out: NodeJS.WritableStream, lines: AsyncIterable<string>): Promise<void> {
  const failed = new Promise<never>((_, reject) => out.on('error', reject))
  failed.catch(() => undefined)
  for await (const line of lines) {
    if (!out.write(`${line}\n`)) await Promise.race([once(out, 'drain'), failed])
  }
}

async function importFile(args: readonly string[], config: Config): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { project: { type: 'string' } },
  })
  const file = onlyArgument(positionals, 'the file of an export, or - for the standard input')
  const project = values.project === undefined ? undefined : projectGiven('--project', values.project)
  if (file !== '-' && !existsSync(file)) throw new CommandError(`There is no file ${file}.`, exitCodes.usage)
  const { createImport } = await import('../operations/exporting/import.ts')
  const { LineTooLong, linesIn } = await import('../operations/exporting/lines.ts')
  await withRecord(config, async (db) => {
    const by = operator()
    const importing = createImport(db, { project, user: by.name })
    let number = 0
    try {
      for await (const line of linesIn(file === '-' ? process.stdin : createReadStream(file), longestLine)) {
        number++
        await importing.take(line)
      }
      await importing.end()
    } catch (error) {
      const isOurs = error instanceof Refusal || error instanceof LineTooLong
      if (!isOurs || (error instanceof Refusal && error.status >= 500)) throw error
      await importing.end()
      print(JSON.stringify(importing.outcomes))
      throw new CommandError(
        `Line ${number}: ${error.message} What stands before it was taken; mend the line and give the same command again.`,
      )
    } finally {
      const details = { ...importing.outcomes, lines: number }
      const deed = { action: 'project.import', ...(project && { project_id: project }), details, by }
      if (number > 0) await db.write('noteDeed', deed).catch(() => undefined)
    }
    print(JSON.stringify(importing.outcomes))
    if (!importing.isWhole) {
      throw new CommandError(
        `${file} has no last line: the export was cut off, and holds only a part. What it holds was taken.`,
      )
    }
  })
}
