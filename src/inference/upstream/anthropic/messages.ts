import { hash } from 'node:crypto'
import type { GivenMessage, GivenPart, GivenToolCall } from '../../../../packages/chat-format/index.ts'
import { JsonText } from '../../../domain/json/text.ts'
import { refuseUnsupported } from '../fields.ts'
import { messagesFor } from '../system-messages.ts'

export type Block = Readonly<Record<string, unknown>>

interface AnthropicConversation {
  system?: string | Block[]
  messages: { role: 'user' | 'assistant'; content: Block[] }[]
}

interface Turn {
  role: 'user' | 'assistant'
  /** Results come before everything else that the user says. */
  results: Block[]
  content: Block[]
}

/** Messages as Anthropic's API takes them: one system text, then user and assistant in turns. */
export function anthropicConversation(messages: readonly GivenMessage[]): AnthropicConversation {
  const turns: Turn[] = []
  /** Calls that have no result yet, for results that do not name theirs. */
  let unanswered: string[] = []
  const system: Block[] = []
  // What comes in blocks needs no joining.
  const isOwn = messages.every(({ blocks }) => blocks !== undefined)
  for (const [index, message] of (isOwn ? messages : messagesFor('anthropic', messages)).entries()) {
    if (message.role === 'system') {
      system.push(...blocksOf(message))
      if (system.some(({ type }) => type !== 'text'))
        refuseUnsupported('messages', 'a picture in a system message', 'texts there')
      continue
    }
    const turn = turnOf(message, index, unanswered)
    const calls = turn.content.filter(({ type }) => type === 'tool_use').map(({ id }) => String(id))
    unanswered = [...unanswered, ...calls].filter((id) =>
      turn.results.every(({ tool_use_id }) => tool_use_id !== id),
    )
    const last = turns.at(-1)
    if (last?.role === turn.role) {
      last.results.push(...turn.results)
      last.content.push(...turn.content)
    } else turns.push(turn)
  }
  const filled = turns.map(({ role, results, content }) => ({ role, content: [...results, ...content] }))
  const [first, ...others] = system
  const isText = others.length === 0 && first?.cache_control === undefined
  return {
    ...(first !== undefined && { system: isText ? String(first.text) : system }),
    messages: filled.filter(({ content }) => content.length > 0),
  }
}

function turnOf(message: GivenMessage, index: number, unanswered: readonly string[]): Turn {
  const { role, blocks } = message
  if (blocks !== undefined) {
    const { results = [], content = [] } = Object.groupBy(ownBlocks(blocks), ({ type }) =>
      type === 'tool_result' ? 'results' : 'content',
    )
    return { role: role === 'assistant' ? role : 'user', results, content }
  }
  if (role === 'user') return { role, results: [], content: blocksOf(message) }
  if (role === 'tool') return { role: 'user', results: [resultOf(message, unanswered)], content: [] }
  if (role === 'assistant') {
    const calls = (message.tool_calls ?? []).map((call, at) => callOf(call, `call_${index}_${at}`))
    return { role, results: [], content: [...blocksOf(message), ...calls] }
  }
  return refuseUnsupported('messages', `a message of the role ${JSON.stringify(role)}`, acceptedRoles)
}

const acceptedRoles = 'system, developer, user, assistant, tool'

/** The ids of others have characters that Anthropic refuses. Different ids stay different. */
const idOf = (id: string) =>
  /^[\w-]+$/.test(id) ? id : `${id.replace(/[^\w-]/g, '_')}_${hash('sha1', id).slice(0, 8)}`

function callOf({ id, function: { name, arguments: text } }: GivenToolCall, usual: string): Block {
  return { type: 'tool_use', id: idOf(id || usual), name, input: inputOf(text ?? '') }
}

function inputOf(text: string): JsonText {
  if (text.trim() === '') return new JsonText('{}')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Refused below.
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return new JsonText(text)
  return refuseUnsupported('messages', 'arguments of a call that are no object', 'the text of a JSON object')
}

function resultOf(message: GivenMessage, [next]: readonly string[]): Block {
  const id = message.tool_call_id || next
  if (!id) refuseUnsupported('messages', 'the result of no call', 'a tool_call_id')
  const content = blocksOf(message)
  return {
    type: 'tool_result',
    tool_use_id: idOf(id),
    ...(content.length > 0 && { content }),
  }
}

/** A text of nothing but white space is refused there, and says nothing. */
const isBlank = ({ type, text }: Block) => type === 'text' && String(text).trim() === ''

function blocksOf({ blocks, content, refusal }: GivenMessage): Block[] {
  if (blocks !== undefined) return ownBlocks(blocks)
  const entries = typeof content === 'string' ? [content] : (content ?? [])
  return [...entries, refusal ?? ''].map(blockOf).filter((block) => !isBlank(block))
}

const ownBlocks = (blocks: readonly GivenPart[]) => blocks.map(ownBlock).filter((block) => !isBlank(block))

/** A block that a client of the same API has sent. */
function ownBlock(block: GivenPart): Block {
  const { type, id, tool_use_id, content, image_url, cache_control, ...others } = block
  const inner = Array.isArray(content) ? ownBlocks(content) : []
  // An error that says nothing is refused there.
  if (others.is_error && inner.length === 0) inner.push(blockOf('Error'))
  return {
    ...(image_url == null ? { type, ...others } : blockOf(block)),
    ...(id !== undefined && { id: idOf(String(id)) }),
    ...(tool_use_id !== undefined && { tool_use_id: idOf(String(tool_use_id)) }),
    ...(inner.length > 0 && { content: inner }),
    ...(cache_control != null && { cache_control }),
  }
}

function blockOf(entry: string | GivenPart): Block {
  if (typeof entry === 'string') return { type: 'text', text: entry }
  const text = entry.text ?? entry.refusal
  if (typeof text === 'string') return { type: 'text', text }
  const picture = entry.image_url ?? entry.input_image
  if (picture != null) return { type: 'image', source: sourceOf(picture) }
  const type = entry.type ?? Object.keys(entry).find((name) => entry[name] != null)
  return refuseUnsupported('messages', `a part of the type ${JSON.stringify(type)}`, 'texts and pictures')
}

function sourceOf(picture: unknown): Block {
  const value = picture instanceof JsonText ? picture.value : picture
  const url = typeof value === 'string' ? value : String((value as { url?: unknown }).url)
  const packed = /^data:([^;,]+);base64,(.*)$/s.exec(url)
  return packed === null ? { type: 'url', url } : { type: 'base64', media_type: packed[1], data: packed[2] }
}
