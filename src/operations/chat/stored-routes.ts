import { openAiRefusalContracts, type Routes } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import type { OperationParts } from '../parts.ts'
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

const tags = ['chat']
const url = '/v1/chat/completions/:completion_id'
const params = CompletionPath
const refusals = openAiRefusalContracts(
  'entity_forbidden',
  'invalid_request',
  'completion_not_found',
  'record_refuses_writes',
)

/** Number of completions with the given id, if there are several: the answer is about the latest. */
const matchesHeader = 'x-heddle-matches'
const several = (matches: number) => (matches > 1 ? { [matchesHeader]: String(matches) } : {})

export const storedRoutes: Routes<OperationParts> = async (app, services) => {
  const stored = storedCompletions(services)

  app.get(
    '/v1/chat/completions',
    {
      config: { right: 'read' },
      schema: {
        summary: 'List recorded chat completions',
        tags,
        querystring: ListQuery,
        response: {
          200: CompletionList,
          ...openAiRefusalContracts('entity_forbidden', 'invalid_request', 'query_too_slow'),
        },
      },
    },
    async (request, reply) => {
      const { items, about } = await stored.list(request, request.query, disconnectSignal(reply))
      return sendJsonList(reply, 'data', items, about)
    },
  )

  app.get(
    url,
    {
      config: { right: 'read' },
      schema: {
        summary: 'Read a recorded chat completion',
        tags,
        params,
        response: { 200: StoredCompletion, ...refusals },
      },
    },
    async (request, reply) => {
      const { completion, matches } = await stored.retrieve(request, request.params.completion_id)
      reply.headers(several(matches))
      return completion
    },
  )

  app.get(
    `${url}/messages`,
    {
      config: { right: 'read' },
      schema: {
        summary: 'Read the messages that a chat completion answers',
        tags,
        params,
        querystring: MessagesQuery,
        response: { 200: MessageList, ...refusals },
      },
    },
    (request) => stored.messages(request, request.params.completion_id, request.query),
  )

  app.post(
    url,
    {
      config: { right: 'write' },
      schema: {
        summary: 'Change the metadata of a recorded chat completion',
        tags,
        params,
        body: UpdateBody,
        response: {
          200: StoredCompletion,
          ...refusals,
          ...openAiRefusalContracts('malformed_json', 'body_too_large', 'unsupported_media_type'),
        },
      },
    },
    async (request, reply) => {
      const { completion, matches } = await stored.update(request, request.params.completion_id, request.body)
      reply.headers(several(matches))
      return completion
    },
  )

  app.delete(
    url,
    {
      config: { right: 'write' },
      schema: {
        summary: 'Delete a recorded chat completion and its call',
        tags,
        params,
        response: { 200: Deleted, ...refusals },
      },
    },
    async (request, reply) => {
      const { answer, matches } = await stored.remove(request, request.params.completion_id)
      reply.headers(several(matches))
      return answer
    },
  )
}
