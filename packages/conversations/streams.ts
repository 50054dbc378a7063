import { blockOf, textBlock } from './blocks.ts'
import { isObject, itemsIn, type Json, jsonAt, type Members, membersIn, textIn, textOf } from './json.ts'
import type { Block, Message } from './message.ts'
import { messageOf } from './messages.ts'

/** The messages of an answer that was recorded as the list of its events; undefined for any other list. */
export function streamedMessages(events: readonly Json[]): Message[] | undefined {
  const [first] = events
  const members = membersIn(first)
  const type = textOf(members, 'type') ?? ''
  if (members.has('choices'))
    return folded(events.flatMap((event) => itemsIn(membersIn(event).get('choices'))))
  if (members.has('candidates')) {
    return folded(events.flatMap((event) => itemsIn(membersIn(event).get('candidates'))))
  }
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
    const growing = byIndex.get(index) ?? { role: 'assistant', pieces: [] }
    byIndex.set(index, growing)
    const { role, blocks, ending } = messageOf(withoutIndex(members) ?? addition)
    if (role !== 'unknown') growing.role = role
    const own = messageOf(addition).ending ?? ending
    if (own !== undefined) growing.ending = own
    for (const block of blocks) add(growing.pieces, block, block.kind === 'call' ? block.id : block.kind)
  }
  return [...byIndex.values()].map(({ role, pieces, ending }) => ({
    role,
    blocks: pieces.map(({ block }) => block),
    ...(ending !== undefined && { ending }),
  }))
}

const withoutIndex = (members: Members): Json | undefined =>
  [members.get('delta'), members.get('message'), members.get('content')].find(isObject)

interface Growing {
  role: string
  pieces: { block: Block; key: string | undefined }[]
  ending?: string
}

/** Appends a piece to the block that it continues, or begins a new one. */
function add(pieces: Growing['pieces'], block: Block, key: string | undefined): void {
  const last = pieces.at(-1)
  if (last !== undefined && last.block.kind === block.kind) {
    if ('text' in last.block && 'text' in block) {
      last.block.text += block.text
      return
    }
    // Only the first piece of a call has its id and name.
    if (last.block.kind === 'call' && block.kind === 'call' && (key === undefined || key === last.key)) {
      last.block.input += block.input
      return
    }
  }
  pieces.push({ block, key })
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
