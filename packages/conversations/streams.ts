import { isObject, itemsIn, type Json, jsonAt, type Members, membersIn, textIn, textOf } from './json.ts'
import type { Message, Part } from './message.ts'
import { messageOf } from './messages.ts'
import { partOf, textPart } from './parts.ts'

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
    const { role, parts, ending } = messageOf(withoutIndex(members) ?? addition)
    if (role !== 'unknown') growing.role = role
    const own = messageOf(addition).ending ?? ending
    if (own !== undefined) growing.ending = own
    for (const part of parts) add(growing.pieces, part, part.kind === 'call' ? part.id : part.kind)
  }
  return [...byIndex.values()].map(({ role, pieces, ending }) => ({
    role,
    parts: pieces.map(({ part }) => part),
    ...(ending !== undefined && { ending }),
  }))
}

const withoutIndex = (members: Members): Json | undefined =>
  [members.get('delta'), members.get('message'), members.get('content')].find(isObject)

interface Growing {
  role: string
  pieces: { part: Part; key: string | undefined }[]
  ending?: string
}

/** Appends a piece to the part that it continues, or begins a new one. */
function add(pieces: Growing['pieces'], part: Part, key: string | undefined): void {
  const last = pieces.at(-1)
  if (last !== undefined && last.part.kind === part.kind) {
    if ('text' in last.part && 'text' in part) {
      last.part.text += part.text
      return
    }
    // Only the first piece of a call has its id and name.
    if (last.part.kind === 'call' && part.kind === 'call' && (key === undefined || key === last.key)) {
      last.part.input += part.input
      return
    }
  }
  pieces.push({ part, key })
}

/** Events of the Messages API. */
function foldedBlocks(events: readonly Json[]): Message {
  const blocks = new Map<string, Part>()
  let ending: string | undefined
  for (const event of events) {
    const members = membersIn(event)
    const index = members.get('index') ?? '0'
    const block = members.get('content_block')
    if (isObject(block)) {
      const part = partOf(block)
      blocks.set(index, part.kind === 'call' && part.input === '{}' ? { ...part, input: '' } : part)
    }
    const delta = membersIn(members.get('delta'))
    const reason = textOf(delta, 'stop_reason')
    if (reason !== undefined && !/^(end_turn|tool_use)$/.test(reason)) ending = reason
    const part = blocks.get(index)
    if (part === undefined) continue
    if ('text' in part) part.text += textOf(delta, 'text', 'thinking') ?? ''
    else if (part.kind === 'call') part.input += textOf(delta, 'partial_json') ?? ''
  }
  return { role: 'assistant', parts: [...blocks.values()], ...(ending !== undefined && { ending }) }
}

/** Events of the Responses API that has not completed; one that has is in its last event. */
function foldedItems(events: readonly Json[]): Message {
  const done = events.flatMap((event) => {
    const members = membersIn(event)
    return textOf(members, 'type') === 'response.output_item.done' ? (members.get('item') ?? []) : []
  })
  if (done.length > 0) return { role: 'assistant', parts: done.flatMap((item) => messageOf(item).parts) }
  const texts = events.map((event) => {
    const members = membersIn(event)
    return textOf(members, 'type') === 'response.output_text.delta'
      ? (textIn(members.get('delta')) ?? '')
      : ''
  })
  return { role: 'assistant', parts: [textPart(texts.join(''))] }
}

/** The answer in the last event of a stream of the Responses API. */
export function completedResponse(events: readonly Json[]): Json | undefined {
  const last = events.at(-1)
  return textOf(membersIn(last), 'type')?.startsWith('response.') ? jsonAt(last, 'response') : undefined
}
