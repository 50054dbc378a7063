import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines } from '../../http/streams/streamed-answers.ts'
import { family, operationsUnder } from '../parts.ts'
import { readFacets, readFeedbackOverTime, readTimeBuckets } from './buckets.ts'
import { listCalls } from './calls.ts'
import { findColumns } from './columns.ts'
import { ColumnsAnswer, ColumnsBody } from './columns-contract.ts'
import { BucketsAnswer, BucketsBody, CallsAnswer, CallsBody, FacetsAnswer, FacetsBody } from './contract.ts'
import { FeedbackBucketsAnswer, FeedbackBucketsBody } from './feedback-contract.ts'
import { searchCalls } from './search.ts'
import { SearchAnswer, SearchBody } from './search-contract.ts'
import { readTrace } from './trace.ts'
import { TraceBody, TraceLine } from './trace-contract.ts'

const operation = operationsUnder('views')

export const viewRoutes = family(
  operation('POST', '/views/calls', {
    right: 'read',
    summary: 'List calls without their inputs, outputs and attributes',
    body: CallsBody,
    answer: CallsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => listCalls(services, caller, body),
  }),
  operation('POST', '/views/trace', {
    right: 'read',
    summary: 'Read the calls of a trace without their inputs, outputs and attributes, as JSON Lines',
    body: TraceBody,
    answer: jsonLinesOf(TraceLine),
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, body }, reply) => sendJsonLines(reply, readTrace(db, caller, body)),
  }),
  operation('POST', '/views/facets', {
    right: 'read',
    summary: 'Count the most frequent values of calls',
    body: FacetsBody,
    answer: FacetsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => readFacets(services, caller, body),
  }),
  operation('POST', '/views/buckets', {
    right: 'read',
    summary: 'Count and time calls by start time',
    body: BucketsBody,
    answer: BucketsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => readTimeBuckets(services, caller, body),
  }),
  operation('POST', '/views/feedback_buckets', {
    right: 'read',
    summary: 'Count feedback by creation time',
    body: FeedbackBucketsBody,
    answer: FeedbackBucketsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => readFeedbackOverTime(services, caller, body),
  }),
  operation('POST', '/views/columns', {
    right: 'read',
    summary: 'Find the fields that calls have',
    body: ColumnsBody,
    answer: ColumnsAnswer,
    refusals: ['query_too_slow'],
    rule: (services, { caller, body }) => findColumns(services, caller, body),
  }),
  operation('POST', '/views/search', {
    right: 'read',
    summary: 'Search calls by words',
    body: SearchBody,
    answer: SearchAnswer,
    refusals: ['invalid_value', 'search_off', 'query_too_slow'],
    rule: (services, { caller, body }) => searchCalls(services, caller, body),
  }),
)
