import { intendedVariable, settings, variableOf } from '../config.ts'
import { CommandError, exitCodes } from './command.ts'

/** Options of other servers are settings here: the message names the variable. */
export function unknownOption(option: string): CommandError {
  const name = option.replace(/^-+/, '').replace(/=.*$/s, '').replaceAll('-', '_').toLowerCase()
  const shown = option.replace(/=.*$/s, '')
  if (Object.hasOwn(settings, name)) {
    const variable = variableOf(name)
    return wrong(
      `${shown} is not an option: settings are environment variables, and this one is ${variable}.`,
    )
  }
  const meant = intendedVariable(name)
  return wrong(
    meant === undefined
      ? `There is no option ${shown}. \`--help\` after a command explains it; settings are environment variables: docs/configuration.md.`
      : `There is no option ${shown}. Settings are environment variables; did you mean ${meant}?`,
  )
}

function wrong(message: string): CommandError {
  return new CommandError(message, exitCodes.usage)
}
