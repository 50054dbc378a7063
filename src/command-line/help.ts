import type { Config } from '../config.ts'

export interface Command {
  /** What follows the name. */
  usage: string
  summary: string
  more?: string
  run(args: readonly string[], config: Config): Promise<void>
}

export function helpOf(name: string, { usage, summary, more }: Command): string {
  return [`heddle ${name} ${usage}`.trimEnd(), '', summary, ...(more ? ['', more] : [])].join('\n')
}

/** Every command in a line, or those of one group. */
export function helpOfAll(commands: Record<string, Command>, group?: string): string {
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
