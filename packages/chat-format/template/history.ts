import { createHash } from 'node:crypto'
import type { AnswerFormat } from '../answer-format.ts'
import type { Message } from '../conversation.ts'
import { messagesWithoutCalls, withCallsAsText, withInstructions } from './generic-tools.ts'

interface AdaptedConversation {
  messages: Message[]
  /** Whether the template gets the tools and renders them itself. */
  takesTools: boolean
}

/**
 * A conversation in a form that its template can render. One without tools, calls and results is left unchanged, except
 * that several system messages are joined if the template would raise an error. `tools` are texts with one JSON object
 * each. If none of them may be called, the template shows them as it likes: the format of calls need not be explained.
 */
export function adaptConversation(
  { calls, proof, history }: AnswerFormat,
  original: Message[],
  tools: readonly string[],
  mayCall = true,
): AdaptedConversation {
  const joined = history?.systemMessages === 'one' ? withOneSystemMessage(original, joinedTexts) : original
  const isPlain = tools.length === 0 && !joined.some(({ role, tool_calls }) => role === 'tool' || tool_calls)
  if (isPlain) return { messages: joined, takesTools: true }
  const ordered = withResultsInOrder(joined)
  const isNine = 'ids' in calls && calls.ids === 'nine'
  const isText = history?.arguments === 'text'
  const messages =
    proof === 'generic'
      ? messagesWithoutCalls(ordered)
      : history?.showsCalls === false && 'open' in calls
        ? ordered.map((message) => withCallsAsText(message, calls))
        : ordered.map((message) => fitted(message, isNine, isText))
  const takesTools = !mayCall || 'own' in calls || (proof !== 'generic' && history?.showsTools !== false)
  if (takesTools) return { messages, takesTools }
  const takesSystem = history?.systemMessages !== 'none'
  return { messages: withInstructions(messages, tools, calls, takesSystem), takesTools }
}

const systemRoles = new Set(['system', 'developer'])

/** All system messages in one at the beginning, as many templates require. */
export function withOneSystemMessage<One extends { role: string; content?: unknown }>(
  messages: One[],
  joined: (contents: One['content'][]) => One['content'],
): One[] {
  const found = messages.filter(({ role }) => systemRoles.has(role))
  const [first] = found
  if (first === undefined || (found.length === 1 && messages[0] === first)) return messages
  const content = joined(found.map((message) => message.content))
  return [{ ...first, content }, ...messages.filter(({ role }) => !systemRoles.has(role))]
}

const joinedTexts = (contents: Message['content'][]) =>
  contents.map((content) => (typeof content === 'string' ? content : content.join('\n'))).join('\n\n')

/** Puts the results of a turn's calls in the order of the calls, each with the name of its tool, which few clients send. */
function withResultsInOrder(messages: Message[]): Message[] {
  const ordered: Message[] = []
  for (let at = 0; at < messages.length; ) {
    const message = messages[at] as Message
    ordered.push(message)
    at++
    const calls = message.tool_calls
    if (calls === undefined) continue
    const results: Message[] = []
    while (messages[at]?.role === 'tool') results.push(messages[at++] as Message)
    const callIndex = (result: Message) => {
      const found = calls.findIndex(({ id }) => id !== undefined && id === result.tool_call_id)
      return found === -1 ? calls.length : found
    }
    const sorted = results.every((result) => callIndex(result) < calls.length)
      ? results.toSorted((a, b) => callIndex(a) - callIndex(b))
      : results
    for (const [index, result] of sorted.entries()) {
      const name = result.name ?? (calls[callIndex(result)] ?? calls[index])?.function.name
      ordered.push(name === undefined ? result : { ...result, name })
    }
  }
  return ordered
}

function fitted(message: Message, isNine: boolean, isText: boolean): Message {
  const { tool_calls: calls, tool_call_id: id } = message
  return {
    ...message,
    ...(calls && {
      tool_calls: calls.map((call) => ({
        ...call,
        ...(isNine && { id: ofNine(call.id ?? '') }),
        ...(isText && { function: { ...call.function, arguments: JSON.stringify(call.function.arguments) } }),
      })),
    }),
    ...(isNine && id !== undefined && { tool_call_id: ofNine(id) }),
  }
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * Templates of Mistral raise an error for any other id. The same id always becomes the same one, in the call and in its
 * result.
 */
function ofNine(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id
  const bytes = createHash('sha256').update(id).digest().subarray(0, 9)
  return Array.from(bytes, (byte) => letters[byte % letters.length]).join('')
}
