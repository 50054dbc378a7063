import { type Routes, recordRefusals, refusing } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonLines } from '../../http/json-lines.ts'
import { sendJsonList } from '../../http/json-list.ts'
import type { Database } from '../../storage/database.ts'
import { family } from '../parts.ts'
import { nextItem, updateProgress } from './annotating.ts'
import {
  AddItemsAnswer,
  AddItemsBody,
  CreateAnswer,
  CreateBody,
  InProject,
  ItemAnswer,
  ItemPath,
  ItemsAnswer,
  NextAnswer,
  NextBody,
  ProgressBody,
  QueryBody,
  QueryItemsBody,
  QueueAnswer,
  QueuePath,
  QueueRecord,
  StatsAnswer,
  StatsBody,
  UpdateBody,
} from './contract.ts'
import { addItems, listItems } from './items.ts'
import { createQueue, deleteOneQueue, listQueues, readQueue, updateQueue } from './queues.ts'
import { queueStats } from './stats.ts'

const tags = ['annotation queues']
/** Where the project stands in the query and there is no body. */
const bodiless = refusing('entity_forbidden', 'invalid_request', 'annotation_queue_not_found')
const ofQueue = { ...recordRefusals, ...refusing('annotation_queue_not_found') }

type RoutePlugin = Routes<{ db: Database }>

const create: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Make an annotation queue',
    tags,
    body: CreateBody,
    response: { 200: CreateAnswer, ...recordRefusals },
  }
  app.post('/annotation_queues', { schema }, (request) => createQueue(db, request.caller, request.body))
}

const query: RoutePlugin = async (app, { db }) => {
  const type = 'application/x-ndjson'
  const schema = {
    summary: 'Find annotation queues, one JSON text a line',
    tags,
    body: QueryBody,
    response: {
      200: { description: 'JSON Lines', content: { [type]: { schema: QueueRecord } } },
      ...recordRefusals,
      ...refusing('query_too_slow'),
    },
  }
  app.post('/annotation_queues/query', { schema }, async (request, reply) => {
    const lines = listQueues(db, request.caller, request.body, disconnectSignal(reply))
    return sendJsonLines(reply, lines, type)
  })
}

const read: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Read an annotation queue',
    tags,
    params: QueuePath,
    querystring: InProject,
    response: { 200: QueueAnswer, ...bodiless },
  }
  app.get('/annotation_queues/:queue_id', { schema }, (request) =>
    readQueue(db, request.caller, { ...request.params, ...request.query }),
  )
}

const update: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Change an annotation queue',
    tags,
    params: QueuePath,
    body: UpdateBody,
    response: { 200: QueueAnswer, ...ofQueue },
  }
  app.put('/annotation_queues/:queue_id', { schema }, (request) =>
    updateQueue(db, request.caller, request.params.queue_id, request.body),
  )
}

const remove: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Delete an annotation queue',
    tags,
    params: QueuePath,
    querystring: InProject,
    response: { 200: QueueAnswer, ...bodiless },
  }
  app.delete('/annotation_queues/:queue_id', { schema }, (request) =>
    deleteOneQueue(db, request.caller, { ...request.params, ...request.query }),
  )
}

const add: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Put calls into an annotation queue; safe to re-send',
    tags,
    params: QueuePath,
    body: AddItemsBody,
    response: { 200: AddItemsAnswer, ...ofQueue, ...refusing('too_many_ids') },
  }
  app.post('/annotation_queues/:queue_id/items', { schema }, (request) =>
    addItems(db, request.caller, request.params.queue_id, request.body),
  )
}

const queryItems: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Find the items of an annotation queue',
    tags,
    params: QueuePath,
    body: QueryItemsBody,
    response: { 200: ItemsAnswer, ...ofQueue, ...refusing('query_too_slow') },
  }
  app.post('/annotation_queues/:queue_id/items/query', { schema }, async (request, reply) => {
    const { queue_id } = request.params
    const items = await listItems(db, request.caller, queue_id, request.body, disconnectSignal(reply))
    return sendJsonList(reply, 'items', items)
  })
}

const progress: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Say how far you are with an item',
    tags,
    params: ItemPath,
    body: ProgressBody,
    response: {
      200: ItemAnswer,
      ...ofQueue,
      ...refusing('queue_item_not_found', 'annotation_state_conflict'),
    },
  }
  app.post('/annotation_queues/:queue_id/items/:item_id/progress', { schema }, (request) =>
    updateProgress(db, request.caller, request.params, request.body),
  )
}

const next: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Take the next open item and lease it',
    tags,
    params: QueuePath,
    body: NextBody,
    response: { 200: NextAnswer, ...ofQueue },
  }
  app.post('/annotation_queues/:queue_id/next', { schema }, (request) =>
    nextItem(db, request.caller, request.params.queue_id, request.body),
  )
}

const stats: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Count the items of annotation queues by state and by annotator',
    tags,
    body: StatsBody,
    response: { 200: StatsAnswer, ...recordRefusals, ...refusing('too_many_ids', 'query_too_slow') },
  }
  app.post('/annotation_queues/stats', { schema }, (request, reply) =>
    queueStats(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const queueRoutes = family(create, query, read, update, remove, add, queryItems, progress, next, stats)
