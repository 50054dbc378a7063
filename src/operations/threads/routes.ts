import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines } from '../../http/streams/streamed-answers.ts'
import { family, operation } from '../parts.ts'
import { Thread, ThreadsBody } from './contract.ts'
import { queryThreads } from './threads.ts'

export const threadRoutes = family(
  operation('POST', '/threads/stream_query', {
    summary: 'List conversations with their turns, as JSON Lines',
    tags: ['calls'],
    body: ThreadsBody,
    answer: jsonLinesOf(Thread),
    refusals: ['invalid_value', 'query_too_slow'],
    rule: ({ db, signal }, { caller, body }, reply) =>
      sendJsonLines(reply, queryThreads(db, caller, body, signal)),
  }),
)
