import { disconnectSignal } from '../../http/disconnect.ts'
import { family, operation } from '../parts.ts'
import { listCalls } from './calls.ts'
import { CallsAnswer, CallsBody } from './contract.ts'

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
)
