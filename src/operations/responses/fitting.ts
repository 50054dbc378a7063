import type { GivenMessage } from '../../../packages/chat-format/index.ts'
import { Refusal } from '../../domain/refusals.ts'

/** Each try renders and tokenizes the conversation again; the first succeeds most of the time. */
const maxTries = 8

/**
 * Tries with fewer and fewer of the oldest turns until the conversation fits, as `truncation: auto` asks for. The
 * system messages at its beginning and its last turn stay.
 */
export async function askWithTruncation<T>(
  messages: readonly GivenMessage[],
  ask: (messages: readonly GivenMessage[]) => Promise<T>,
): Promise<T> {
  let left = messages
  for (let tries = 1; ; tries++) {
    try {
      return await ask(left)
    } catch (error) {
      const excess = excessOf(error)
      if (excess === undefined || tries === maxTries) throw error
      const fewer = withoutOldest(left, excess)
      if (fewer.length === left.length) throw error
      left = fewer
    }
  }
}

/** The part of the prompt that exceeds the context. */
function excessOf(error: unknown): number | undefined {
  if (!(error instanceof Refusal) || error.code !== 'context_length_exceeded') return undefined
  const { limit, prompt, answer } = error.values
  const excess = countOf(prompt) + countOf(answer) - Number(limit)
  return excess > 0 && countOf(prompt) > 0 ? excess / countOf(prompt) : undefined
}

/** Of `at least 1`, too, which is what an answer without a limit needs. */
const countOf = (value: unknown) => Number(/\d+$/.exec(String(value)))

/** Cuts before a message of the user: an answer without its question, or an output without its call, means nothing. */
function withoutOldest(messages: readonly GivenMessage[], excess: number): readonly GivenMessage[] {
  const isOpening = ({ role }: GivenMessage) => role === 'system' || role === 'developer'
  const first = messages.findIndex((message) => !isOpening(message))
  const starts = [...messages.keys()].filter((index) => index > first && messages[index]?.role === 'user')
  const last = starts.at(-1)
  if (first === -1 || last === undefined) return messages
  const sizes = messages.map((message) => JSON.stringify(message).length)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let dropped = 0
  for (let index = first; index < last; index++) {
    dropped += sizes[index] as number
    if (dropped >= excess * total && starts.includes(index + 1)) {
      return [...messages.slice(0, first), ...messages.slice(index + 1)]
    }
  }
  return [...messages.slice(0, first), ...messages.slice(last)]
}
