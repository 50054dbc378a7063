import { createInterface } from 'node:readline/promises'
import { maxRetentionDays } from '../domain/project-settings.ts'
import { deleteProject } from '../operations/projects/delete.ts'
import type { Database } from '../storage/database.ts'
import { type Counts, hasProject } from '../storage/projects/deletion.ts'
import { countProject, listProjects } from '../storage/projects/list.ts'
import { readProjectSettings } from '../storage/projects/projects.ts'
import { boundTo } from '../storage/transaction.ts'
import {
  type Command,
  CommandError,
  onlyArgument,
  type Surroundings,
  usageError,
  withRecord,
} from './command.ts'
import { projectArgument } from './name-arguments.ts'
import { operator, untilTheEnd } from './operator.ts'
import { noWords, parseWords } from './options.ts'

const listedAtOnce = 1_000

/** What is stored for whom, and for how long. A project needs no registration: the first write creates it. */
export const projectCommands: Record<string, Command> = {
  'project set': {
    usage: 'PROJECT --retention-days N',
    summary:
      'Set how many days calls of a project are kept, and print its settings; none removes the setting',
    more: 'PROJECT is <entity>/<project>, such as acme/qa. It takes effect within a second on a running server, for calls that are written from then on without an expire_at. 0 keeps them for ever; without a setting HEDDLE_RETENTION_DAYS applies.',
    async run(args, config, print) {
      const { values, positionals } = parseWords(args, { 'retention-days': { type: 'string' } })
      const project = onlyProject(positionals)
      const days = values['retention-days']
      if (days === undefined) throw usageError('Give what to set: --retention-days.')
      const change = { retention_days: daysGiven(days) }
      const settings = await withRecord(config, (db) =>
        db.write('changeProjectSettings', { project_id: project, change, by: operator() }),
      )
      print(JSON.stringify({ project, ...settings }))
    },
  },
  'project list': {
    usage: '',
    summary: 'List the projects, one JSON object per line',
    async run(args, config, print) {
      noWords(args, 'project list')
      await withRecord(config, async (db) => {
        for (let after = ''; ; ) {
          const page = await listProjects(boundTo(db, untilTheEnd), {
            scopes: ['*'],
            after,
            limit: listedAtOnce,
          })
          for (const { project, settings, isBeingDeleted } of page) {
            print(JSON.stringify({ project, ...settings, ...(isBeingDeleted && { is_being_deleted: true }) }))
          }
          if (page.length < listedAtOnce) return
          after = page.at(-1)?.project ?? ''
        }
      })
    },
  },
  'project show': {
    usage: 'PROJECT',
    summary: 'Print the settings of a project and how much it contains, as one JSON object',
    async run(args, config, print) {
      const project = onlyProject(args)
      await withRecord(config, async (db) => {
        await requireProject(db, project)
        const settings = await readProjectSettings(db, project)
        print(
          JSON.stringify({
            project,
            ...settings,
            ...(await countProject(boundTo(db, untilTheEnd), project)),
          }),
        )
      })
    },
  },
  'project delete': {
    usage: 'PROJECT [--yes]',
    summary: 'Delete everything of a project, and print how much was deleted',
    more: 'Calls, feedback, queues, objects, tables, files, evaluation results, prices, monitors and settings: this cannot be undone. It asks for the name of the project unless --yes is given. A server may run meanwhile; what clients write to the project during the deletion may be deleted too. If the command is interrupted, a running server, the next one that starts, or the same command finishes the deletion. The audit log has an entry of it.',
    async run(args, config, print, around) {
      const { values, positionals } = parseWords(args, { yes: { type: 'boolean', default: false } })
      const project = onlyProject(positionals)
      await withRecord(config, async (db) => {
        await requireProject(db, project)
        if (!values.yes) await confirm(around, project, await countProject(boundTo(db, untilTheEnd), project))
        const deleted = await deleteProject(db, project, operator())
        print(JSON.stringify({ project, deleted }))
      })
    },
  },
}

async function requireProject(db: Database, project: string): Promise<void> {
  if (!(await hasProject(db, project))) throw new CommandError(`There is nothing in project ${project}.`)
}

async function confirm({ stdin, stderr }: Surroundings, project: string, counts: Counts): Promise<void> {
  if (!stdin.isTTY) {
    throw usageError('There is no terminal to ask on: give --yes to delete it.')
  }
  const all = Object.entries(counts).map(([name, count]) => `${count} ${name.replace('_', ' ')}`)
  const asking = createInterface({ input: stdin, output: stderr })
  try {
    const typed = await asking.question(
      `This deletes ${project} for ever: ${all.join(', ')}.\nType its name to continue: `,
    )
    if (typed.trim() !== project) throw new CommandError('Nothing was deleted.')
  } finally {
    asking.close()
  }
}

function onlyProject(words: readonly string[]): string {
  return projectArgument('PROJECT', onlyArgument(words, 'one project, such as acme/qa'))
}

function daysGiven(text: string): number | null {
  if (text === 'none') return null
  if (/^\d{1,5}$/.test(text) && Number(text) <= maxRetentionDays) return Number(text)
  throw usageError(`--retention-days: given ${text}; accepted: 0 to ${maxRetentionDays}, or none.`)
}
