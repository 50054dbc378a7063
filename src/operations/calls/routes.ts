import { projectOf, projectPath } from '../../domain/fields.ts'
import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines, sendJsonList } from '../../http/streams/streamed-answers.ts'
import { family, operationsUnder } from '../parts.ts'
import * as contract from './contract.ts'
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
    body: contract.StartBody,
    answer: contract.StartAnswer,
    largeBodies: true,
    rule: (options, { caller, body }) => startCall(options, caller, body.start),
  }),
  operation('POST', '/call/end', {
    right: 'write_calls',
    summary: 'End a call',
    body: contract.EndBody,
    answer: contract.EmptyAnswer,
    largeBodies: true,
    rule: (options, { caller, body }) => endCall(options, caller, body.end),
  }),
  operation('POST', '/call/upsert_batch', {
    right: 'write_calls',
    summary: 'Start and end many calls, in any order; safe to retry',
    body: contract.UpsertBatchBody,
    answer: contract.UpsertBatchAnswer,
    largeBodies: true,
    rule: (options, { caller, body }) => upsertBatch(options, caller, body),
  }),
  operation('POST', '/v2/:entity/:project/calls/complete', {
    right: 'write_calls',
    summary: 'Write calls that have ended',
    params: projectPath,
    body: contract.CompleteBody,
    answer: contract.EmptyAnswer,
    refusals: ['invalid_value'],
    largeBodies: true,
    rule: (options, { caller, body, params }) => writeComplete(options, caller, projectOf(params), body),
  }),
  operation('POST', '/v2/:entity/:project/call/start', {
    right: 'write_calls',
    summary: 'Start a call, like /call/start; for clients that write calls when they have ended',
    params: projectPath,
    body: contract.StartBody,
    answer: contract.StartAnswer,
    refusals: ['invalid_value'],
    largeBodies: true,
    rule: (options, { caller, body, params }) => startCallOf(options, caller, projectOf(params), body.start),
  }),
  operation('POST', '/v2/:entity/:project/call/end', {
    right: 'write_calls',
    summary: 'End a call, like /call/end; the start may arrive later',
    params: projectPath,
    body: contract.EndBody,
    answer: contract.EmptyAnswer,
    refusals: ['invalid_value'],
    largeBodies: true,
    rule: (options, { caller, body, params }) => endCallOf(options, caller, projectOf(params), body.end),
  }),
  operation('POST', '/call/read', {
    right: 'read_queues',
    summary: 'Read a call',
    body: contract.ReadBody,
    answer: contract.ReadAnswer,
    refusals: ['call_not_found', 'record_refuses_writes'],
    rule: (services, { caller, body }) => readOneCall(services, caller, body),
  }),
  operation('POST', '/call/update', {
    right: 'write_calls',
    summary: 'Rename a call',
    body: contract.UpdateBody,
    answer: contract.EmptyAnswer,
    refusals: ['call_not_found', 'record_refuses_writes'],
    rule: (options, { caller, body }) => renameCall(options, caller, body),
  }),
  operation('POST', '/calls/delete', {
    right: 'write',
    summary: 'Delete calls and their descendants',
    body: contract.DeleteBody,
    answer: contract.DeleteAnswer,
    refusals: ['too_many_ids', 'record_refuses_writes'],
    rule: (options, { caller, body }) => deleteSomeCalls(options, caller, body),
  }),
  operation('POST', '/calls/stream_query', {
    right: 'read',
    summary: 'Find calls, as JSON Lines',
    body: contract.StreamQueryBody,
    answer: jsonLinesOf(contract.CallRecord),
    refusals: ['invalid_value', 'query_too_slow'],
    rule: async (services, { caller, body }, reply) => {
      const lines = await queryCalls(services, caller, body)
      return sendJsonLines(reply, lines)
    },
  }),
  operation('POST', '/calls/query', {
    right: 'read',
    summary: 'Find calls, as one JSON object; for older clients of Weave',
    body: contract.StreamQueryBody,
    answer: contract.QueryAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: async (services, { caller, body }, reply) => {
      const calls = await queryCalls(services, caller, body)
      return sendJsonList(reply, 'calls', calls)
    },
  }),
  operation('POST', '/calls/query_stats', {
    right: 'read',
    summary: 'Count calls',
    body: contract.QueryStatsBody,
    answer: contract.QueryStatsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => countSomeCalls(services, caller, body),
  }),
)
