import type { FastifyReply } from 'fastify'
import { openAiRefusalContracts, type Routes, wireRoutes } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import type { OperationParts } from '../parts.ts'
import { matchesHeader } from '../recording/named-calls.ts'
import { storedCompletions } from './stored.ts'
import {
  CompletionList,
  CompletionPath,
  Deleted,
  ListQuery,
  MessageList,
  MessagesQuery,
  StoredCompletion,
  UpdateBody,
} from './stored-contract.ts'

const route = wireRoutes('chat', openAiRefusalContracts)
const url = '/v1/chat/completions/:completion_id'
const params = CompletionPath
const refused = [
  'entity_forbidden',
  'invalid_request',
  'completion_not_found',
  'record_refuses_writes',
] as const

/** A header says how many completions have the given id, if there are several: the answer is about the latest. */
function answerOf<Answer>(reply: FastifyReply, { answer, matches }: { answer: Answer; matches: number }) {
  if (matches > 1) reply.header(matchesHeader, matches)
  return answer
}

export const storedRoutes: Routes<OperationParts> = async (app, services) => {
  const stored = storedCompletions(services)

  app.get(
    '/v1/chat/completions',
    route(
      'read',
      'List recorded chat completions',
      CompletionList,
      { querystring: ListQuery },
      'entity_forbidden',
      'invalid_request',
      'query_too_slow',
    ),
    async (request, reply) => {
      const { items, about } = await stored.list(request, request.query, disconnectSignal(reply))
      return sendJsonList(reply, 'data', items, about)
    },
  )

  app.get(
    url,
    route('read', 'Read a recorded chat completion', StoredCompletion, { params }, ...refused),
    async (request, reply) => answerOf(reply, await stored.retrieve(request, request.params.completion_id)),
  )

  app.get(
    `${url}/messages`,
    route(
      'read',
      'Read the messages that a chat completion answers',
      MessageList,
      { params, querystring: MessagesQuery },
      ...refused,
    ),
    (request) => stored.messages(request, request.params.completion_id, request.query),
  )

  app.post(
    url,
    route(
      'write',
      'Change the metadata of a recorded chat completion',
      StoredCompletion,
      { params, body: UpdateBody },
      ...refused,
      'scope_forbidden',
      'malformed_json',
      'body_too_large',
      'unsupported_media_type',
    ),
    async (request, reply) =>
      answerOf(reply, await stored.update(request, request.params.completion_id, request.body)),
  )

  app.delete(
    url,
    route('write', 'Delete a recorded chat completion and its call', Deleted, { params }, ...refused),
    async (request, reply) => answerOf(reply, await stored.remove(request, request.params.completion_id)),
  )
}
