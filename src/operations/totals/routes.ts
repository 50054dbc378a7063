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

const calls = { right: 'read', tags: ['calls'], refusals: ['invalid_value', 'query_too_slow'] } as const
const feedback = { ...calls, tags: ['feedback'] } as const

export const totalRoutes = family(
  operation('POST', '/threads/stream_query', {
    summary: 'List conversations with their turns, as JSON Lines',
    ...calls,
    body: ThreadsBody,
    answer: jsonLinesOf(Thread),
    rule: ({ db }, { caller, body }, reply) => sendJsonLines(reply, queryThreads(db, caller, body)),
  }),
  operation('POST', '/calls/stats', {
    summary: 'Add up tokens, costs, times and errors of calls by start time',
    ...calls,
    body: CallStatsBody,
    answer: CallStatsAnswer,
    rule: (services, { caller, body }) => readCallStats(services, caller, body),
  }),
  operation('POST', '/calls/usage', {
    summary: 'Add up what calls used with everything below them',
    ...calls,
    body: CallsUsageBody,
    answer: UsageAnswer,
    rule: (services, { caller, body }) => readCallsUsage(services, caller, body),
  }),
  operation('POST', '/trace/usage', {
    summary: 'Add up what each selected call used with those below it',
    ...calls,
    body: TraceUsageBody,
    answer: UsageAnswer,
    rule: (services, { caller, body }) => readTraceUsage(services, caller, body),
  }),
  operation('POST', '/feedback/stats', {
    summary: 'Add up values of feedback by creation time',
    ...feedback,
    body: FeedbackStatsBody,
    answer: FeedbackStatsAnswer,
    rule: ({ db }, { caller, body }) => readFeedbackStats(db, caller, body),
  }),
  operation('POST', '/feedback/aggregate', {
    summary: 'Count tags and add up ratings of feedback by time and group',
    ...feedback,
    body: FeedbackAggregateBody,
    answer: FeedbackAggregateAnswer,
    rule: ({ db }, { caller, body }) => aggregateFeedback(db, caller, body),
  }),
  operation('POST', '/feedback/payload_schema', {
    summary: 'Find the values that feedback has',
    ...feedback,
    body: PayloadSchemaBody,
    answer: PayloadSchemaAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, body }) => findPayloadPaths(db, caller, body),
  }),
)
