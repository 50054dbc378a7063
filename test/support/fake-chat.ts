import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

interface Question {
  model: string
  stream?: boolean
  stream_options?: { include_usage?: boolean }
  messages: { content: string }[]
}

export const fakeUsage = {
  prompt_tokens: 5,
  completion_tokens: 2,
  total_tokens: 7,
  prompt_tokens_details: null,
  completion_tokens_details: { reasoning_tokens: 1 },
}

/** A chat endpoint that repeats the question in capitals, whole or in two pieces, and refuses if asked to. */
export async function startFakeChat(t: Pick<TestContext, 'after'>): Promise<string> {
  const server = createServer((request, response) => {
    const answer = async () => {
      const { model, stream, stream_options, messages } = (await json(request)) as Question
      const content = messages.at(-1)?.content.toUpperCase() ?? ''
      const common = { id: `chat-${content}`, created: 1_767_323_045, model }
      if (content === 'REFUSE') {
        const error = { message: 'asked to refuse', type: 'invalid_request_error', param: null, code: null }
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      } else if (stream) {
        const chunk = (fields: object) =>
          response.write(
            `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', ...fields })}\n\n`,
          )
        const choice = (delta: object, finish_reason: string | null = null) =>
          chunk({ choices: [{ index: 0, delta, finish_reason }] })
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        choice({ role: 'assistant', content: content.slice(0, 1) })
        choice({ content: content.slice(1) })
        choice({}, 'stop')
        if (stream_options?.include_usage) chunk({ choices: [], usage: fakeUsage })
        response.end('data: [DONE]\n\n')
      } else {
        const message = { role: 'assistant', content }
        const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
        const body = { ...common, object: 'chat.completion', choices, usage: fakeUsage }
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      }
    }
    answer().catch((error: Error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}
