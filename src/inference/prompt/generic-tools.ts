import { JsonNumber } from '../../domain/json/lossless.ts'
import { type CallFormat, hermes, type Literal } from '../tools/call-format.ts'
import type { Message } from './conversation.ts'

/**
 * Rewrites a conversation for a template without calls: calls become text in the format of Hermes, and results become
 * user messages.
 */
export function messagesWithoutCalls(given: readonly Message[]): Message[] {
  const messages: Message[] = []
  for (const message of given) {
    const last = messages.at(-1)
    if (message.role !== 'tool') messages.push(withCallsAsText(message))
    // Many templates require alternating turns.
    else if (last?.role === 'user' && isResult(last)) last.content = `${last.content}\n${resultText(message)}`
    else messages.push({ role: 'user', content: resultText(message) })
  }
  return messages
}

/**
 * Adds a description of the tools and of how to call them to the system message, or to the first user message if the
 * template has none.
 */
export function withInstructions(
  messages: Message[],
  tools: readonly string[],
  format: CallFormat,
  takesSystem: boolean,
): Message[] {
  return tools.length === 0 ? messages : beginningWith(messages, instructions(tools, format), takesSystem)
}

function instructions(tools: readonly string[], format: CallFormat): string {
  return [
    'You can call tools. They are listed between <tools> and </tools>, one JSON text a line:',
    '<tools>',
    ...tools,
    '</tools>',
    '',
    'To call one, write its name and its arguments like this:',
    exampleOf(format),
    'The result is in the next message.',
  ].join('\n')
}

/** An example of a call. */
function exampleOf({ open, mid, close, arguments: given, counter }: CallFormat): string {
  const text = (literal: Literal) =>
    literal
      .map((part) => {
        if (typeof part === 'string') return part
        return part.hole === 'counter' ? String(counter?.from ?? 0) : 'abcdefghi'
      })
      .join('')
  return `${text(open)}NAME${text(mid)}${exampleArguments(given)}${text(close)}`
}

function exampleArguments(given: CallFormat['arguments']): string {
  if (given.kind === 'python') return 'KEY="VALUE"'
  if (given.kind === 'elements') return `${given.prefix}<KEY>VALUE${given.prefix}</KEY>`
  if (given.kind === 'tagged') {
    const { before, mid, after } = given.values.string
    return `${given.head}${before}KEY${mid}VALUE${after}${given.tail}`
  }
  const json = '{"KEY": "VALUE"}'
  return given.isQuoted ? JSON.stringify(json) : json
}

function beginningWith(messages: Message[], text: string, takesSystem: boolean): Message[] {
  const [first] = messages
  const isSystem = first !== undefined && (first.role === 'system' || first.role === 'developer')
  if (isSystem && takesSystem) return [behind(first, text), ...messages.slice(1)]
  if (takesSystem) return [{ role: 'system', content: text }, ...messages]
  const rest = isSystem ? messages.slice(1) : messages
  const before = isSystem ? `${textOf(first)}\n\n${text}` : text
  const at = rest.findIndex(({ role }) => role === 'user')
  if (at === -1) return [{ role: 'user', content: before }, ...rest]
  const user = rest[at] as Message
  return rest.with(at, { ...user, content: `${before}\n\n${textOf(user)}` })
}

const textOf = ({ content }: Message) => (typeof content === 'string' ? content : content.join('\n'))

function behind(message: Message, text: string): Message {
  const before = textOf(message)
  return { ...message, content: before === '' ? text : `${before}\n\n${text}` }
}

/** Calls are JSON, or Python keyword arguments. */
export function withCallsAsText(
  message: Message,
  { open, mid, gap = [], close, arguments: form } = hermes,
): Message {
  const { tool_calls: calls, ...rest } = message
  if (calls === undefined) return rest
  const literal = (parts: Literal) => parts.filter((part) => typeof part === 'string').join('')
  const texts = calls.map(({ function: { name, arguments: given } }) => {
    const written =
      form.kind === 'python' ? keywordsOf(given) : typeof given === 'string' ? given : JSON.stringify(given)
    return `${JSON.stringify(name).slice(1, -1)}${literal(mid)}${written}`
  })
  const said = textOf(message)
  const all = `${literal(open)}${texts.join(literal(gap))}${literal(close)}`
  return { ...rest, content: said === '' ? all : `${said}\n${all}` }
}

function keywordsOf(given: object | string): string {
  if (typeof given === 'string') return given
  return Object.entries(given)
    .map(([key, value]) => `${key}=${pythonOf(value)}`)
    .join(', ')
}

function pythonOf(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(', ')}]`
  if (typeof value !== 'object' || value instanceof JsonNumber) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, one]) => `${JSON.stringify(key)}: ${pythonOf(one)}`)
    .join(', ')}}`
}

const opening = '<tool_response>\n'

const resultText = (message: Message) => `${opening}${textOf(message)}\n</tool_response>`
const isResult = ({ content }: Message) => typeof content === 'string' && content.startsWith(opening)
