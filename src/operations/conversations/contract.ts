import { z } from 'zod'
import { answer, jsonObject, plainText } from '../../domain/fields.ts'
import { documented } from '../generation/scalars.ts'
import { AnyItem, itemsPage } from '../responses/answer-contract.ts'
import { InputItem } from '../responses/items-contract.ts'

/** The same limit as OpenAI's. */
const maxItemsAtOnce = 20

const items = z.array(InputItem).max(maxItemsAtOnce, `expected at most ${maxItemsAtOnce} items`)
const aboutMetadata = 'Up to 16 strings of up to 512 characters, under names of up to 64.'

export const CreateConversationBody = z.object({
  items: documented(items.nullish(), 'What it begins with: up to 20 items, as in the input of a response.'),
  metadata: documented(jsonObject().nullish(), aboutMetadata),
})

export const ChangeConversationBody = z.object({
  metadata: documented(jsonObject().nullable(), `${aboutMetadata} Null removes them.`),
})

export const AddItemsBody = z.object({
  items: documented(
    items.min(1, 'expected at least one item'),
    'Up to 20 items, as in the input of a response.',
  ),
})

const id = () => plainText(256).min(1)
export const ConversationPath = z.object({ conversation_id: id() })
export const ConversationItemPath = ConversationPath.extend({ item_id: id() })

export const ConversationAnswer = answer('The conversation, without its items.', {
  id: z.string(),
  object: z.literal('conversation'),
  created_at: z.int(),
  metadata: z.record(z.string(), z.string()),
})

export const ConversationDeleted = answer('It is deleted.', {
  id: z.string(),
  object: z.literal('conversation.deleted'),
  deleted: z.literal(true),
})

export const ItemsAdded = itemsPage('The items that were added.')
export const ConversationItems = itemsPage('Items of the conversation.')
export const ConversationItem = AnyItem.describe('The item.')
