import { JsonNumber } from '../../json/index.ts'
import { type CallFormat, hermes, type Literal } from '../call-format.ts'
import type { Message } from '../conversation.ts'

/**
 * Rewrites a conversation for a template without calls: calls become text in the format of Hermes, and results become
 * user messages.
 */
export function messagesWithoutCalls(conversation: readonly Message[]): Message[] {
  const messages: Message[] = []
  for (const message of conversation) {
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
function exampleOf({ open, mid, close, arguments: form, counter }: CallFormat): string {
  const text = (literal: Literal) =>
    literal
      .map((piece) => {
        if (typeof piece === 'string') return piece
        return piece.hole === 'counter' ? String(counter?.from ?? 0) : 'abcdefghi'
      })
      .join('')
  return `${text(open)}NAME${text(mid)}${exampleArguments(form)}${text(close)}`
}

function exampleArguments(form: CallFormat['arguments']): string {
  if (form.kind === 'python') return 'KEY="VALUE"'
  if (form.kind === 'elements') return `${form.prefix}<KEY>VALUE${form.prefix}</KEY>`
  if (form.kind === 'tagged') {
    const { before, mid, after } = form.values.string
    return `${form.head}${before}KEY${mid}VALUE${after}${form.tail}`
  }
  const json = '{"KEY": "VALUE"}'
  return form.isQuoted ? JSON.stringify(json) : json
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
  const literal = (pieces: Literal) => pieces.filter((piece) => typeof piece === 'string').join('')
  const texts = calls.map(({ function: { name, arguments: args } }) => {
    const written =
      form.kind === 'python' ? keywordsOf(args) : typeof args === 'string' ? args : JSON.stringify(args)
    return `${JSON.stringify(name).slice(1, -1)}${literal(mid)}${written}`
  })
  const content = textOf(message)
  const all = `${literal(open)}${texts.join(literal(gap))}${literal(close)}`
  return { ...rest, content: content === '' ? all : `${content}\n${all}` }
}

function keywordsOf(args: object | string): string {
  if (typeof args === 'string') return args
  return Object.entries(args)
    .map(([key, value]) => `${key}=${pythonOf(value)}`)
    .join(', ')
}

function pythonOf(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(', ')}]`
  if (typeof value !== 'object' || value instanceof JsonNumber) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, member]) => `${JSON.stringify(key)}: ${pythonOf(member)}`)
    .join(', ')}}`
}

const opening = '<tool_response>\n'

const resultText = (message: Message) => `${opening}${textOf(message)}\n</tool_response>`
const isResult = ({ content }: Message) => typeof content === 'string' && content.startsWith(opening)
