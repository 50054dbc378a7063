import { answers } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonList } from '../../http/streamed-answers.ts'
import { family, type Operation } from '../parts.ts'
import {
  BatchAnswer,
  BatchBody,
  FeedbackAnswer,
  FeedbackGiven,
  PurgeAnswer,
  PurgeBody,
  QueryAnswer,
  QueryBody,
  ReplaceBody,
} from './contract.ts'
import { createFeedback, createFeedbackBatch, replaceOneFeedback } from './create.ts'
import { purgeFeedback, queryFeedback } from './query.ts'

const tags = ['feedback']

/** Of routes that write values of any size. */
const config = { largeBodies: true }
const refused = ['invalid_value', 'object_not_found', 'feedback_conflict'] as const

const create: Operation = async (app, intake) => {
  const schema = {
    summary: 'Say something about a call, an object, or anything else',
    tags,
    body: FeedbackGiven,
    response: answers(FeedbackAnswer, ...refused),
  }
  app.post('/feedback/create', { schema, config }, (request) =>
    createFeedback(intake, request.caller, request.body),
  )
}

const batch: Operation = async (app, intake) => {
  const schema = {
    summary: 'Create many feedbacks, or none',
    tags,
    body: BatchBody,
    response: answers(BatchAnswer, ...refused, 'too_many_ids'),
  }
  app.post('/feedback/batch/create', { schema, config }, (request) =>
    createFeedbackBatch(intake, request.caller, request.body),
  )
}

const query: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Find feedback',
    tags,
    body: QueryBody,
    response: answers(QueryAnswer, 'invalid_value', 'query_too_slow'),
  }
  app.post('/feedback/query', { schema }, async (request, reply) => {
    const { records, total } = await queryFeedback(db, request.caller, request.body, disconnectSignal(reply))
    return sendJsonList(reply, 'result', records, { total_count: total })
  })
}

const purge: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Remove feedback by its ids',
    tags,
    body: PurgeBody,
    response: answers(PurgeAnswer),
  }
  app.post('/feedback/purge', { schema }, async (request) => {
    await purgeFeedback(db, request.caller, request.body)
    return {}
  })
}

const replace: Operation = async (app, intake) => {
  const schema = {
    summary: 'Put a new feedback in the place of one',
    tags,
    body: ReplaceBody,
    response: answers(FeedbackAnswer, ...refused),
  }
  app.post('/feedback/replace', { schema, config }, (request) =>
    replaceOneFeedback(intake, request.caller, request.body),
  )
}

export const feedbackRoutes = family(create, batch, query, purge, replace)
