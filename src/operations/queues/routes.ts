import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines, sendJsonList } from '../../http/streams/streamed-answers.ts'
import { NamedQuery } from '../paging-contract.ts'
import { family, operationsUnder } from '../parts.ts'
import * as contract from './contract.ts'
import { addItems, listItems, nextItem, releaseItem, reopenItem, updateProgress } from './items.ts'
import { createQueue, deleteOneQueue, listQueues, readQueue, updateQueue } from './queues.ts'
import { queueStats } from './stats.ts'

const operation = operationsUnder('annotation queues')
const notFound = 'annotation_queue_not_found'
const ndjson = 'application/x-ndjson'

export const queueRoutes = family(
  operation('POST', '/annotation_queues', {
    right: 'write',
    summary: 'Create an annotation queue',
    body: contract.CreateBody,
    answer: contract.CreateAnswer,
    refusals: ['invalid_value'],
    rule: ({ db }, { caller, body }) => createQueue(db, caller, body),
  }),
  operation('POST', '/annotation_queues/query', {
    right: 'read_queues',
    summary: 'Find annotation queues, as JSON Lines',
    body: NamedQuery,
    answer: jsonLinesOf(contract.QueueRecord, ndjson),
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, body }, reply) => sendJsonLines(reply, listQueues(db, caller, body), ndjson),
  }),
  operation('GET', '/annotation_queues/:queue_id', {
    right: 'read_queues',
    summary: 'Read an annotation queue',
    params: contract.QueuePath,
    querystring: contract.InProject,
    answer: contract.QueueAnswer,
    refusals: [notFound],
    rule: ({ db }, { caller, params, query }) => readQueue(db, caller, { ...params, ...query }),
  }),
  operation('PUT', '/annotation_queues/:queue_id', {
    right: 'write',
    summary: 'Update an annotation queue',
    params: contract.QueuePath,
    body: contract.UpdateBody,
    answer: contract.QueueAnswer,
    refusals: [notFound, 'invalid_value', 'queue_in_review'],
    rule: ({ db }, { caller, body, params }) => updateQueue(db, caller, params.queue_id, body),
  }),
  operation('DELETE', '/annotation_queues/:queue_id', {
    right: 'write',
    summary: 'Delete an annotation queue',
    params: contract.QueuePath,
    querystring: contract.InProject,
    answer: contract.QueueAnswer,
    refusals: [notFound],
    rule: ({ db }, { caller, params, query }) => deleteOneQueue(db, caller, { ...params, ...query }),
  }),
  operation('POST', '/annotation_queues/:queue_id/items', {
    right: 'write',
    summary: 'Add calls to an annotation queue; safe to retry',
    params: contract.QueuePath,
    body: contract.AddItemsBody,
    answer: contract.AddItemsAnswer,
    refusals: [notFound, 'invalid_value', 'too_many_ids', 'record_refuses_writes'],
    rule: (services, { caller, body, params }) => addItems(services, caller, params.queue_id, body),
  }),
  operation('POST', '/annotation_queues/:queue_id/items/query', {
    right: 'read_queues',
    summary: 'Find the items of an annotation queue',
    params: contract.QueuePath,
    body: contract.QueryItemsBody,
    answer: contract.ItemsAnswer,
    refusals: [notFound, 'query_too_slow'],
    rule: async (services, { caller, body, params }, reply) => {
      const { queue_id } = params
      const items = await listItems(services, caller, queue_id, body)
      return sendJsonList(reply, 'items', items)
    },
  }),
  operation('POST', '/annotation_queues/:queue_id/items/:item_id/progress', {
    right: 'review',
    summary: 'Set your state of an item',
    params: contract.ItemPath,
    body: contract.ProgressBody,
    answer: contract.ItemAnswer,
    refusals: [
      notFound,
      'queue_item_not_found',
      'annotation_state_conflict',
      'not_a_reviewer',
      'item_not_disputed',
    ],
    rule: ({ db }, { caller, body, params }) => updateProgress(db, caller, params, body),
  }),
  operation('POST', '/annotation_queues/:queue_id/items/:item_id/release', {
    right: 'review',
    summary: 'Release your lease of an item',
    params: contract.ItemPath,
    body: contract.InProject,
    answer: contract.ItemAnswer,
    refusals: [notFound, 'queue_item_not_found'],
    rule: ({ db }, { caller, body, params }) => releaseItem(db, caller, params, body),
  }),
  operation('POST', '/annotation_queues/:queue_id/items/:item_id/reopen', {
    right: 'review',
    summary: 'Undo that you completed or skipped an item',
    params: contract.ItemPath,
    body: contract.InProject,
    answer: contract.ItemAnswer,
    refusals: [notFound, 'queue_item_not_found', 'annotation_state_conflict'],
    rule: ({ db }, { caller, body, params }) => reopenItem(db, caller, params, body),
  }),
  operation('POST', '/annotation_queues/:queue_id/next', {
    right: 'review',
    summary: 'Lease the next open item',
    params: contract.QueuePath,
    body: contract.NextBody,
    answer: contract.NextAnswer,
    refusals: [notFound, 'not_a_reviewer'],
    rule: ({ db }, { caller, body, params }) => nextItem(db, caller, params.queue_id, body),
  }),
  operation('POST', '/annotation_queues/:queue_id/preferences', {
    right: 'read',
    summary: 'Which answers reviewers of pairs prefer, by model, op or prompt version',
    params: contract.QueuePath,
    body: contract.PreferencesBody,
    answer: contract.PreferencesAnswer,
    refusals: [notFound, 'query_too_slow'],
    rule: async (services, { caller, body, params }) => {
      const { readPreferences } = await import('./preferences.ts')
      return readPreferences(services, caller, params.queue_id, body)
    },
  }),
  operation('POST', '/annotation_queues/stats', {
    right: 'read_queues',
    summary: 'Count the items of annotation queues by state and by annotator',
    body: contract.StatsBody,
    answer: contract.StatsAnswer,
    refusals: ['too_many_ids', 'query_too_slow'],
    rule: ({ db }, { caller, body }) => queueStats(db, caller, body),
  }),
)
