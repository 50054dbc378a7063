import type { GivenMessage } from '../../../packages/chat-format/index.ts'
import { withOneSystemMessage } from '../../../packages/chat-format/index.ts'
import type { UpstreamKind } from './kinds.ts'

/**
 * The messages as the templates of such a server accept them: most know no `developer`, and many raise an error for a
 * system message that is not the first. Only OpenAI's own servers are known to take both.
 */
export function messagesFor(kind: UpstreamKind, messages: readonly GivenMessage[]): readonly GivenMessage[] {
  if (kind === 'openai') return messages
  const known = messages.map((message) =>
    message.role === 'developer' ? { ...message, role: 'system' } : message,
  )
  return withOneSystemMessage(known, joinedContent)
}

type Content = GivenMessage['content']

/** One text, unless a part is something else. */
function joinedContent(contents: readonly Content[]): Content {
  const lists = contents.map((content) => (typeof content === 'string' ? [content] : (content ?? [])))
  const texts = lists.map((list) => list.map(textOf))
  const isText = texts.every((list): list is string[] => !list.includes(undefined))
  if (isText) return texts.map((list) => list.join('\n')).join('\n\n')
  return lists.flat().map((entry) => (typeof entry === 'string' ? { type: 'text', text: entry } : entry))
}

function textOf(entry: string | Record<string, unknown>): string | undefined {
  if (typeof entry === 'string') return entry
  const isText = entry.type === 'text' || entry.type === 'input_text'
  return isText && typeof entry.text === 'string' ? entry.text : undefined
}
