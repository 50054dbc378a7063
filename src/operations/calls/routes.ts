import { projectPath } from '../../domain/fields.ts'
import { type Routes, recordRefusals, refusing } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonLines } from '../../http/json-lines.ts'
import type { Database } from '../../storage/database.ts'
import { family } from '../parts.ts'
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
import { deleteSomeCalls } from './delete.ts'
import { endCall, renameCall, startCall, upsertBatch, writeComplete } from './ingest.ts'
import { countSomeCalls, queryCalls } from './query.ts'
import { readOneCall } from './read.ts'

const tags = ['calls']
/** Of routes that write values of any size. */
const config = { largeBodies: true }

export interface CallRoutes {
  db: Database
  retentionDays: number
}

type RoutePlugin = Routes<CallRoutes>

const start: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'Start a call',
    tags,
    body: StartBody,
    response: { 200: StartAnswer, ...recordRefusals },
  }
  app.post('/call/start', { schema, config }, (request) =>
    startCall(options, request.caller, request.body.start),
  )
}

const end: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'End a call',
    tags,
    body: EndBody,
    response: { 200: EmptyAnswer, ...recordRefusals },
  }
  app.post('/call/end', { schema, config }, async (request) => {
    await endCall(options, request.caller, request.body.end)
    return {}
  })
}

const batch: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'Start and end many calls, in any order; safe to re-send',
    tags,
    body: UpsertBatchBody,
    response: { 200: UpsertBatchAnswer, ...recordRefusals },
  }
  app.post('/call/upsert_batch', { schema, config }, (request) =>
    upsertBatch(options, request.caller, request.body),
  )
}

const complete: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'Write calls that have ended',
    tags,
    params: projectPath,
    body: CompleteBody,
    response: { 200: EmptyAnswer, ...recordRefusals, ...refusing('invalid_value') },
  }
  app.post('/v2/:entity/:project/calls/complete', { schema, config }, async (request) => {
    const { entity, project } = request.params
    await writeComplete(options, request.caller, `${entity}/${project}`, request.body)
    return {}
  })
}

const read: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Read a call',
    tags,
    body: ReadBody,
    response: { 200: ReadAnswer, ...recordRefusals, ...refusing('call_not_found') },
  }
  app.post('/call/read', { schema }, (request) => readOneCall(db, request.caller, request.body))
}

const update: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'Rename a call',
    tags,
    body: UpdateBody,
    response: { 200: EmptyAnswer, ...recordRefusals },
  }
  app.post('/call/update', { schema }, async (request) => {
    await renameCall(options, request.caller, request.body)
    return {}
  })
}

const remove: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Delete calls and what they called',
    tags,
    body: DeleteBody,
    response: { 200: DeleteAnswer, ...recordRefusals, ...refusing('too_many_ids') },
  }
  app.post('/calls/delete', { schema }, (request) => deleteSomeCalls(db, request.caller, request.body))
}

const streamQuery: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Find calls, one JSON text a line',
    tags,
    body: StreamQueryBody,
    response: {
      200: { description: 'JSON Lines', content: { 'application/jsonl': { schema: CallRecord } } },
      ...recordRefusals,
      ...refusing('invalid_value', 'query_too_slow'),
    },
  }
  app.post('/calls/stream_query', { schema }, async (request, reply) => {
    const lines = await queryCalls(db, request.caller, request.body, disconnectSignal(reply))
    return sendJsonLines(reply, lines)
  })
}

const queryStats: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Count calls',
    tags,
    body: QueryStatsBody,
    response: { 200: QueryStatsAnswer, ...recordRefusals, ...refusing('invalid_value', 'query_too_slow') },
  }
  app.post('/calls/query_stats', { schema }, (request, reply) =>
    countSomeCalls(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const callRoutes = family(start, end, batch, complete, read, update, remove, streamQuery, queryStats)
