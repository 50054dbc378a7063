import { ModelError } from '../../packages/engine/index.ts'
import { ConfigError, readConfig } from '../config.ts'
import { nearestName } from '../domain/nearest.ts'
import { Refusal } from '../domain/refusals.ts'
import { StorageRefusal } from '../storage/failures.ts'
import { version } from '../version.ts'
import { type Command, CommandError, exitCodes, type Surroundings, usageError } from './command.ts'
import { unknownOption } from './options.ts'
import { serveCommand } from './serve.ts'

type Commands = Readonly<Record<string, Command>>

/** Runs one command and returns its exit code. Without a command it starts the server. */
export async function run(args: readonly string[], around: Surroundings = process): Promise<number> {
  const print = (text: string) => {
    around.stdout.write(`${text}\n`)
    return exitCodes.done
  }
  try {
    const wantsHelp = args.includes('--help') || args.includes('-h')
    const words = args.filter((word) => word !== '--help' && word !== '-h')
    if (words[0] === '--version') return print(version)
    // A server keeps no commands in memory that it does not run.
    const serves = !wantsHelp && isServing(words)
    const commands = serves ? { serve: serveCommand } : (await import('./commands.ts')).commands
    if (wantsHelp && words.length === 0) return print(helpOfAll(commands))
    const found = find(commands, words)
    if (found === undefined) {
      const group = helpOfAll(commands, words[0])
      if (wantsHelp && group !== '') return print(group)
      throw unknownCommand(commands, words.slice(0, 2).join(' '))
    }
    if (wantsHelp) return print(helpOf(found.name, found.command))
    await found.command.run(found.rest, readConfig(around.env), print, around)
    return exitCodes.done
  } catch (error) {
    const { text, exitCode } = explained(error)
    around.stderr.write(`${text}\n`)
    return exitCode
  }
}

const isServing = ([word]: readonly string[]) =>
  word === undefined || word === 'serve' || word.startsWith('-')

function find(commands: Commands, words: readonly string[]) {
  if (words[0] !== 'serve' && isServing(words)) return { name: 'serve', command: serveCommand, rest: words }
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ')
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (command) return { name, command, rest: words.slice(length) }
  }
  return undefined
}

function unknownCommand(commands: Commands, name: string): CommandError {
  const meant =
    nearestName(name, Object.keys(commands)) ?? nearestName(name.split(' ', 1)[0] ?? '', ['serve'])
  const advice = meant === undefined ? '' : ` Did you mean ${meant}?`
  return usageError(`There is no command ${name}.${advice} \`heddle --help\` lists them.`)
}

function helpOf(name: string, { usage, summary, more }: Command): string {
  return [`heddle ${name} ${usage}`.trimEnd(), '', summary, ...(more ? ['', more] : [])].join('\n')
}

/** Every command with a line of help, or those of one group. */
function helpOfAll(commands: Commands, group?: string): string {
  const lines = Object.entries(commands)
    .filter(([name]) => group === undefined || name.split(' ')[0] === group)
    .map(([name, { usage, summary }]) => `  ${`${name} ${usage}`.trimEnd().padEnd(44)} ${summary}`)
  if (lines.length === 0) return ''
  return [
    'heddle [command]',
    '',
    ...lines,
    '',
    'Settings are environment variables: docs/configuration.md. Exit codes: 0 done, 1 failed,',
    '2 the command or a setting is wrong, 3 the record cannot be opened.',
  ].join('\n')
}

const complaint = (text: string, exitCode: number) => ({ text, exitCode })

function explained(error: unknown): ReturnType<typeof complaint> {
  if (error instanceof CommandError) return complaint(error.message, error.exitCode)
  if (error instanceof ConfigError) return complaint(error.message, exitCodes.usage)
  if (error instanceof Error && error.name === 'SettingsFileError')
    return complaint(error.message, exitCodes.usage)
  if (error instanceof ModelError) return complaint(error.message, exitCodes.failed)
  if (error instanceof StorageRefusal) return complaint(error.message, exitCodes.record)
  if (error instanceof Refusal && error.code.startsWith('storage_')) {
    return complaint(`${error.message} (${String(error.cause)})`, exitCodes.record)
  }
  if (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')) {
    const option = /^Unknown option '(-[^']*)'/.exec(error.message)?.[1]
    return complaint(option === undefined ? error.message : unknownOption(option).message, exitCodes.usage)
  }
  return complaint(error instanceof Error ? (error.stack ?? error.message) : String(error), exitCodes.failed)
}
