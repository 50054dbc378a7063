import { projectOf, projectPath } from '../../domain/fields.ts'
import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines, sendJsonList } from '../../http/streams/streamed-answers.ts'
import { family, operationsUnder } from '../parts.ts'
import {
  CallRecord,
  CompleteBody,
  DeleteAnswer,
  DeleteBody,
  EmptyAnswer,
  EndBody,
  QueryAnswer,
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
import {
  deleteSomeCalls,
  endCall,
  endCallOf,
  renameCall,
  startCall,
  startCallOf,
  upsertBatch,
  writeComplete,
} from './write.ts'

const operation = operationsUnder('calls')

export const callRoutes = family(
  operation('POST', '/call/start', {
    right: 'write_calls',
    summary: 'Start a call',
    body: StartBody,
    answer: StartAnswer,
    largeBodies: true,
    rule: (options, { caller, body }) => startCall(options, caller, body.start),
  }),
  operation('POST', '/call/end', {
    right: 'write_calls',
    summary: 'End a call',
    body: EndBody,
    answer: EmptyAnswer,
    largeBodies: true,
    rule: (options, { caller, body }) => endCall(options, caller, body.end),
  }),
  operation('POST', '/call/upsert_batch', {
    right: 'write_calls',
    summary: 'Start and end many calls, in any order; safe to retry',
    body: UpsertBatchBody,
    answer: UpsertBatchAnswer,
    largeBodies: true,
    rule: (options, { caller, body }) => upsertBatch(options, caller, body),
  }),
  operation('POST', '/v2/:entity/:project/calls/complete', {
    right: 'write_calls',
    summary: 'Write calls that have ended',
    params: projectPath,
    body: CompleteBody,
    answer: EmptyAnswer,
    refusals: ['invalid_value'],
    largeBodies: true,
    rule: (options, { caller, body, params }) => writeComplete(options, caller, projectOf(params), body),
  }),
  operation('POST', '/v2/:entity/:project/call/start', {
    right: 'write_calls',
    summary: 'Start a call, like /call/start; for clients that write calls when they have ended',
    params: projectPath,
    body: StartBody,
    answer: StartAnswer,
    refusals: ['invalid_value'],
    largeBodies: true,
    rule: (options, { caller, body, params }) => startCallOf(options, caller, projectOf(params), body.start),
  }),
  operation('POST', '/v2/:entity/:project/call/end', {
    right: 'write_calls',
    summary: 'End a call, like /call/end; the start may arrive later',
    params: projectPath,
    body: EndBody,
    answer: EmptyAnswer,
    refusals: ['invalid_value'],
    largeBodies: true,
    rule: (options, { caller, body, params }) => endCallOf(options, caller, projectOf(params), body.end),
  }),
  operation('POST', '/call/read', {
    right: 'read_queues',
    summary: 'Read a call',
    body: ReadBody,
    answer: ReadAnswer,
    refusals: ['call_not_found', 'record_refuses_writes'],
    rule: (services, { caller, body }) => readOneCall(services, caller, body),
  }),
  operation('POST', '/call/update', {
    right: 'write_calls',
    summary: 'Rename a call',
    body: UpdateBody,
    answer: EmptyAnswer,
    refusals: ['call_not_found', 'record_refuses_writes'],
    rule: (options, { caller, body }) => renameCall(options, caller, body),
  }),
  operation('POST', '/calls/delete', {
    right: 'write',
    summary: 'Delete calls and their descendants',
    body: DeleteBody,
    answer: DeleteAnswer,
    refusals: ['too_many_ids', 'record_refuses_writes'],
    rule: (options, { caller, body }) => deleteSomeCalls(options, caller, body),
  }),
  operation('POST', '/calls/stream_query', {
    right: 'read',
    summary: 'Find calls, as JSON Lines',
    body: StreamQueryBody,
    answer: jsonLinesOf(CallRecord),
    refusals: ['invalid_value', 'query_too_slow'],
    rule: async (services, { caller, body }, reply) => {
      const lines = await queryCalls(services, caller, body)
      return sendJsonLines(reply, lines)
    },
  }),
  operation('POST', '/calls/query', {
    right: 'read',
    summary: 'Find calls, as one JSON object; for older clients of Weave',
    body: StreamQueryBody,
    answer: QueryAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: async (services, { caller, body }, reply) => {
      const calls = await queryCalls(services, caller, body)
      return sendJsonList(reply, 'calls', calls)
    },
  }),
  operation('POST', '/calls/query_stats', {
    right: 'read',
    summary: 'Count calls',
    body: QueryStatsBody,
    answer: QueryStatsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => countSomeCalls(services, caller, body),
  }),
)
