import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines } from '../../http/streams/streamed-answers.ts'
import { family, operation } from '../parts.ts'
import { FeedbackAggregateAnswer, FeedbackAggregateBody } from './aggregate-contract.ts'
import { readCallStats } from './call-stats.ts'
import { readCallsUsage, readTraceUsage } from './call-usage.ts'
import { aggregateFeedback } from './feedback-aggregate.ts'
import {
  FeedbackStatsAnswer,
  FeedbackStatsBody,
  PayloadSchemaAnswer,
  PayloadSchemaBody,
} from './feedback-contract.ts'
import { findPayloadPaths, readFeedbackStats } from './feedback-stats.ts'
import { CallStatsAnswer, CallStatsBody } from './stats-contract.ts'
import { queryThreads } from './threads.ts'
import { Thread, ThreadsBody } from './threads-contract.ts'
import { CallsUsageBody, TraceUsageBody, UsageAnswer } from './usage-contract.ts'

export const totalRoutes = family(
  operation('POST', '/threads/stream_query', {
    right: 'read',
    summary: 'List conversations with their turns, as JSON Lines',
    tags: ['calls'],
    body: ThreadsBody,
    answer: jsonLinesOf(Thread),
    refusals: ['invalid_value', 'query_too_slow'],
    rule: ({ db, signal }, { caller, body }, reply) =>
      sendJsonLines(reply, queryThreads(db, caller, body, signal)),
  }),
  operation('POST', '/calls/stats', {
    right: 'read',
    summary: 'Add up tokens, costs, times and errors of calls by start time',
    tags: ['calls'],
    body: CallStatsBody,
    answer: CallStatsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => readCallStats(services, caller, body, services.signal),
  }),
  operation('POST', '/calls/usage', {
    right: 'read',
    summary: 'Add up what calls used with everything below them',
    tags: ['calls'],
    body: CallsUsageBody,
    answer: UsageAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => readCallsUsage(services, caller, body, services.signal),
  }),
  operation('POST', '/trace/usage', {
    right: 'read',
    summary: 'Add up what each selected call used with those below it',
    tags: ['calls'],
    body: TraceUsageBody,
    answer: UsageAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => readTraceUsage(services, caller, body, services.signal),
  }),
  operation('POST', '/feedback/stats', {
    right: 'read',
    summary: 'Add up values of feedback by creation time',
    tags: ['feedback'],
    body: FeedbackStatsBody,
    answer: FeedbackStatsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => readFeedbackStats(db, caller, body, signal),
  }),
  operation('POST', '/feedback/aggregate', {
    right: 'read',
    summary: 'Count tags and add up ratings of feedback by time and group',
    tags: ['feedback'],
    body: FeedbackAggregateBody,
    answer: FeedbackAggregateAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => aggregateFeedback(db, caller, body, signal),
  }),
  operation('POST', '/feedback/payload_schema', {
    right: 'read',
    summary: 'Find the values that feedback has',
    tags: ['feedback'],
    body: PayloadSchemaBody,
    answer: PayloadSchemaAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => findPayloadPaths(db, caller, body, signal),
  }),
)
