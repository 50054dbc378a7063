import { type Routes, recordRefusals, refusing } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonList } from '../../http/json-list.ts'
import { family } from '../parts.ts'
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
import { createFeedback, createFeedbackBatch, type FeedbackIntake, replaceOneFeedback } from './create.ts'
import { purgeFeedback, queryFeedback } from './query.ts'

const tags = ['feedback']

/** Of routes that write values of any size. */
const config = { largeBodies: true }
const refused = {
  ...recordRefusals,
  ...refusing('invalid_value', 'object_not_found', 'feedback_conflict'),
}

type RoutePlugin = Routes<FeedbackIntake>

const create: RoutePlugin = async (app, intake) => {
  const schema = {
    summary: 'Say something about a call, an object, or anything else',
    tags,
    body: FeedbackGiven,
    response: { 200: FeedbackAnswer, ...refused },
  }
  app.post('/feedback/create', { schema, config }, (request) =>
    createFeedback(intake, request.caller, request.body),
  )
}

const batch: RoutePlugin = async (app, intake) => {
  const schema = {
    summary: 'Create many feedbacks, or none',
    tags,
    body: BatchBody,
    response: { 200: BatchAnswer, ...refused, ...refusing('too_many_ids') },
  }
  app.post('/feedback/batch/create', { schema, config }, (request) =>
    createFeedbackBatch(intake, request.caller, request.body),
  )
}

const query: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Find feedback',
    tags,
    body: QueryBody,
    response: { 200: QueryAnswer, ...recordRefusals, ...refusing('invalid_value', 'query_too_slow') },
  }
  app.post('/feedback/query', { schema }, async (request, reply) => {
    const { records, total } = await queryFeedback(db, request.caller, request.body, disconnectSignal(reply))
    return sendJsonList(reply, 'result', records, { total_count: total })
  })
}

const purge: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Remove feedback by its ids',
    tags,
    body: PurgeBody,
    response: { 200: PurgeAnswer, ...recordRefusals },
  }
  app.post('/feedback/purge', { schema }, async (request) => {
    await purgeFeedback(db, request.caller, request.body)
    return {}
  })
}

const replace: RoutePlugin = async (app, intake) => {
  const schema = {
    summary: 'Put a new feedback in the place of one',
    tags,
    body: ReplaceBody,
    response: { 200: FeedbackAnswer, ...refused },
  }
  app.post('/feedback/replace', { schema, config }, (request) =>
    replaceOneFeedback(intake, request.caller, request.body),
  )
}

export const feedbackRoutes = family(create, batch, query, purge, replace)
