import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireAccess } from '../../domain/callers.ts'
import { checkedPicture } from '../../domain/pictures/check.ts'
import { refuse } from '../../domain/refusals.ts'
import { openAiRefusalContracts, type Routes, wireRoutes } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { checkMetadata } from '../generation/checks.ts'
import { family } from '../parts.ts'
import { projectHeader, recordingTarget } from '../recording/target-headers.ts'
import { InputItemsQuery } from '../responses/answer-contract.ts'
import type { ResponseParts } from '../responses/answering.ts'
import { itemsOf } from '../responses/input.ts'
import { type Item, responsePrefix } from '../responses/items.ts'
import type { InputItem } from '../responses/items-contract.ts'
import { createReferences } from '../responses/references.ts'
import { responsesOf } from '../responses/store.ts'
import * as contract from './contract.ts'
import { conversationsOf } from './conversations.ts'

type RoutePlugin = Routes<ResponseParts>

const route = wireRoutes('responses', openAiRefusalContracts)
const url = '/v1/conversations/:conversation_id'
const { ConversationPath: params, ConversationItemPath: itemParams } = contract
const reading = ['conversation_not_found', 'invalid_request'] as const
const bodies = [
  'malformed_json',
  'invalid_value',
  'body_too_large',
  'unsupported_media_type',
  'record_refuses_writes',
] as const

/** What is added by hand is recorded as answers are, or not at all. */
function requireRecord({ recorder }: ResponseParts, { caller, headers }: FastifyRequest, field: string) {
  const target = recordingTarget(caller, headers)
  const why = recorder.whyOff(caller, target)
  if (why !== undefined) throw refuse('recording_off', { field, received: 'items to keep', why })
  return target.project
}

/** The items of a body, each checked as one of an input is. */
function itemsGiven(
  services: ResponseParts,
  { caller }: FastifyRequest,
  items: readonly InputItem[],
  reply: FastifyReply,
): Promise<Item[]> {
  const store = responsesOf(caller, services)
  const references = createReferences(store, disconnectSignal(reply), 'items')
  const { unseal } = store
  const sources = { response: responsePrefix, unseal, checkPicture: checkedPicture, item: references.find }
  return itemsOf(items, { ...sources, field: 'items' })
}

const create: RoutePlugin = async (app, services) => {
  const description =
    'Compatible with OpenAI: docs/responses.md. The header x-heddle-project names the project.'
  const about = route(
    'infer',
    'Begin a conversation',
    contract.ConversationAnswer,
    { description, body: contract.CreateConversationBody },
    ...bodies,
    'entity_forbidden',
    'recording_off',
    'response_item_not_found',
    'too_many_conversations',
  )
  app.post('/v1/conversations', about, async (request, reply) => {
    const { caller, body } = request
    const project = requireRecord(services, request, 'items')
    requireAccess(caller, project, projectHeader)
    checkMetadata(body.metadata)
    const items = await itemsGiven(services, request, body.items ?? [], reply)
    return conversationsOf(caller, services).create(project, body.metadata ?? null, items)
  })
}

const readOrRemove: RoutePlugin = async (app, services) => {
  const read = route('infer', 'Read a conversation', contract.ConversationAnswer, { params }, ...reading)
  app.get(url, read, ({ caller, params: { conversation_id: id } }) =>
    conversationsOf(caller, services).read(id),
  )
  const remove = route(
    'infer',
    'Delete a conversation and its items',
    contract.ConversationDeleted,
    { params },
    ...reading,
    'record_refuses_writes',
  )
  app.delete(url, remove, ({ caller, params: { conversation_id: id } }) =>
    conversationsOf(caller, services).remove(id),
  )
}

const change: RoutePlugin = async (app, services) => {
  const about = route(
    'infer',
    'Replace the metadata of a conversation',
    contract.ConversationAnswer,
    { params, body: contract.ChangeConversationBody },
    ...reading,
    ...bodies,
  )
  app.post(url, about, async ({ caller, params: { conversation_id: id }, body }) => {
    checkMetadata(body.metadata)
    return conversationsOf(caller, services).change(id, body.metadata)
  })
}

const add: RoutePlugin = async (app, services) => {
  const about = route(
    'infer',
    'Add items to a conversation',
    contract.ItemsAdded,
    { params, body: contract.AddItemsBody },
    ...reading,
    ...bodies,
    'recording_off',
    'conversation_full',
    'response_item_not_found',
  )
  app.post(`${url}/items`, about, async (request, reply) => {
    const {
      caller,
      params: { conversation_id: id },
      body,
    } = request
    const conversations = conversationsOf(caller, services)
    requireRecord(services, request, 'items')
    await conversations.read(id)
    return conversations.add(id, await itemsGiven(services, request, body.items, reply))
  })
}

const list: RoutePlugin = async (app, services) => {
  const about = route(
    'infer',
    'List the items of a conversation',
    contract.ConversationItems,
    { params, querystring: InputItemsQuery },
    ...reading,
    'invalid_value',
    'query_too_slow',
  )
  app.get(`${url}/items`, about, ({ caller, params: { conversation_id: id }, query }, reply) =>
    conversationsOf(caller, services).page(id, query, disconnectSignal(reply)),
  )
}

const item: RoutePlugin = async (app, services) => {
  const refused = [...reading, 'conversation_item_not_found'] as const
  const fields = { params: itemParams }
  const path = `${url}/items/:item_id`
  const read = route('infer', 'Read an item of a conversation', contract.ConversationItem, fields, ...refused)
  app.get(path, read, ({ caller, params: { conversation_id: id, item_id } }) =>
    conversationsOf(caller, services).readItem(id, item_id),
  )
  const remove = route(
    'infer',
    'Delete an item of a conversation',
    contract.ConversationAnswer,
    fields,
    ...refused,
    'record_refuses_writes',
  )
  app.delete(path, remove, ({ caller, params: { conversation_id: id, item_id } }) =>
    conversationsOf(caller, services).removeItem(id, item_id),
  )
}

export const conversationRoutes = family(create, readOrRemove, change, add, list, item)
