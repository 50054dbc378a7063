import { refuse } from '../../domain/refusals.ts'

/** What a client said, as far as the shape of it has been checked. */
export interface GivenMessage {
  role: string
  content?: string | (string | GivenPart)[] | null | undefined
  name?: string | null | undefined
  tool_calls?: GivenToolCall[] | null | undefined
  tool_call_id?: string | null | undefined
  reasoning?: string | null | undefined
  reasoning_content?: string | null | undefined
}

export interface GivenPart {
  type?: string | null | undefined
  [name: string]: unknown
}

export interface GivenToolCall {
  id?: string | null | undefined
  type?: string | null | undefined
  function: { name: string; arguments?: string | null | undefined }
}

/** A message as templates want it. Its content is the texts of its parts; one text when it came as one. */
export interface Message {
  role: string
  content: string | string[]
  name?: string
  tool_call_id?: string
  tool_calls?: { id?: string; type: 'function'; function: { name: string; arguments: object } }[]
  reasoning?: string
  reasoning_content?: string
}

/** Throws a refusal that names the place when a message holds what no template can be given. */
export function conversationOf(given: readonly GivenMessage[]): Message[] {
  return given.map((message, index) => messageOf(message, `messages.${index}`))
}

function messageOf(given: GivenMessage, place: string): Message {
  const { role, name, tool_calls, tool_call_id } = given
  const reasoning = given.reasoning ?? given.reasoning_content
  return {
    role,
    content: contentOf(given.content, `${place}.content`),
    ...(name != null && { name }),
    ...(tool_call_id != null && { tool_call_id }),
    ...(tool_calls?.length && {
      tool_calls: tool_calls.map((call, index) => toolCallOf(call, `${place}.tool_calls.${index}`)),
    }),
    // Templates know it by the one name or the other.
    ...(reasoning != null && { reasoning, reasoning_content: reasoning }),
  }
}

function contentOf(content: GivenMessage['content'], place: string): Message['content'] {
  if (content == null) return ''
  if (typeof content === 'string') return content
  return content.map((part, index) => textOf(part, `${place}.${index}`))
}

/** The member that holds the text of a part, by the part's type. */
const textMembers: Record<string, string> = {
  text: 'text',
  input_text: 'text',
  output_text: 'text',
  refusal: 'refusal',
  thinking: 'thinking',
}
const accepted = Object.keys(textMembers).join(', ')

function textOf(part: string | GivenPart, place: string): string {
  if (typeof part === 'string') return part
  const type = part.type ?? typeByMember(part)
  const member = Object.hasOwn(textMembers, type) ? textMembers[type] : undefined
  if (member === undefined) {
    throw refuse('invalid_value', {
      field: `${place}.type`,
      given: `a part of type ${JSON.stringify(type)}, which the model cannot take`,
      accepted,
    })
  }
  const text = part[member]
  if (typeof text === 'string') return text
  throw refuse('invalid_value', { field: `${place}.${member}`, given: 'nothing', accepted: 'a text' })
}

/** A part may come without its type: {"image_url": "…"}. */
function typeByMember(part: GivenPart): string {
  return Object.keys(part).find((name) => name !== 'type' && part[name] != null) ?? 'none'
}

function toolCallOf({ id, type, function: { name, arguments: text } }: GivenToolCall, place: string) {
  if (type != null && type !== 'function') {
    throw refuse('invalid_value', {
      field: `${place}.type`,
      given: JSON.stringify(type),
      accepted: '"function"',
    })
  }
  return {
    ...(id != null && { id }),
    type: 'function' as const,
    function: { name, arguments: argumentsOf(text, `${place}.function.arguments`) },
  }
}

/** Templates go through the arguments by name. */
function argumentsOf(text: string | null | undefined, place: string): object {
  if (text == null || text.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw refuse('invalid_value', {
    field: place,
    given: 'not an object',
    accepted: 'the text of a JSON object',
  })
}

/** The text of a message as one. `index` is its position in the conversation. */
export function wholeText({ content }: GivenMessage, index: number): string {
  const text = contentOf(content, `messages.${index}.content`)
  return typeof text === 'string' ? text : text.join('\n')
}
