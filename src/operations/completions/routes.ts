import { randomUUID } from 'node:crypto'
import { type Routes, refusingOpenAi } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendEvents } from '../../http/sse.ts'
import { noteUnknownFields } from '../../http/unknown-fields.ts'
import { family } from '../parts.ts'
import { answerOf } from './answer.ts'
import { chunksOf } from './chunks.ts'
import { beginCompletion, type Completions } from './completion.ts'
import { CompletionAnswer, CompletionBody } from './contract.ts'

const complete: Routes<Completions> = async (app, options) => {
  const schema = {
    summary: 'Continue a text',
    description:
      'The operation that chat completions came after, as OpenAI and vLLM have it. With `"stream": true` the answer is `text/event-stream`: chunks as `data: {…}`, and `data: [DONE]` at the end.',
    tags: ['completions'],
    body: CompletionBody,
    response: {
      200: CompletionAnswer,
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
  app.post(
    '/v1/completions',
    { schema, preValidation: noteUnknownFields(CompletionBody) },
    async (request, reply) => {
      const { body, caller, log } = request
      const signal = disconnectSignal(reply)
      const asked = request.headers['x-request-id'] === undefined ? body.request_id : request.id
      const id = asked ?? randomUUID().replaceAll('-', '')
      const note = (record: object) => log.info({ ...record, completion: id }, 'completion')
      const completion = await beginCompletion(options, { body, caller, id, signal, note })
      if (!body.stream) return answerOf(completion)
      await sendEvents(reply, chunksOf(completion), signal)
      return reply
    },
  )
}

export const completionRoutes = family(complete)
