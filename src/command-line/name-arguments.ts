import { isStep, projectId } from '../domain/fields.ts'
import { onlyArgument, usageError } from './command.ts'

export function userNameArgument(words: readonly string[]): string {
  const name = onlyArgument(words, 'one user name')
  if (!/^[\w.@-]{1,64}$/.test(name) || isStep(name) || name === 'api') {
    throw usageError(
      `NAME: given ${JSON.stringify(name)}; accepted: 1 to 64 letters, digits and _ . @ -, but not . and .., and not "api", which stands for any user.`,
    )
  }
  return name
}

export function projectArgument(what: string, text: string): string {
  if (projectId.safeParse(text).success) return text
  throw usageError(
    `${what}: given ${JSON.stringify(text)}; accepted: <entity>/<project>, with spaces only within the name of the project.`,
  )
}
