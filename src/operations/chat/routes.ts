import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { type Routes, refusingOpenAi } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendEvents } from '../../http/sse.ts'
import { noteUnknownFields } from '../../http/unknown-fields.ts'
import type { Backend } from '../../inference/backend.ts'
import type { Compiling } from '../../inference/constraints/compiling.ts'
import type { Prompts } from '../../inference/prompt/prompts.ts'
import { family } from '../parts.ts'
import { answerOf } from './answer.ts'
import { chunksOf } from './chunks.ts'
import { beginCompletion } from './completion.ts'
import { ChatAnswer, ChatBody } from './contract.ts'
import { type ChatMetrics, noChatMetrics } from './metrics.ts'
import type { ChatSettings } from './refused.ts'

export interface ChatOptions {
  backend: Backend | undefined
  prompts: Prompts
  compiling: Compiling
  settings: ChatSettings
  metrics?: ChatMetrics
}

const complete: Routes<ChatOptions> = async (app, options) => {
  const { backend, prompts, compiling, settings, metrics = noChatMetrics } = options
  const schema = {
    summary: 'Answer a conversation',
    description:
      'As OpenAI and vLLM have it; docs/chat-parameters.md says what each field does. With `"stream": true` the answer is `text/event-stream`: chunks as `data: {…}`, and `data: [DONE]` at the end.',
    tags: ['chat'],
    body: ChatBody,
    response: {
      200: ChatAnswer,
      ...refusingOpenAi(
        'malformed_json',
        'model_not_found',
        'body_too_large',
        'unsupported_media_type',
        'engine_queue_full',
        'engine_share_full',
      ),
    },
  }
  for (const url of ['/v1/chat/completions', '/v1/chat/completions/']) {
    app.post(
      url,
      { schema: { ...schema, hide: url.endsWith('/') }, preValidation: noteUnknownFields(ChatBody) },
      async (request, reply) => {
        const { body, caller, log } = request
        const signal = disconnectSignal(reply)
        const id = completionId(request, body)
        const completion = await beginCompletion(
          { backend, prompts, compiling, settings, metrics },
          {
            body,
            caller,
            id,
            signal,
            note: (record) => log.info({ ...record, completion: id }, 'completion'),
          },
        )
        if (!body.stream) return answerOf(completion)
        await sendEvents(reply, chunksOf(completion), signal)
        return reply
      },
    )
  }
}

/** The caller's own id, by header before body, so that the logs of both sides meet. */
function completionId(request: FastifyRequest, { request_id }: ChatBody): string {
  if (request.headers['x-request-id'] !== undefined) return request.id
  return request_id ?? randomUUID().replaceAll('-', '')
}

export const chatRoutes = family(complete)
