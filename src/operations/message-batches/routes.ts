import { anthropicRefusalContracts, jsonLinesOf, type Routes, wireRoutes } from '../../http/contracts.ts'
import { sendChunks } from '../../http/streams/streamed-answers.ts'
import { databaseOf } from '../../storage/database.ts'
import { family, type OperationParts, refusalsOfBatches } from '../parts.ts'
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
const route = wireRoutes('messages', anthropicRefusalContracts)
const params = MessageBatchPath
const refused = ['invalid_request', 'entity_forbidden'] as const
const ofOne = [...refused, 'batch_not_found'] as const

const create: RoutePlugin = async (app, { db, batchLines }) => {
  const description = 'docs/batches.md describes it. The header x-heddle-project names the project.'
  const { config, schema } = route(
    'infer',
    'Have many messages answered in the background, compatible with Anthropic',
    MessageBatchAnswer,
    { description, body: CreateMessageBatchBody },
    ...refused,
    ...refusalsOfBatches,
  )
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
  const querystring = MessageBatchesQuery
  const list = route('infer', 'List batches of messages', MessageBatchList, { querystring }, ...refused)
  app.get(url, list, async (request) =>
    (await batches()).listMessageBatches(databaseOf(request.caller.name, db), request, request.query),
  )
  const state = route('infer', 'Read a batch of messages', MessageBatchAnswer, { params }, ...ofOne)
  app.get(`${url}/:message_batch_id`, state, async (request) =>
    (await batches()).readMessageBatch(
      databaseOf(request.caller.name, db),
      request,
      request.params.message_batch_id,
    ),
  )
  const lines = jsonLinesOf(MessageBatchResult, 'application/x-jsonl')
  const results = route('infer', 'Read the results of a batch of messages', lines, { params }, ...ofOne)
  app.get(`${url}/:message_batch_id/results`, results, async (request, reply) => {
    const own = databaseOf(request.caller.name, db)
    const { resultsOf } = await batches()
    const { size, pieces } = await resultsOf(own, request.caller, request.params.message_batch_id)
    reply.header('content-length', size)
    return sendChunks(reply, 'application/x-jsonl', pieces)
  })
}

const end: RoutePlugin = async (app, { db }) => {
  const refusals = [...ofOne, 'record_refuses_writes'] as const
  const cancel = route('infer', 'Cancel a batch of messages', MessageBatchAnswer, { params }, ...refusals)
  app.post(`${url}/:message_batch_id/cancel`, cancel, async (request) =>
    (await batches()).cancelMessageBatch(
      databaseOf(request.caller.name, db),
      request,
      request.params.message_batch_id,
    ),
  )
  const summary = 'Delete a batch of messages that has ended, with its results'
  const remove = route('infer', summary, MessageBatchDeleted, { params }, ...refusals)
  app.delete(`${url}/:message_batch_id`, remove, async ({ caller, params }) =>
    (await batches()).deleteMessageBatch(databaseOf(caller.name, db), caller, params.message_batch_id),
  )
}

export const messageBatchRoutes = family(create, read, end)
