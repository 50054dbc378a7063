import { openAiRefusalContracts, type Routes } from '../../http/contracts.ts'
import { databaseOf } from '../../storage/database.ts'
import { family, type OperationParts } from '../parts.ts'
import { BatchAnswer, BatchesQuery, BatchList, BatchPath, CreateBatchBody } from './contract.ts'

type RoutePlugin = Routes<OperationParts>

/** Loaded with the first request. */
const batches = () => import('./batches.ts')

const tags = ['batches']
const config = { right: 'infer' } as const
const refusals = openAiRefusalContracts('batch_not_found', 'invalid_request', 'entity_forbidden')
const writing = openAiRefusalContracts(
  'malformed_json',
  'unsupported_media_type',
  'body_too_large',
  'batch_needs_key',
  'too_many_batches',
  'record_refuses_writes',
)

const create: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Have the requests of a file answered in the background',
    description: 'Compatible with OpenAI: docs/batches.md.',
    tags,
    body: CreateBatchBody,
    response: { 200: BatchAnswer, ...refusals, ...writing },
  }
  app.post('/v1/batches', { config, schema }, async (request) =>
    (await batches()).createBatch(databaseOf(request.caller.name, db), request, request.body),
  )
}

const read: RoutePlugin = async (app, { db }) => {
  const list = {
    summary: 'List batches',
    tags,
    querystring: BatchesQuery,
    response: { 200: BatchList, ...refusals },
  }
  app.get('/v1/batches', { config, schema: list }, async ({ caller, query }) =>
    (await batches()).listOwnBatches(databaseOf(caller.name, db), caller, query),
  )
  const schema = {
    summary: 'Read a batch',
    tags,
    params: BatchPath,
    response: { 200: BatchAnswer, ...refusals },
  }
  app.get('/v1/batches/:batch_id', { config, schema }, async ({ caller, params }) =>
    (await batches()).readOneBatch(databaseOf(caller.name, db), caller, params.batch_id),
  )
}

const cancel: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Cancel a batch',
    tags,
    params: BatchPath,
    response: {
      200: BatchAnswer,
      ...refusals,
      ...openAiRefusalContracts('batch_ended', 'record_refuses_writes'),
    },
  }
  app.post('/v1/batches/:batch_id/cancel', { config, schema }, async ({ caller, params }) =>
    (await batches()).cancelOneBatch(databaseOf(caller.name, db), caller, params.batch_id),
  )
}

export const batchRoutes = family(create, read, cancel)
