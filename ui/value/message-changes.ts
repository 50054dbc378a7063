import { type Message, textOfMessage } from '../../packages/conversations/index.ts'
import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from './json-index.ts'
import { messagesIn } from './messages.ts'

/** How one message differs between two conversations. */
export type MessageChange =
  | { kind: 'same' | 'added' | 'removed'; role: string; text: string }
  | { kind: 'changed'; role: string; before: string; after: string }

interface Said {
  message: Message
  source: string
}

/** Undefined where either is no list of messages. */
export function messageChanges(
  before: JsonNode | undefined,
  after: JsonNode | undefined,
): MessageChange[] | undefined {
  const [a, b] = [saidIn(before), saidIn(after)]
  if (a === undefined || b === undefined) return undefined
  let start = 0
  while (start < a.length && start < b.length && a[start]?.source === b[start]?.source) start++
  let end = 0
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end)?.source === b.at(-1 - end)?.source)
    end++
  return [
    ...a.slice(0, start).map(as('same')),
    ...between(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(as('same')),
  ]
}

function saidIn(list: JsonNode | undefined): Said[] | undefined {
  if (list?.kind !== 'array') return undefined
  const nodes = [...membersOf(list)].map(({ node }) => node)
  if (nodes.some((node) => stringOf(nodeAt(node, 'role')) === undefined)) return undefined
  return messagesIn(list).map((message, index) => ({ message, source: sourceOf(nodes[index] as JsonNode) }))
}

const as =
  (kind: 'same' | 'added' | 'removed') =>
  ({ message }: Said): MessageChange => ({ kind, role: message.role, text: textOfMessage(message) })

/** Messages at the same position count as one changed message if they have the same role. */
function between(a: readonly Said[], b: readonly Said[]): MessageChange[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, index): MessageChange[] => {
    const [old, fresh] = [a[index], b[index]]
    if (old !== undefined && fresh !== undefined && old.message.role === fresh.message.role)
      return [old.source === fresh.source ? as('same')(old) : changed(old, fresh)]
    return [...(old ? [as('removed')(old)] : []), ...(fresh ? [as('added')(fresh)] : [])]
  }).flat()
}

function changed(old: Said, fresh: Said): MessageChange {
  const [before, after] = [textOfMessage(old.message), textOfMessage(fresh.message)]
  const { role } = fresh.message
  // Something other than the text differs, such as a name.
  if (before === after) return { kind: 'changed', role, before: old.source, after: fresh.source }
  return { kind: 'changed', role, before, after }
}
