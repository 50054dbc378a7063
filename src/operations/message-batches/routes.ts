import { anthropicRefusalContracts, jsonLinesOf, type Routes } from '../../http/contracts.ts'
import { sendChunks } from '../../http/streams/streamed-answers.ts'
import { databaseOf } from '../../storage/database.ts'
import { family, type OperationParts } from '../parts.ts'
import {
  CreateMessageBatchBody,
  MessageBatchAnswer,
  MessageBatchDeleted,
  MessageBatchesQuery,
  MessageBatchList,
  MessageBatchPath,
  MessageBatchResult,
} from './contract.ts'

type RoutePlugin = Routes<OperationParts>

/** Loaded with the first request. */
const batches = () => import('./batches.ts')

const url = '/v1/messages/batches'
const tags = ['messages']
const config = { right: 'infer' } as const
const params = MessageBatchPath
const refusals = anthropicRefusalContracts('invalid_request', 'entity_forbidden')
const ofOne = { ...refusals, ...anthropicRefusalContracts('batch_not_found') }
const writing = anthropicRefusalContracts('record_refuses_writes')

const create: RoutePlugin = async (app, { db, batchLines }) => {
  const schema = {
    summary: 'Have many messages answered in the background, compatible with Anthropic',
    description: 'docs/batches.md describes it. The header x-heddle-project names the project.',
    tags,
    body: CreateMessageBatchBody,
    response: {
      200: MessageBatchAnswer,
      ...refusals,
      ...anthropicRefusalContracts(
        'malformed_json',
        'unsupported_media_type',
        'body_too_large',
        'batch_needs_key',
        'too_many_batches',
        'record_refuses_writes',
      ),
    },
  }
  app.post(url, { config: { ...config, largeBodies: true }, schema }, async (request) =>
    (await import('./create.ts')).createMessageBatch(
      databaseOf(request.caller.name, db),
      batchLines,
      request,
      request.body,
    ),
  )
}

const read: RoutePlugin = async (app, { db }) => {
  const list = {
    summary: 'List batches of messages',
    tags,
    querystring: MessageBatchesQuery,
    response: { 200: MessageBatchList, ...refusals },
  }
  app.get(url, { config, schema: list }, async (request) =>
    (await batches()).listMessageBatches(databaseOf(request.caller.name, db), request, request.query),
  )
  const state = {
    summary: 'Read a batch of messages',
    tags,
    params,
    response: { 200: MessageBatchAnswer, ...ofOne },
  }
  app.get(`${url}/:message_batch_id`, { config, schema: state }, async (request) =>
    (await batches()).readMessageBatch(
      databaseOf(request.caller.name, db),
      request,
      request.params.message_batch_id,
    ),
  )
  const results = {
    summary: 'Read the results of a batch of messages',
    tags,
    params,
    response: { 200: jsonLinesOf(MessageBatchResult, 'application/x-jsonl'), ...ofOne },
  }
  app.get(`${url}/:message_batch_id/results`, { config, schema: results }, async (request, reply) => {
    const own = databaseOf(request.caller.name, db)
    const { resultsOf } = await batches()
    const { size, pieces } = await resultsOf(own, request.caller, request.params.message_batch_id)
    reply.header('content-length', size)
    return sendChunks(reply, 'application/x-jsonl', pieces)
  })
}

const end: RoutePlugin = async (app, { db }) => {
  const cancel = {
    summary: 'Cancel a batch of messages',
    tags,
    params,
    response: { 200: MessageBatchAnswer, ...ofOne, ...writing },
  }
  app.post(`${url}/:message_batch_id/cancel`, { config, schema: cancel }, async (request) =>
    (await batches()).cancelMessageBatch(
      databaseOf(request.caller.name, db),
      request,
      request.params.message_batch_id,
    ),
  )
  const remove = {
    summary: 'Delete a batch of messages that has ended, with its results',
    tags,
    params,
    response: { 200: MessageBatchDeleted, ...ofOne, ...writing },
  }
  app.delete(`${url}/:message_batch_id`, { config, schema: remove }, async ({ caller, params }) =>
    (await batches()).deleteMessageBatch(databaseOf(caller.name, db), caller, params.message_batch_id),
  )
}

export const messageBatchRoutes = family(create, read, end)
