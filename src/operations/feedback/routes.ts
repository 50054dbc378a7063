import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import { family, operationsUnder } from '../parts.ts'
import * as contract from './contract.ts'
import { createFeedback, createFeedbackBatch, replaceOneFeedback } from './create.ts'
import { purgeFeedback, queryFeedback } from './query.ts'

const operation = operationsUnder('feedback')

const refused = [
  'invalid_value',
  'object_not_found',
  'feedback_conflict',
  'annotation_state_conflict',
  'record_refuses_writes',
] as const

export const feedbackRoutes = family(
  operation('POST', '/feedback/create', {
    right: 'review',
    summary: 'Create feedback on a call, an object, or anything else',
    body: contract.FeedbackGiven,
    answer: contract.FeedbackAnswer,
    refusals: [...refused],
    largeBodies: true,
    rule: (intake, { caller, body }) => createFeedback(intake, caller, body),
  }),
  operation('POST', '/feedback/batch/create', {
    right: 'review',
    summary: 'Create feedback in a batch, all or none',
    body: contract.BatchBody,
    answer: contract.BatchAnswer,
    refusals: [...refused, 'too_many_ids'],
    largeBodies: true,
    rule: (intake, { caller, body }) => createFeedbackBatch(intake, caller, body),
  }),
  operation('POST', '/feedback/query', {
    right: 'read_queues',
    summary: 'Find feedback',
    body: contract.QueryBody,
    answer: contract.QueryAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: async (services, { caller, body }, reply) => {
      const { records, totals } = await queryFeedback(services, caller, body, services.signal)
      return sendJsonList(reply, 'result', records, totals)
    },
  }),
  operation('POST', '/feedback/purge', {
    right: 'review',
    summary: 'Delete feedback by id',
    body: contract.PurgeBody,
    answer: contract.PurgeAnswer,
    refusals: ['annotation_state_conflict'],
    rule: ({ db }, { caller, body }) => purgeFeedback(db, caller, body),
  }),
  operation('POST', '/feedback/replace', {
    right: 'review',
    summary: 'Replace feedback',
    body: contract.ReplaceBody,
    answer: contract.FeedbackAnswer,
    refusals: [...refused],
    largeBodies: true,
    rule: (intake, { caller, body }) => replaceOneFeedback(intake, caller, body),
  }),
)
