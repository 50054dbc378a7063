import { openAiRefusalContracts, type Routes, wireRoutes } from '../../http/contracts.ts'
import { databaseOf } from '../../storage/database.ts'
import { family, type OperationParts, refusalsOfBatches } from '../parts.ts'
import { BatchAnswer, BatchesQuery, BatchList, BatchPath, CreateBatchBody } from './contract.ts'

type RoutePlugin = Routes<OperationParts>

/** Loaded with the first request. */
const batches = () => import('./batches.ts')

const route = wireRoutes('batches', openAiRefusalContracts)
const url = '/v1/batches/:batch_id'
const refused = ['batch_not_found', 'invalid_request', 'entity_forbidden'] as const

const create: RoutePlugin = async (app, { db }) => {
  const about = route(
    'infer',
    'Have the requests of a file answered in the background',
    BatchAnswer,
    { description: 'Compatible with OpenAI: docs/batches.md.', body: CreateBatchBody },
    ...refused,
    ...refusalsOfBatches,
  )
  app.post('/v1/batches', about, async (request) =>
    (await batches()).createBatch(databaseOf(request.caller.name, db), request, request.body),
  )
}

const read: RoutePlugin = async (app, { db }) => {
  const list = route('infer', 'List batches', BatchList, { querystring: BatchesQuery }, ...refused)
  app.get('/v1/batches', list, async ({ caller, query }) =>
    (await batches()).listOwnBatches(databaseOf(caller.name, db), caller, query),
  )
  const state = route('infer', 'Read a batch', BatchAnswer, { params: BatchPath }, ...refused)
  app.get(url, state, async ({ caller, params }) =>
    (await batches()).readOneBatch(databaseOf(caller.name, db), caller, params.batch_id),
  )
}

const cancel: RoutePlugin = async (app, { db }) => {
  const codes = [...refused, 'batch_ended', 'record_refuses_writes'] as const
  const about = route('infer', 'Cancel a batch', BatchAnswer, { params: BatchPath }, ...codes)
  app.post(`${url}/cancel`, about, async ({ caller, params }) =>
    (await batches()).cancelOneBatch(databaseOf(caller.name, db), caller, params.batch_id),
  )
}

export const batchRoutes = family(create, read, cancel)
