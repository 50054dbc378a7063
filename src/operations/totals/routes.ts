import { family, operation } from '../parts.ts'
import { readCallStats } from './call-stats.ts'
import { CallStatsAnswer, CallStatsBody } from './stats-contract.ts'

export const totalRoutes = family(
  operation('POST', '/calls/stats', {
    summary: 'Add up tokens, costs, times and errors of calls by start time',
    tags: ['calls'],
    body: CallStatsBody,
    answer: CallStatsAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: (services, { caller, body }) => readCallStats(services, caller, body, services.signal),
  }),
)
