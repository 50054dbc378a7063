import type { Part } from '../../../../packages/chat-format/index.ts'
import { isObjectText } from '../../../domain/json/text.ts'
import { garbage, membersOf } from '../reply.ts'

/** Turns the blocks of an answer into its parts. */
interface BlockReader {
  start(index: unknown, block: unknown): Part[]
  add(index: unknown, delta: unknown): Part[]
  stop(index: unknown): Part[]
}

type OpenBlock =
  | { type: 'text' }
  | { type: 'thinking'; signature: string }
  | { type: 'redacted_thinking' }
  | { type: 'tool_use'; call: number; arguments: string; input: unknown }

/** What each type of delta belongs to, and where its text is. */
const deltas: Readonly<Record<string, [block: OpenBlock['type'], member: string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'thinking'],
  signature_delta: ['thinking', 'signature'],
  input_json_delta: ['tool_use', 'partial_json'],
}

export function createBlockReader(): BlockReader {
  const open = new Map<unknown, OpenBlock>()
  let calls = 0

  function begin(index: unknown, block: OpenBlock, ...content: Part[]): Part[] {
    open.set(index, block)
    return content
  }

  return {
    start(index, value) {
      const block = membersOf(value)
      switch (block.type) {
        case 'text':
          return begin(index, { type: 'text' }, ...textOf('content', block.text))
        case 'thinking': {
          const signature = typeof block.signature === 'string' ? block.signature : ''
          return begin(index, { type: 'thinking', signature }, ...textOf('reasoning', block.thinking))
        }
        case 'redacted_thinking': {
          const seal = { kind: 'redacted' as const, text: String(block.data) }
          return begin(index, { type: 'redacted_thinking' }, { kind: 'reasoning', text: '', seal })
        }
        case 'tool_use': {
          const { id, name, input } = block
          if (typeof id !== 'string' || id === '') throw garbage('a tool call without an id')
          if (typeof name !== 'string' || name === '') throw garbage('a tool call without a name')
          const call = calls++
          const opening: Part = { kind: 'call', index: call, id, name }
          return begin(index, { type: 'tool_use', call, arguments: '', input }, opening)
        }
        default:
          throw garbage(`a block of the type ${shown(block.type)}, which was not asked for`)
      }
    },
    add(index, value) {
      const delta = membersOf(value)
      // Texts are complete without what they cite.
      if (delta.type === 'citations_delta') return []
      const block = open.get(index)
      const [type, member] = Object.hasOwn(deltas, String(delta.type))
        ? (deltas[String(delta.type)] ?? [])
        : []
      if (block === undefined || type !== block.type || member === undefined)
        throw garbage(`a delta of the type ${shown(delta.type)}, which its block cannot have`)
      const text = delta[member]
      if (typeof text !== 'string') throw garbage(`a ${shown(delta.type)} without its text`)
      if (member === 'signature' && block.type === 'thinking') {
        block.signature += text
        return []
      }
      if (block.type === 'tool_use') {
        block.arguments += text
        return text === '' ? [] : [{ kind: 'arguments', index: block.call, text }]
      }
      return textOf(block.type === 'text' ? 'content' : 'reasoning', text)
    },
    stop(index) {
      const block = open.get(index)
      if (block === undefined) throw garbage('the end of a block that has not begun')
      open.delete(index)
      if (block.type === 'thinking' && block.signature !== '')
        return [{ kind: 'reasoning', text: '', seal: { kind: 'signature', text: block.signature } }]
      return block.type === 'tool_use' ? endOf(block) : []
    },
  }
}

/** A call that was cut off has no end. */
function endOf({ call: index, arguments: written, input }: Extract<OpenBlock, { type: 'tool_use' }>): Part[] {
  const text = written === '' ? JSON.stringify(membersOf(input)) : written
  const rest: Part[] = written === '' ? [{ kind: 'arguments', index, text }] : []
  return isObjectText(text) ? [...rest, { kind: 'callEnd', index }] : rest
}

const textOf = (kind: 'content' | 'reasoning', text: unknown): Part[] =>
  typeof text === 'string' && text !== '' ? [{ kind, text }] : []

const shown = (value: unknown) => JSON.stringify(value ?? null).slice(0, 60)
