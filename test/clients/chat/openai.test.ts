import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI6 from 'openai'
import OpenAI7 from 'openai-7'
import { prefilled, type Script, scriptOf, tokens } from '../../support/scripted-backend.ts'
import { withTimeout } from '../../support/wait.ts'
import { startChat } from './server.ts'

/** OpenAI's unmodified SDK: the newest for Node 22 and the one before it. */
const versions = { 'openai 6': OpenAI6, 'openai 7': OpenAI7 as unknown as typeof OpenAI6 }

const messages = [{ role: 'user', content: 'Hi' }] as const
const asked = { model: 'scripted', messages: [...messages] }

const endless: Script = async function* (request) {
  yield prefilled(request)
  yield tokens('Hello', request)
  await new Promise<never>(() => undefined)
}

for (const [name, OpenAI] of Object.entries(versions)) {
  describe(name, () => {
    test('create', async (t) => {
      const { baseURL, apiKey } = await startChat(t)
      const client = new OpenAI({ baseURL, apiKey })
      const { data, response, request_id } = await client.chat.completions
        .create({ ...asked, n: 2 })
        .withResponse()
      assert.deepEqual(
        data.choices.map(({ index, message, finish_reason }) => [
          index,
          message.role,
          message.content,
          finish_reason,
        ]),
        [
          [0, 'assistant', 'Hello', 'stop'],
          [1, 'assistant', 'Hello', 'stop'],
        ],
      )
      assert.equal(data.usage?.completion_tokens, 10)
      assert.equal(request_id, response.headers.get('x-request-id'))
      const choice = data.choices[0]
      assert.ok(choice && !choice.message.tool_calls && !choice.message.refusal)
    })

    test('a base URL with a trailing slash', async (t) => {
      const { baseURL, apiKey } = await startChat(t)
      const answer = await new OpenAI({ baseURL: `${baseURL}/`, apiKey }).chat.completions.create(asked)
      assert.equal(answer.choices[0]?.message.content, 'Hello')
    })

    test('the list of models', async (t) => {
      const { baseURL, apiKey } = await startChat(t)
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
      const ids: string[] = []
      for await (const { id, object } of client.models.list()) {
        assert.equal(object, 'model')
        ids.push(id)
      }
      assert.deepEqual(ids, ['scripted', 'alias/of-it'])
      for (const id of ids) assert.equal((await client.models.retrieve(id)).id, id)
      await assert.rejects(client.models.retrieve('other'), OpenAI.NotFoundError)
    })

    test('log-probabilities, streamed or not', async (t) => {
      const { baseURL, apiKey } = await startChat(t)
      const client = new OpenAI({ baseURL, apiKey })
      const body = { ...asked, logprobs: true, top_logprobs: 2 }
      const whole = await client.chat.completions.create(body)
      const content = whole.choices[0]?.logprobs?.content ?? []
      assert.deepEqual(
        content.map(({ token, top_logprobs }) => [token, top_logprobs.length]),
        [...'Hello'].map((letter) => [letter, 2]),
      )
      const streamed = await client.chat.completions.stream(body).finalChatCompletion()
      assert.deepEqual(streamed.choices[0]?.logprobs?.content, content)
    })

    test('a stream, by hand and by the helper', async (t) => {
      const { baseURL, apiKey } = await startChat(t, scriptOf('Hel', 'lo', ' there'))
      const client = new OpenAI({ baseURL, apiKey })
      const contents = ['', '']
      let usage: unknown
      const chunks = await client.chat.completions.create({
        ...asked,
        n: 2,
        stream: true,
        stream_options: { include_usage: true },
      })
      for await (const chunk of chunks) {
        for (const { index, delta } of chunk.choices) contents[index] += delta.content ?? ''
        usage ??= chunk.usage
      }
      assert.deepEqual(contents, ['Hello there', 'Hello there'])
      assert.deepEqual((usage as { completion_tokens: number }).completion_tokens, 22)

      const stream = client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } })
      let heard = ''
      stream.on('content', (delta) => {
        heard += delta
      })
      const final = await stream.finalChatCompletion()
      assert.equal(heard, 'Hello there')
      assert.equal(final.choices[0]?.message.content, 'Hello there')
      assert.equal(final.choices[0]?.finish_reason, 'stop')
      assert.equal(final.usage?.completion_tokens, 11)
    })

    for (const [how, leave] of Object.entries({
      'break out of the loop': undefined,
      'abort it': (controller: AbortController) => controller.abort(),
    })) {
      test(`stopping a stream ends its generation: ${how}`, async (t) => {
        const { baseURL, apiKey, backend } = await startChat(t, endless)
        const client = new OpenAI({ baseURL, apiKey })
        const stream = await client.chat.completions.create({ ...asked, stream: true })
        for await (const { choices } of stream) {
          if (choices[0]?.delta.content !== 'Hello') continue
          if (leave === undefined) break
          leave(stream.controller)
        }
        await withTimeout('the generation is aborted', backend.abortedAtLeast(1))
        await withTimeout('nothing runs', backend.idle())
      })
    }

    test('a request that times out ends its generation', async (t) => {
      const { baseURL, apiKey, backend } = await startChat(t, endless)
      const client = new OpenAI({ baseURL, apiKey, timeout: 300, maxRetries: 0 })
      await assert.rejects(client.chat.completions.create(asked), OpenAI.APIConnectionTimeoutError)
      await withTimeout('nothing runs', backend.idle())
    })

    test('refusals are errors of the right class, with their field', async (t) => {
      const { baseURL, apiKey, backend } = await startChat(t)
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
      const create = (fields: object, given = client) =>
        given.chat.completions.create({ ...asked, ...fields })
      await assert.rejects(create({ temperature: -1 }), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError)
        assert.deepEqual(
          [error.status, error.code, error.param, error.type],
          [400, 'invalid_request', 'temperature', 'invalid_request_error'],
        )
        assert.match(error.message, /temperature: expected number to be >=0/)
        return true
      })
      await assert.rejects(create({ priority: 5 }), (error) => {
        return error instanceof OpenAI.BadRequestError && error.param === 'priority'
      })
      await assert.rejects(create({ tool_choice: 'auto' }), (error) => {
        return error instanceof OpenAI.BadRequestError && error.param === 'tool_choice'
      })
      await assert.rejects(create({ model: 'other' }), OpenAI.NotFoundError)
      await assert.rejects(create({ stream: true, top_p: 5 }), OpenAI.BadRequestError)
      await assert.rejects(
        create({}, new OpenAI({ baseURL, apiKey: 'wrong-secret-key' })),
        OpenAI.AuthenticationError,
      )
      backend.served = undefined
      await assert.rejects(create({}), OpenAI.InternalServerError)
    })

    test('a failure in the middle of a stream is an API error', async (t) => {
      const { baseURL, apiKey } = await startChat(t, function* (request) {
        yield prefilled(request)
        yield tokens('Hel', request)
        yield new Error('broken')
      })
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
      const stream = await client.chat.completions.create({ ...asked, stream: true })
      let content = ''
      await assert.rejects(async () => {
        for await (const { choices } of stream) content += choices[0]?.delta.content ?? ''
      }, OpenAI.APIError)
      assert.equal(content, 'Hel')
    })

    test('fields that the SDK does not know reach the model', async (t) => {
      const { baseURL, apiKey, backend } = await startChat(t)
      const client = new OpenAI({ baseURL, apiKey })
      const extra = {
        top_k: 5,
        min_p: 0.1,
        return_token_ids: true,
        chat_template: 'Q: {{ messages[0].content }}',
      }
      const answer = await client.chat.completions.create({
        ...asked,
        ...extra,
        store: true,
        metadata: { a: 'b' },
      })
      assert.deepEqual([backend.asked[0]?.sampling.topK, backend.asked[0]?.sampling.minP], [5, 0.1])
      assert.deepEqual((answer as unknown as { prompt_token_ids: number[] }).prompt_token_ids.length, 5)
    })
  })
}
