import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { intendedVariable, settings, variableOf } from '../config.ts'
import { type CommandError, usageError } from './command.ts'

/** The options of a command and its other words. */
export const parseWords = <const T extends ParseArgsOptionsConfig>(args: readonly string[], options: T) =>
  parseArgs({ args: [...args], allowPositionals: true, options })

export function noWords(args: readonly string[], command: string): void {
  if (args.length > 0) throw usageError(`${command} takes no arguments, given ${args.join(' ')}.`)
}

/** Options of other servers are settings here: the message names the variable. */
export function unknownOption(option: string): CommandError {
  const name = option.replace(/^-+/, '').replace(/=.*$/s, '').replaceAll('-', '_').toLowerCase()
  const shown = option.replace(/=.*$/s, '')
  if (Object.hasOwn(settings, name)) {
    const variable = variableOf(name)
    return usageError(
      `${shown} is not an option: settings are environment variables, and this one is ${variable}.`,
    )
  }
  const meant = intendedVariable(name)
  return usageError(
    meant === undefined
      ? `There is no option ${shown}. \`--help\` after a command explains it; settings are environment variables: docs/configuration.md.`
      : `There is no option ${shown}. Settings are environment variables; did you mean ${meant}?`,
  )
}
