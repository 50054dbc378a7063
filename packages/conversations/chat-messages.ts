import { textOfMessage } from './lines.ts'
import type { Block, Message, ToolCall, ToolResult } from './message.ts'

/** A message as OpenAI's chat completions take it. */
export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  content: string | null | object[]
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
  tool_call_id?: string
}

/**
 * A conversation in the form of OpenAI's requests. Without thoughts, errors and further choices, for which it has no
 * form; the result of a tool follows its call.
 */
export function chatMessagesOf(messages: readonly Message[]): ChatMessage[] {
  let calls = 0
  /** What a result without an id answers. */
  let lastId = ''
  const written: ChatMessage[] = []
  for (const { role, blocks, choice = 1 } of messages) {
    if (role === 'error' || choice > 1) continue
    const made = blocks.filter(isCall).map((block) => ({ ...block, id: block.id ?? `call_${++calls}` }))
    const content = contentOf(blocks.filter(isContent))
    const speaker = speakerOf(role)
    if (made.length > 0) written.push({ role: 'assistant', content, tool_calls: made.map(wireCall) })
    else if (content !== null && speaker === 'tool')
      written.push({ role: 'tool', content, tool_call_id: lastId })
    else if (content !== null) written.push({ role: speaker, content })
    lastId = made.at(-1)?.id ?? lastId
    for (const { id, result } of made) if (result !== undefined) written.push(wireResult(result, id))
    for (const block of blocks)
      if (block.kind === 'result') written.push(wireResult(block, block.id ?? lastId))
  }
  return written
}

const isCall = (block: Block): block is ToolCall => block.kind === 'call'

type Content = Exclude<Block, ToolCall | ToolResult | { kind: 'thought' }>

const isContent = ({ kind }: Block): boolean => !['call', 'result', 'thought'].includes(kind)

function speakerOf(role: string): ChatMessage['role'] {
  if (role === 'system' || role === 'developer' || role === 'tool') return role
  return /^(assistant|answer|output)$/.test(role) ? 'assistant' : 'user'
}

/** One text where there is nothing but text. */
function contentOf(blocks: readonly Block[]): ChatMessage['content'] {
  if (blocks.length === 0) return null
  if (!blocks.some(({ kind }) => kind === 'image' || kind === 'stored' || kind === 'file'))
    return textOf(blocks)
  return blocks.map((block) => wirePart(block as Content))
}

function wirePart(block: Content): object {
  if (block.kind === 'image') return { type: 'image_url', image_url: { url: block.source } }
  if (block.kind === 'stored') return { type: 'image_url', image_url: { url: JSON.parse(block.json) } }
  if (block.kind === 'file' && block.source?.startsWith('data:'))
    return { type: 'file', file: { filename: block.name, file_data: block.source } }
  return { type: 'text', text: textOf([block]) }
}

const textOf = (blocks: readonly Block[]): string => textOfMessage({ role: '', blocks: [...blocks] })

const wireCall = ({ id, name, input }: ToolCall & { id: string }) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: input },
})

const wireResult = ({ content }: ToolResult, id: string): ChatMessage => ({
  role: 'tool',
  content: textOf(content),
  tool_call_id: id,
})
