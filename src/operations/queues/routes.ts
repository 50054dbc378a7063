import { answers, jsonLinesOf, refusing } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonLines, sendJsonList } from '../../http/streamed-answers.ts'
import { family, type Operation } from '../parts.ts'
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
const notFound = 'annotation_queue_not_found'
/** Of routes without a body, which name the project in the query. */
const bodiless = refusing('entity_forbidden', 'invalid_request', notFound)

const create: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Make an annotation queue',
    tags,
    body: CreateBody,
    response: answers(CreateAnswer),
  }
  app.post('/annotation_queues', { schema }, (request) => createQueue(db, request.caller, request.body))
}

const query: Operation = async (app, { db }) => {
  const type = 'application/x-ndjson'
  const schema = {
    summary: 'Find annotation queues, one JSON text a line',
    tags,
    body: QueryBody,
    response: answers(jsonLinesOf(QueueRecord, type), 'query_too_slow'),
  }
  app.post('/annotation_queues/query', { schema }, async (request, reply) => {
    const lines = listQueues(db, request.caller, request.body, disconnectSignal(reply))
    return sendJsonLines(reply, lines, type)
  })
}

const read: Operation = async (app, { db }) => {
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

const update: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Change an annotation queue',
    tags,
    params: QueuePath,
    body: UpdateBody,
    response: answers(QueueAnswer, notFound),
  }
  app.put('/annotation_queues/:queue_id', { schema }, (request) =>
    updateQueue(db, request.caller, request.params.queue_id, request.body),
  )
}

const remove: Operation = async (app, { db }) => {
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

const add: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Put calls into an annotation queue; safe to re-send',
    tags,
    params: QueuePath,
    body: AddItemsBody,
    response: answers(AddItemsAnswer, notFound, 'too_many_ids'),
  }
  app.post('/annotation_queues/:queue_id/items', { schema }, (request) =>
    addItems(db, request.caller, request.params.queue_id, request.body),
  )
}

const queryItems: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Find the items of an annotation queue',
    tags,
    params: QueuePath,
    body: QueryItemsBody,
    response: answers(ItemsAnswer, notFound, 'query_too_slow'),
  }
  app.post('/annotation_queues/:queue_id/items/query', { schema }, async (request, reply) => {
    const { queue_id } = request.params
    const items = await listItems(db, request.caller, queue_id, request.body, disconnectSignal(reply))
    return sendJsonList(reply, 'items', items)
  })
}

const progress: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Say how far you are with an item',
    tags,
    params: ItemPath,
    body: ProgressBody,
    response: answers(ItemAnswer, notFound, 'queue_item_not_found', 'annotation_state_conflict'),
  }
  app.post('/annotation_queues/:queue_id/items/:item_id/progress', { schema }, (request) =>
    updateProgress(db, request.caller, request.params, request.body),
  )
}

const next: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Take the next open item and lease it',
    tags,
    params: QueuePath,
    body: NextBody,
    response: answers(NextAnswer, notFound),
  }
  app.post('/annotation_queues/:queue_id/next', { schema }, (request) =>
    nextItem(db, request.caller, request.params.queue_id, request.body),
  )
}

const stats: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Count the items of annotation queues by state and by annotator',
    tags,
    body: StatsBody,
    response: answers(StatsAnswer, 'too_many_ids', 'query_too_slow'),
  }
  app.post('/annotation_queues/stats', { schema }, (request, reply) =>
    queueStats(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const queueRoutes = family(create, query, read, update, remove, add, queryItems, progress, next, stats)
