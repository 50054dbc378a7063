import { disconnectSignal } from '../../http/disconnect.ts'
import { family, operation } from '../parts.ts'
import { readFacets, readTimeBuckets } from './buckets.ts'
import { listCalls } from './calls.ts'
import { BucketsAnswer, BucketsBody, CallsAnswer, CallsBody, FacetsAnswer, FacetsBody } from './contract.ts'

const tags = ['views']

export const viewRoutes = family(
  operation('POST', '/views/calls', {
    summary: 'List calls without what they carry',
    tags,
    body: CallsBody,
    answer: CallsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (parts, { caller, body }, reply) => listCalls(parts, caller, body, disconnectSignal(reply)),
  }),
  operation('POST', '/views/facets', {
    summary: 'Count the values that calls have',
    tags,
    body: FacetsBody,
    answer: FacetsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (parts, { caller, body }, reply) => readFacets(parts, caller, body, disconnectSignal(reply)),
  }),
  operation('POST', '/views/buckets', {
    summary: 'Count and time calls by when they began',
    tags,
    body: BucketsBody,
    answer: BucketsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (parts, { caller, body }, reply) => readTimeBuckets(parts, caller, body, disconnectSignal(reply)),
  }),
)
