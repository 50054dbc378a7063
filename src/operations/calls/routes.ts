import { projectOf, projectPath } from '../../domain/fields.ts'
import { answers, jsonLinesOf } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonLines } from '../../http/streamed-answers.ts'
import { family, type Operation } from '../parts.ts'
import {
  CallRecord,
  CompleteBody,
  DeleteAnswer,
  DeleteBody,
  EmptyAnswer,
  EndBody,
  QueryStatsAnswer,
  QueryStatsBody,
  ReadAnswer,
  ReadBody,
  StartAnswer,
  StartBody,
  StreamQueryBody,
  UpdateBody,
  UpsertBatchAnswer,
  UpsertBatchBody,
} from './contract.ts'
import { countSomeCalls, queryCalls } from './query.ts'
import { readOneCall } from './record.ts'
import { deleteSomeCalls, endCall, renameCall, startCall, upsertBatch, writeComplete } from './write.ts'

const tags = ['calls']
/** Of routes that write values of any size. */
const config = { largeBodies: true }

const start: Operation = async (app, options) => {
  const schema = { summary: 'Start a call', tags, body: StartBody, response: answers(StartAnswer) }
  app.post('/call/start', { schema, config }, (request) =>
    startCall(options, request.caller, request.body.start),
  )
}

const end: Operation = async (app, options) => {
  const schema = { summary: 'End a call', tags, body: EndBody, response: answers(EmptyAnswer) }
  app.post('/call/end', { schema, config }, async (request) => {
    await endCall(options, request.caller, request.body.end)
    return {}
  })
}

const batch: Operation = async (app, options) => {
  const schema = {
    summary: 'Start and end many calls, in any order; safe to re-send',
    tags,
    body: UpsertBatchBody,
    response: answers(UpsertBatchAnswer),
  }
  app.post('/call/upsert_batch', { schema, config }, (request) =>
    upsertBatch(options, request.caller, request.body),
  )
}

const complete: Operation = async (app, options) => {
  const schema = {
    summary: 'Write calls that have ended',
    tags,
    params: projectPath,
    body: CompleteBody,
    response: answers(EmptyAnswer, 'invalid_value'),
  }
  app.post('/v2/:entity/:project/calls/complete', { schema, config }, async (request) => {
    await writeComplete(options, request.caller, projectOf(request.params), request.body)
    return {}
  })
}

const read: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Read a call',
    tags,
    body: ReadBody,
    response: answers(ReadAnswer, 'call_not_found'),
  }
  app.post('/call/read', { schema }, (request) => readOneCall(db, request.caller, request.body))
}

const update: Operation = async (app, options) => {
  const schema = { summary: 'Rename a call', tags, body: UpdateBody, response: answers(EmptyAnswer) }
  app.post('/call/update', { schema }, async (request) => {
    await renameCall(options, request.caller, request.body)
    return {}
  })
}

const remove: Operation = async (app, options) => {
  const schema = {
    summary: 'Delete calls and what they called',
    tags,
    body: DeleteBody,
    response: answers(DeleteAnswer, 'too_many_ids'),
  }
  app.post('/calls/delete', { schema }, (request) => deleteSomeCalls(options, request.caller, request.body))
}

const streamQuery: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Find calls, one JSON text a line',
    tags,
    body: StreamQueryBody,
    response: answers(jsonLinesOf(CallRecord), 'invalid_value', 'query_too_slow'),
  }
  app.post('/calls/stream_query', { schema }, async (request, reply) => {
    const lines = await queryCalls(db, request.caller, request.body, disconnectSignal(reply))
    return sendJsonLines(reply, lines)
  })
}

const queryStats: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Count calls',
    tags,
    body: QueryStatsBody,
    response: answers(QueryStatsAnswer, 'invalid_value', 'query_too_slow'),
  }
  app.post('/calls/query_stats', { schema }, (request, reply) =>
    countSomeCalls(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const callRoutes = family(start, end, batch, complete, read, update, remove, streamQuery, queryStats)
