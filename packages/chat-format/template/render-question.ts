import { parseLossless } from '../../json/index.ts'
import type { Message } from '../conversation.ts'
import type { Hiding } from './hidden-names.ts'

export interface RenderQuestion {
  template: string
  messages: Message[]
  /** The calls of each message as JSON, if any has calls: between processes numbers would lose their digits. */
  calls?: string
  /** All other variables of the template, as JSON. */
  variables: string
  /** Leaves the last message open, so that the model continues it. */
  open: boolean
  hiding?: Hiding
}

/** Takes the calls out of the messages, as JSON with the digits of their numbers. */
export function withoutCalls(messages: readonly Message[]): Pick<RenderQuestion, 'messages' | 'calls'> {
  if (!messages.some(({ tool_calls }) => tool_calls)) return { messages: [...messages] }
  const calls = JSON.stringify(messages.map(({ tool_calls }) => tool_calls ?? null))
  return { messages: messages.map(({ tool_calls: _, ...rest }) => rest), calls }
}

export function withCalls(messages: readonly Message[], calls: string): Message[] {
  const all = parseLossless(calls) as (NonNullable<Message['tool_calls']> | null)[]
  return messages.map((message, at) => {
    const own = all[at]
    return own == null ? message : { ...message, tool_calls: own }
  })
}
