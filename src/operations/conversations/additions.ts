import { writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { type ItemToAdd, maxConversationItems, wrapped } from '../../storage/conversations/items.ts'
import { type Item, itemIdOf, responsePrefix } from '../responses/items.ts'

/** A conversation as a request finds it. */
export interface OpenedConversation {
  id: string
  project: string
  /** When it expires once something is added to it. */
  until: number | null
  items: Item[]
}

/** A conversation, and the items that an answer to it adds before its output. */
export interface ContinuedConversation extends Omit<OpenedConversation, 'items'> {
  input: readonly Item[]
}

export const conversationPrefix = 'conv_'

/**
 * Items as a conversation gets them. Those of an answer keep their ids, by which clients know them already; others get
 * the id of the conversation with their position.
 */
export function itemsToAdd(
  conversation: string,
  items: readonly Item[],
  origin: 'input' | 'output' | 'hand',
): ItemToAdd[] {
  const name = conversation.slice(conversationPrefix.length)
  return items.map(({ id, ...item }) => ({
    id: origin === 'hand' ? null : id,
    stem: itemIdOf(item.type, responsePrefix + name, ''),
    inputs: origin === 'output' ? null : wrapped('input', writeJson(item)),
    output: origin === 'output' ? wrapped('output', writeJson(item)) : null,
  }))
}

/** Refused before anything is generated if there is no room for the input and an answer of one item. */
export function continuedBy(
  { items, ...conversation }: OpenedConversation,
  own: readonly Item[],
): ContinuedConversation {
  const { id } = conversation
  if (items.length + own.length >= maxConversationItems)
    throw refuse('conversation_full', { field: 'conversation', id, limit: `${maxConversationItems} items` })
  return { ...conversation, input: own }
}

export const additionOf = (
  { id, project, until, input }: ContinuedConversation,
  output: readonly Item[],
) => ({
  id,
  project_id: project,
  until,
  items: [...itemsToAdd(id, input, 'input'), ...itemsToAdd(id, output, 'output')],
  field: 'conversation',
})
