import type { Part } from '../../../packages/chat-format/index.ts'
import type { BlockEvent } from './contract.ts'
import { signatureOf } from './signature.ts'

/** Turns the parts of an answer into blocks, one open at a time. */
interface BlockWriter {
  /** The events of these parts. Text of one kind that comes at once is one event. */
  add(pieces: readonly Part[]): BlockEvent[]
  /** Closes the open block. */
  end(): BlockEvent[]
  /** Whether the answer has a complete call of a tool. */
  readonly hasCall: boolean
}

type Open =
  | { kind: 'text' }
  | { kind: 'tool_use' }
  | { kind: 'thinking'; thought: string; signature?: string }

export function createBlocks({ omitsThoughts }: { omitsThoughts: boolean }): BlockWriter {
  let open: Open | undefined
  let index = -1
  let hasCall = false

  // No generators: V8 makes a map for each, in old space, that keeps all of the request until a major collection.
  function close(events: BlockEvent[]): void {
    if (open === undefined) return
    if (open.kind === 'thinking') {
      const signature = open.signature ?? signatureOf(open.thought, omitsThoughts)
      events.push({ type: 'content_block_delta', index, delta: { type: 'signature_delta', signature } })
    }
    open = undefined
    events.push({ type: 'content_block_stop', index })
  }

  function add(piece: Part, events: BlockEvent[]): void {
    switch (piece.kind) {
      case 'content':
        if (open?.kind !== 'text') {
          close(events)
          open = { kind: 'text' }
          const content_block = { type: 'text', text: '' } as const
          events.push({ type: 'content_block_start', index: ++index, content_block })
        }
        events.push({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: piece.text } })
        return
      case 'reasoning':
        if (piece.seal?.kind === 'redacted') {
          close(events)
          const content_block = { type: 'redacted_thinking', data: piece.seal.text } as const
          events.push({ type: 'content_block_start', index: ++index, content_block })
          events.push({ type: 'content_block_stop', index })
          return
        }
        if (open?.kind !== 'thinking') {
          close(events)
          open = { kind: 'thinking', thought: '' }
          const content_block = { type: 'thinking', thinking: '', signature: '' } as const
          events.push({ type: 'content_block_start', index: ++index, content_block })
        }
        open.thought += piece.text
        if (piece.seal !== undefined) {
          open.signature = piece.seal.text
          close(events)
          return
        }
        if (omitsThoughts) return
        events.push({
          type: 'content_block_delta',
          index,
          delta: { type: 'thinking_delta', thinking: piece.text },
        })
        return
      case 'call': {
        close(events)
        open = { kind: 'tool_use' }
        const { id, name } = piece
        const caller = { type: 'direct' } as const
        const content_block = { type: 'tool_use', id, name, input: {}, caller } as const
        events.push({ type: 'content_block_start', index: ++index, content_block })
        return
      }
      case 'arguments': {
        const delta = { type: 'input_json_delta', partial_json: piece.text } as const
        events.push({ type: 'content_block_delta', index, delta })
        return
      }
      case 'callEnd':
        hasCall = true
        close(events)
    }
  }

  return {
    add(pieces) {
      const events: BlockEvent[] = []
      for (const piece of joined(pieces)) add(piece, events)
      return events
    },
    end() {
      const events: BlockEvent[] = []
      close(events)
      return events
    },
    get hasCall() {
      return hasCall
    },
  }
}

function joined(pieces: readonly Part[]): Part[] {
  const all: Part[] = []
  for (const piece of pieces) {
    const last = all.at(-1)
    const isSealed = [last, piece].some((either) => either?.kind === 'reasoning' && either.seal !== undefined)
    const isMore =
      last !== undefined && 'text' in last && 'text' in piece && last.kind === piece.kind && !isSealed
    if (isMore) all[all.length - 1] = { ...last, text: last.text + piece.text }
    else all.push(piece)
  }
  return all
}
