import { parseArgs } from 'node:util'
import { mostRetentionDays } from '../domain/project-settings.ts'
import { type Command, CommandError, exitCodes, onlyArgument, print, withRecord } from './command.ts'
import { projectGiven } from './given-names.ts'
import { operator } from './operator.ts'

/** What is kept for whom, and for how long. A project needs no registration: the first write makes it. */
export const projectCommands: Record<string, Command> = {
  'project set': {
    usage: 'PROJECT --retention-days N',
    summary:
      'Say how many days calls of a project are kept, and print what is set; none takes the setting away',
    more: 'PROJECT is <entity>/<project>, such as acme/qa. It holds within a second on a running server, for calls that are written from then on and that have no expire_at of their own. 0 keeps them for ever; without a setting HEDDLE_RETENTION_DAYS holds.',
    async run(args, config) {
      const { values, positionals } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: { 'retention-days': { type: 'string' } },
      })
      const project = onlyProject(positionals)
      const days = values['retention-days']
      if (days === undefined) throw new CommandError('Give what to set: --retention-days.', exitCodes.usage)
      const change = { retention_days: daysGiven(days) }
      const settings = await withRecord(config, (db) =>
        db.write('changeProjectSettings', { project_id: project, change, by: operator() }),
      )
      print(JSON.stringify({ project, ...settings }))
    },
  },
}

function onlyProject(words: readonly string[]): string {
  return projectGiven('PROJECT', onlyArgument(words, 'one project, such as acme/qa'))
}

function daysGiven(given: string): number | null {
  if (given === 'none') return null
  if (/^\d{1,5}$/.test(given) && Number(given) <= mostRetentionDays) return Number(given)
  throw new CommandError(
    `--retention-days: given ${given}; accepted: 0 to ${mostRetentionDays}, or none.`,
    exitCodes.usage,
  )
}
