import { createNesting, type Nesting } from '../json/index.ts'
import { blockOf, textBlock } from './blocks.ts'
import { isObject, itemsIn, type Json, jsonAt, type Members, membersIn, textIn, textOf } from './json.ts'
import type { Block, Message, ToolCall } from './message.ts'
import { messageOf } from './messages.ts'
import { areChunks, areInPieces, pieceOf } from './stream-pieces.ts'
import { toolCall } from './tools.ts'

/** The messages of an answer that was recorded as the list of its events; undefined for any other list. */
export function streamedMessages(events: readonly Json[]): Message[] | undefined {
  const [first] = events
  const members = membersIn(first)
  const type = textOf(members, 'type') ?? ''
  if (members.has('choices'))
    return folded(events.flatMap((event) => itemsIn(membersIn(event).get('choices'))))
  if (members.has('candidates'))
    return folded(events.flatMap((event) => itemsIn(membersIn(event).get('candidates'))))
  if (areChunks(first)) return folded(events)
  if (areInPieces(first)) return inPieces(events)
  if (/^(message_start|content_block_)/.test(type)) return [foldedBlocks(events)]
  if (type.startsWith('response.')) return [foldedItems(events)]
  return undefined
}

/** Additions to choices, joined by the index of the choice. */
function folded(additions: readonly Json[]): Message[] {
  const byIndex = new Map<string, Growing>()
  for (const addition of additions) {
    const members = membersIn(addition)
    const index = members.get('index') ?? '0'
    const growing: Growing = byIndex.get(index) ?? { role: 'assistant', blocks: [], calls: new Map() }
    byIndex.set(index, growing)
    const inner = withoutIndex(members) ?? addition
    const { role, blocks, ending } = messageOf(inner)
    if (role !== 'unknown') growing.role = role
    const own = messageOf(addition).ending ?? ending
    if (own !== undefined) growing.ending = own
    // LangChain has the pieces of a call beside what can be read of them so far.
    const chunks = itemsIn(membersIn(inner).get('tool_call_chunks'))
    const pieces = chunks.length > 0 ? chunks : itemsIn(membersIn(inner).get('tool_calls'))
    const numbers = pieces.map((piece) => membersIn(piece).get('index'))
    for (const block of blocks) {
      if (block.kind !== 'call') addBlock(growing.blocks, block)
      else if (chunks.length === 0) addCall(growing, block, numbers.shift() ?? block.id)
    }
    for (const chunk of chunks) addCall(growing, toolCall(chunk), numbers.shift())
  }
  return [...byIndex.values()].map(({ role, blocks, ending }) => ({
    role,
    blocks,
    ...(ending !== undefined && { ending }),
  }))
}

const withoutIndex = (members: Members): Json | undefined =>
  [members.get('delta'), members.get('message'), members.get('content'), members.get('kwargs')].find(isObject)

interface Growing {
  role: string
  blocks: Block[]
  /** By the number or the id by which pieces of parallel calls, which may come in turns, refer to theirs. */
  calls: Map<string | undefined, { call: ToolCall; nesting: Nesting }>
  ending?: string
}

/** Appends to the text before it, or begins a new block. */
function addBlock(blocks: Block[], block: Block): void {
  const last = blocks.at(-1)
  if (last?.kind === block.kind && 'text' in last && 'text' in block) last.text += block.text
  else blocks.push(block)
}

/** Appends to the call that it continues: that of its number or id, else the last. Only the first piece has all. */
function addCall({ blocks, calls }: Growing, call: ToolCall, number: string | undefined): void {
  const begun = calls.get(number)
  // Some servers number all calls 0, or have neither numbers nor ids: after whole arguments another call begins.
  const isOther = begun?.nesting.isClosed() && call.input.trim() !== ''
  if (begun !== undefined && !isOther) {
    begun.call.input += call.input
    begun.nesting.add(call.input)
    return
  }
  const own = { call, nesting: createNesting() }
  own.nesting.add(call.input)
  blocks.push(call)
  calls.set(number, own).set(undefined, own)
}

function inPieces(events: readonly Json[]): Message[] | undefined {
  const growing: Growing = { role: 'assistant', blocks: [], calls: new Map() }
  for (const event of events) {
    const piece = pieceOf(event)
    if (piece?.block.kind === 'call') addCall(growing, piece.block, piece.number ?? piece.block.id)
    else if (piece !== undefined) addBlock(growing.blocks, piece.block)
  }
  const { role, blocks } = growing
  return blocks.length > 0 ? [{ role, blocks }] : undefined
}

/** Events of the Messages API. */
function foldedBlocks(events: readonly Json[]): Message {
  const byIndex = new Map<string, Block>()
  let ending: string | undefined
  for (const event of events) {
    const members = membersIn(event)
    const index = members.get('index') ?? '0'
    const begun = members.get('content_block')
    if (isObject(begun)) {
      const block = blockOf(begun)
      byIndex.set(index, block.kind === 'call' && block.input === '{}' ? { ...block, input: '' } : block)
    }
    const delta = membersIn(members.get('delta'))
    const reason = textOf(delta, 'stop_reason')
    if (reason !== undefined && !/^(end_turn|tool_use)$/.test(reason)) ending = reason
    const block = byIndex.get(index)
    if (block === undefined) continue
    if ('text' in block) block.text += textOf(delta, 'text', 'thinking') ?? ''
    else if (block.kind === 'call') block.input += textOf(delta, 'partial_json') ?? ''
  }
  return { role: 'assistant', blocks: [...byIndex.values()], ...(ending !== undefined && { ending }) }
}

/** Events of the Responses API that has not completed; one that has is in its last event. */
function foldedItems(events: readonly Json[]): Message {
  const done = events.flatMap((event) => {
    const members = membersIn(event)
    return textOf(members, 'type') === 'response.output_item.done' ? (members.get('item') ?? []) : []
  })
  if (done.length > 0) return { role: 'assistant', blocks: done.flatMap((item) => messageOf(item).blocks) }
  const texts = events.map((event) => {
    const members = membersIn(event)
    return textOf(members, 'type') === 'response.output_text.delta'
      ? (textIn(members.get('delta')) ?? '')
      : ''
  })
  return { role: 'assistant', blocks: [textBlock(texts.join(''))] }
}

/** The answer in the last event of a stream of the Responses API. */
export function completedResponse(events: readonly Json[]): Json | undefined {
  const last = events.at(-1)
  return textOf(membersIn(last), 'type')?.startsWith('response.') ? jsonAt(last, 'response') : undefined
}
