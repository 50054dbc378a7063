import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireAccess } from '../../domain/callers.ts'
import { checkedPicture } from '../../domain/pictures/check.ts'
import { refuse } from '../../domain/refusals.ts'
import { openAiRefusalContracts, type Routes } from '../../http/contracts.ts'
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

const tags = ['responses']
const url = '/v1/conversations/:conversation_id'
const { ConversationPath: params, ConversationItemPath: itemParams } = contract
const config = { right: 'infer' } as const
const reading = openAiRefusalContracts('conversation_not_found', 'invalid_request')
const bodies = openAiRefusalContracts(
  'malformed_json',
  'invalid_value',
  'body_too_large',
  'unsupported_media_type',
  'record_refuses_writes',
)

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
  const schema = {
    summary: 'Begin a conversation',
    description: 'Compatible with OpenAI: docs/responses.md. The header x-heddle-project names the project.',
    tags,
    body: contract.CreateConversationBody,
    response: {
      200: contract.ConversationAnswer,
      ...bodies,
      ...openAiRefusalContracts(
        'entity_forbidden',
        'recording_off',
        'response_item_not_found',
        'too_many_conversations',
      ),
    },
  }
  app.post('/v1/conversations', { config, schema }, async (request, reply) => {
    const { caller, body } = request
    const project = requireRecord(services, request, 'items')
    requireAccess(caller, project, projectHeader)
    checkMetadata(body.metadata)
    const items = await itemsGiven(services, request, body.items ?? [], reply)
    return conversationsOf(caller, services).create(project, body.metadata ?? null, items)
  })
}

const readOrRemove: RoutePlugin = async (app, services) => {
  const schema = (summary: string, answer: object) => ({
    summary,
    tags,
    params,
    response: { 200: answer, ...reading },
  })
  const read = schema('Read a conversation', contract.ConversationAnswer)
  app.get(url, { config, schema: read }, ({ caller, params: { conversation_id: id } }) =>
    conversationsOf(caller, services).read(id),
  )
  const remove = schema('Delete a conversation and its items', contract.ConversationDeleted)
  Object.assign(remove.response, openAiRefusalContracts('record_refuses_writes'))
  app.delete(url, { config, schema: remove }, ({ caller, params: { conversation_id: id } }) =>
    conversationsOf(caller, services).remove(id),
  )
}

const change: RoutePlugin = async (app, services) => {
  const schema = {
    summary: 'Replace the metadata of a conversation',
    tags,
    params,
    body: contract.ChangeConversationBody,
    response: { 200: contract.ConversationAnswer, ...reading, ...bodies },
  }
  app.post(url, { config, schema }, async ({ caller, params: { conversation_id: id }, body }) => {
    checkMetadata(body.metadata)
    return conversationsOf(caller, services).change(id, body.metadata)
  })
}

const add: RoutePlugin = async (app, services) => {
  const schema = {
    summary: 'Add items to a conversation',
    tags,
    params,
    body: contract.AddItemsBody,
    response: {
      200: contract.ItemsAdded,
      ...reading,
      ...bodies,
      ...openAiRefusalContracts('recording_off', 'conversation_full', 'response_item_not_found'),
    },
  }
  app.post(`${url}/items`, { config, schema }, async (request, reply) => {
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
  const schema = {
    summary: 'List the items of a conversation',
    tags,
    params,
    querystring: InputItemsQuery,
    response: {
      200: contract.ConversationItems,
      ...reading,
      ...openAiRefusalContracts('invalid_value', 'query_too_slow'),
    },
  }
  app.get(`${url}/items`, { config, schema }, ({ caller, params: { conversation_id: id }, query }, reply) =>
    conversationsOf(caller, services).page(id, query, disconnectSignal(reply)),
  )
}

const item: RoutePlugin = async (app, services) => {
  const refusals = { ...reading, ...openAiRefusalContracts('conversation_item_not_found') }
  const path = `${url}/items/:item_id`
  const read = {
    summary: 'Read an item of a conversation',
    tags,
    params: itemParams,
    response: { 200: contract.ConversationItem, ...refusals },
  }
  app.get(path, { config, schema: read }, ({ caller, params: { conversation_id: id, item_id } }) =>
    conversationsOf(caller, services).readItem(id, item_id),
  )
  const remove = {
    summary: 'Delete an item of a conversation',
    tags,
    params: itemParams,
    response: {
      200: contract.ConversationAnswer,
      ...refusals,
      ...openAiRefusalContracts('record_refuses_writes'),
    },
  }
  app.delete(path, { config, schema: remove }, ({ caller, params: { conversation_id: id, item_id } }) =>
    conversationsOf(caller, services).removeItem(id, item_id),
  )
}

export const conversationRoutes = family(create, readOrRemove, change, add, list, item)
