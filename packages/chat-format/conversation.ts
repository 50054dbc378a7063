import { JsonNumber, parseLossless } from '../json/index.ts'

/** A message has something that templates cannot take: where, what, and what they could. */
export class MessageError extends Error {
  override readonly name = 'MessageError'
  readonly field: string
  readonly received: string
  readonly accepted: string

  constructor(field: string, received: string, accepted: string) {
    super(`${field}: ${received}; accepted: ${accepted}`)
    this.field = field
    this.received = received
    this.accepted = accepted
  }
}

/** A message of a request, as validated by the contract. */
export interface GivenMessage {
  role: string
  content?: string | (string | GivenPart)[] | null | undefined
  name?: string | null | undefined
  tool_calls?: GivenToolCall[] | null | undefined
  tool_call_id?: string | null | undefined
  reasoning?: string | null | undefined
  reasoning_content?: string | null | undefined
  refusal?: string | null | undefined
  /** All of it as the blocks of Anthropic's Messages, in their order, for a server that takes them; pictures as parts. */
  blocks?: readonly GivenPart[]
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

/**
 * A message in the form that templates expect. The content is a list of the texts of its parts, or one text if it was
 * given as one.
 */
export interface Message {
  role: string
  content: string | string[]
  name?: string
  tool_call_id?: string
  tool_calls?: { id?: string; type: 'function'; function: { name: string; arguments: object | string } }[]
  reasoning?: string
  reasoning_content?: string
  thinking?: string
}

/** Throws MessageError. */
export function conversationOf(messages: readonly GivenMessage[]): Message[] {
  return messages.map((message, index) => messageOf(message, `messages.${index}`))
}

function messageOf(message: GivenMessage, path: string): Message {
  const { role, name, tool_calls, tool_call_id } = message
  const reasoning = message.reasoning ?? message.reasoning_content
  return {
    role,
    content: contentOf(message, `${path}.content`),
    ...(name != null && { name }),
    ...(tool_call_id != null && { tool_call_id }),
    ...(tool_calls?.length && {
      tool_calls: tool_calls.map((call, index) => toolCallOf(call, `${path}.tool_calls.${index}`)),
    }),
    ...(reasoning != null && thoughtOf(reasoning, message)),
  }
}

/** Each of these names is used by some templates. */
function thoughtOf(reasoning: string, { content, tool_calls }: GivenMessage) {
  const thought = { reasoning, reasoning_content: reasoning }
  // Templates of gpt-oss raise an error if a message with calls has both.
  return content?.length && tool_calls?.length ? thought : { ...thought, thinking: reasoning }
}

/** A refusal was said in place of an answer, so the model sees it as text. */
function contentOf({ content, refusal }: GivenMessage, path: string): Message['content'] {
  const isList = Array.isArray(content)
  const texts = isList ? content.map((entry, index) => textOf(entry, `${path}.${index}`)) : (content ?? '')
  if (!refusal) return texts
  return texts.length === 0 ? refusal : [texts, refusal].flat()
}

/** The member with the text of a part, by the part's type. */
const textMembers: Record<string, string> = {
  text: 'text',
  input_text: 'text',
  output_text: 'text',
  refusal: 'refusal',
  thinking: 'thinking',
}
const accepted = Object.keys(textMembers).join(', ')

function textOf(entry: string | GivenPart, path: string): string {
  if (typeof entry === 'string') return entry
  const type = entry.type ?? typeByMember(entry)
  const member = Object.hasOwn(textMembers, type) ? textMembers[type] : undefined
  if (member === undefined) {
    const shown = `a part of type ${JSON.stringify(type)}, which the model cannot take`
    throw new MessageError(`${path}.type`, shown, accepted)
  }
  const text = entry[member]
  if (typeof text === 'string') return text
  throw new MessageError(`${path}.${member}`, 'nothing', 'a text')
}

/** A part may come without its type: {"image_url": "…"}. */
function typeByMember(entry: GivenPart): string {
  return Object.keys(entry).find((name) => name !== 'type' && entry[name] != null) ?? 'none'
}

/** The paths of members of parts, such as `cache_control`, that no template is shown: as many as are worth naming. */
export function unreadMembers(messages: readonly GivenMessage[], max: number): string[] {
  const paths: string[] = []
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue
    for (const [at, entry] of content.entries()) {
      if (typeof entry === 'string') continue
      const read = textMembers[entry.type ?? typeByMember(entry)]
      for (const [name, value] of Object.entries(entry)) {
        if (value == null || name === 'type' || name === read) continue
        paths.push(`messages.${index}.content.${at}.${name.slice(0, 64)}`)
        if (paths.length === max) return paths
      }
    }
  }
  return paths
}

function toolCallOf({ id, type, function: { name, arguments: text } }: GivenToolCall, path: string) {
  if (type != null && type !== 'function') {
    throw new MessageError(`${path}.type`, JSON.stringify(type), '"function"')
  }
  return {
    ...(id != null && { id }),
    type: 'function' as const,
    function: { name, arguments: argumentsOf(text, `${path}.function.arguments`) },
  }
}

/** Templates read the arguments by name, so they get an object. */
function argumentsOf(text: string | null | undefined, path: string): object {
  if (text == null || text.trim() === '') return {}
  let value: unknown
  try {
    value = parseLossless(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (isObject && !(value instanceof JsonNumber)) return value as object
  throw new MessageError(path, 'not an object', 'the text of a JSON object')
}

/** The content of a message as one text. `index` is its position in the conversation. */
export function wholeText(message: GivenMessage, index: number): string {
  const text = contentOf(message, `messages.${index}.content`)
  return typeof text === 'string' ? text : text.join('\n')
}

/** A JSON value of a request, with the text that it was sent as. */
export interface JsonValue {
  readonly text: string
  readonly value: unknown
}

/** A conversation in a request. */
export interface Conversation {
  messages: readonly GivenMessage[]
  /** Instead of the model's own. */
  template?: string | null | undefined
  /** Variables of the template in addition to those below. */
  variables?: JsonValue | null | undefined
  /** The template opens the turn of the assistant. */
  addGenerationPrompt: boolean
  /** The last message stays open. */
  continueFinal: boolean
  /** The field of the request that has its text; absent where it is never reported. */
  continuedField?: string
  tools?: readonly GivenTool[] | null | undefined
  /** False if none of the tools may be called. */
  mayCall?: boolean | undefined
  documents?: readonly JsonValue[] | null | undefined
  reasoningEffort?: string | null | undefined
  verbosity?: string | null | undefined
  /** Whether the model is to think, if the request says so explicitly. */
  thinks?: boolean | undefined
}

export interface GivenTool<Schema extends JsonValue = JsonValue> {
  /** Its index among the tools of the request, if some of these are left out. */
  index?: number
  /** Anthropic's mark of how far to cache. */
  cache_control?: unknown
  function: {
    name: string
    description?: string | null | undefined
    parameters?: Schema | null | undefined
    strict?: boolean | null | undefined
  }
}
