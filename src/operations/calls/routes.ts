import { z } from 'zod'
import { type App, recordRefusals, refusing } from '../../http/contracts.ts'
import { departureOf } from '../../http/departure.ts'
import { sendJsonLines } from '../../http/json-lines.ts'
import type { Database } from '../../storage/database.ts'
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
import { countSomeCalls, streamCalls } from './query.ts'
import { readOneCall } from './read.ts'

const tags = ['calls']
const Project = z.object({ entity: z.string().min(1).max(128), project: z.string().min(1).max(128) })

export function callRoutes(app: App, db: Database, retentionDays: number): void {
  const ingest = { db, retentionDays }

  app.post(
    '/call/start',
    {
      schema: {
        summary: 'Start a call',
        tags,
        body: StartBody,
        response: { 200: StartAnswer, ...recordRefusals },
      },
    },
    (request) => startCall(ingest, request.caller, request.body.start),
  )

  app.post(
    '/call/end',
    {
      schema: {
        summary: 'End a call',
        tags,
        body: EndBody,
        response: { 200: EmptyAnswer, ...recordRefusals },
      },
    },
    async (request) => {
      await endCall(ingest, request.caller, request.body.end)
      return {}
    },
  )

  app.post(
    '/call/upsert_batch',
    {
      schema: {
        summary: 'Start and end many calls, in any order; safe to re-send',
        tags,
        body: UpsertBatchBody,
        response: { 200: UpsertBatchAnswer, ...recordRefusals },
      },
    },
    (request) => upsertBatch(ingest, request.caller, request.body),
  )

  app.post(
    '/v2/:entity/:project/calls/complete',
    {
      schema: {
        summary: 'Write calls that have ended',
        tags,
        params: Project,
        body: CompleteBody,
        response: { 200: EmptyAnswer, ...recordRefusals, ...refusing('invalid_value') },
      },
    },
    async (request) => {
      const { entity, project } = request.params
      await writeComplete(ingest, request.caller, `${entity}/${project}`, request.body)
      return {}
    },
  )

  app.post(
    '/call/read',
    {
      schema: {
        summary: 'Read a call',
        tags,
        body: ReadBody,
        response: { 200: ReadAnswer, ...recordRefusals, ...refusing('call_not_found') },
      },
    },
    (request) => readOneCall(db, request.caller, request.body),
  )

  app.post(
    '/call/update',
    {
      schema: {
        summary: 'Rename a call',
        tags,
        body: UpdateBody,
        response: { 200: EmptyAnswer, ...recordRefusals },
      },
    },
    async (request) => {
      await renameCall(ingest, request.caller, request.body)
      return {}
    },
  )

  app.post(
    '/calls/delete',
    {
      schema: {
        summary: 'Delete calls and what they called',
        tags,
        body: DeleteBody,
        response: { 200: DeleteAnswer, ...recordRefusals, ...refusing('too_many_ids') },
      },
    },
    (request) => deleteSomeCalls(db, request.caller, request.body),
  )

  app.post(
    '/calls/stream_query',
    {
      schema: {
        summary: 'Find calls, one JSON text a line',
        tags,
        body: StreamQueryBody,
        response: {
          200: { description: 'JSON Lines', content: { 'application/jsonl': { schema: CallRecord } } },
          ...recordRefusals,
          ...refusing('invalid_value', 'query_too_slow'),
        },
      },
    },
    async (request, reply) => {
      const lines = await streamCalls(db, request.caller, request.body, departureOf(reply))
      return sendJsonLines(reply, lines)
    },
  )

  app.post(
    '/calls/query_stats',
    {
      schema: {
        summary: 'Count calls',
        tags,
        body: QueryStatsBody,
        response: {
          200: QueryStatsAnswer,
          ...recordRefusals,
          ...refusing('invalid_value', 'query_too_slow'),
        },
      },
    },
    (request, reply) => countSomeCalls(db, request.caller, request.body, departureOf(reply)),
  )
}
