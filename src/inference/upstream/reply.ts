import { refuse } from '../../domain/refusals.ts'

/** What a server has sent is never trusted: these read it, or say what is wrong with it. */

export function garbage(what: string) {
  return refuse('upstream_failed', { why: `it sent ${what}` })
}

export function parsedReply(data: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    throw garbage('something that is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw garbage('JSON that is not an object')
  return value as Record<string, unknown>
}

/** The members of what should be an object; empty if it is something else. */
export const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** No answer has more tokens, and sums of larger numbers are no longer exact. */
const maxCount = 1e12

export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxCount ? value : undefined

/** The usage of an answer whose server has not reported it yet: a token for four characters of the prompt. */
export const estimatedTokens = (characters: number) => Math.ceil(characters / charactersOfToken)

const charactersOfToken = 4
