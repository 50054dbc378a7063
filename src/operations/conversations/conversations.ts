import { createYieldToLoop, inSteps } from '../../../packages/waiting/index.ts'
import { type Caller, hasAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { JsonText } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import {
  type Conversation,
  positionOf,
  readConversation,
  readItem,
  streamItems,
} from '../../storage/conversations/conversations.ts'
import { type ConversationItem, maxConversationItems } from '../../storage/conversations/items.ts'
import { databaseOf } from '../../storage/database.ts'
import { boundTo } from '../../storage/transaction.ts'
import { listPage } from '../list-pages.ts'
import type { OperationParts } from '../parts.ts'
import { AnyItem } from '../responses/answer-contract.ts'
import type { Item } from '../responses/items.ts'
import { conversationPrefix, itemsToAdd, type OpenedConversation } from './additions.ts'

/** The conversations of one user in the projects that the user has access to. To all others they do not exist. */
export interface ConversationStore {
  create(project: string, metadata: JsonText | null, items: readonly Item[]): Promise<object>
  /** Refused if there is none. */
  read(id: string): Promise<object>
  change(id: string, metadata: JsonText | null): Promise<object>
  remove(id: string): Promise<object>
  /** All of its items, for an answer. */
  open(id: string, signal: AbortSignal): Promise<OpenedConversation>
  add(id: string, items: readonly Item[]): Promise<object>
  page(id: string, query: PageQuery, signal: AbortSignal): Promise<object>
  readItem(id: string, item: string): Promise<Item>
  removeItem(id: string, item: string): Promise<object>
}

interface PageQuery {
  limit: number
  order: 'asc' | 'desc'
  after?: string | undefined
}

const dayInMicroseconds = 86_400_000_000
const field = 'conversation_id'

type Parts = Pick<OperationParts, 'db' | 'projects' | 'responseDays'>

export function conversationsOf(caller: Caller, { db, projects, responseDays }: Parts): ConversationStore {
  const { name: user_name } = caller
  const own = databaseOf(user_name, db)
  const keyOf = (id: string) => ({ user_name, id, now: now() })

  async function found(id: string, name = field): Promise<Conversation> {
    const conversation = await readConversation(own, keyOf(id))
    if (conversation !== undefined && hasAccess(caller, conversation.project_id)) return conversation
    throw refuse('conversation_not_found', { field: name, id })
  }

  /** As long as an answer that is made now. */
  async function expiryIn(project: string): Promise<number | null> {
    const limits = [await projects.retentionDays(project), responseDays].filter((days) => days > 0)
    return limits.length === 0 ? null : now() + Math.min(...limits) * dayInMicroseconds
  }

  async function storedItem(id: string, item: string): Promise<Item> {
    await found(id)
    const row = await readItem(own, keyOf(id), item)
    const shown = row && itemOf(row)
    if (shown !== undefined) return shown
    throw refuse('conversation_item_not_found', { field: 'item_id', id: item, conversation: id })
  }

  return {
    async create(project_id, metadata, items) {
      const id = conversationPrefix + newId().replaceAll('-', '')
      const conversation = await own.write('addConversation', {
        user_name,
        id,
        project_id,
        created_at: now(),
        until: await expiryIn(project_id),
        metadata: metadata?.text ?? '{}',
        items: itemsToAdd(id, items, 'hand'),
      })
      return answerOf(conversation)
    },

    read: async (id) => answerOf(await found(id)),

    async change(id, metadata) {
      const { project_id } = await found(id)
      const change = { ...keyOf(id), project_id, metadata: metadata?.text ?? '{}' }
      const changed = await own.write('changeConversation', change)
      if (changed === undefined) throw refuse('conversation_not_found', { field, id })
      return answerOf(changed)
    },

    async remove(id) {
      await found(id)
      const isDropped = await own.write('dropConversation', keyOf(id))
      if (!isDropped) throw refuse('conversation_not_found', { field, id })
      return { id, object: 'conversation.deleted', deleted: true }
    },

    async open(id, signal) {
      const { project_id: project } = await found(id, 'conversation')
      const items: Item[] = []
      const yieldToLoop = createYieldToLoop(signal)
      const all = { order: 'asc', limit: maxConversationItems, after: undefined } as const
      for await (const rows of streamItems(boundTo(own, signal), keyOf(id), all)) {
        for (const row of rows) {
          const item = itemOf(row)
          if (item !== undefined) items.push(item)
          await yieldToLoop()
        }
      }
      return { id, project, until: await expiryIn(project), items }
    },

    async add(id, items) {
      const { project_id } = await found(id)
      const until = await expiryIn(project_id)
      const toAdd = itemsToAdd(id, items, 'hand')
      const addition = { ...keyOf(id), project_id, items: toAdd, until, field: 'items' }
      return pageOf(await own.write('addConversationItems', addition), false)
    },

    async page(id, { limit, order, after }, signal) {
      await found(id)
      const last = after === undefined ? undefined : await positionOf(own, keyOf(id), after)
      if (after !== undefined && last === undefined)
        throw wrong('after', JSON.stringify(after), 'the id of an item of this conversation')
      const rows: ConversationItem[] = []
      const page = { order, limit: limit + 1, after: last }
      for await (const some of streamItems(boundTo(own, signal), keyOf(id), page)) rows.push(...some)
      return pageOf(rows.slice(0, limit), rows.length > limit)
    },

    readItem: storedItem,

    async removeItem(id, item) {
      await found(id)
      const isDropped = await own.write('dropConversationItem', { ...keyOf(id), item })
      if (isDropped) return answerOf(await found(id))
      throw refuse('conversation_item_not_found', { field: 'item_id', id: item, conversation: id })
    },
  }
}

const answerOf = ({ id, created_at, metadata }: Conversation) => ({
  id,
  object: 'conversation' as const,
  created_at: Math.floor(Number(created_at) / 1_000_000),
  metadata: new JsonText(metadata),
})

/** An item that redaction has left without the form of one counts as deleted. */
function itemOf({ id, item }: ConversationItem): Item | undefined {
  const read: unknown = JSON.parse(item)
  const { success, data } = AnyItem.safeParse(typeof read === 'object' ? { id, ...read } : read)
  return success ? (data as Item) : undefined
}

async function pageOf(rows: readonly ConversationItem[], hasMore: boolean) {
  const data: Item[] = []
  await inSteps(rows, (row) => {
    const item = itemOf(row)
    if (item !== undefined) data.push(item)
  })
  return listPage(rows, data, hasMore)
}
