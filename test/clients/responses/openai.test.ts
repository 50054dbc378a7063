import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI6 from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import OpenAI7 from 'openai-7'
import { z } from 'zod'
import { until } from '../../support/wait.ts'
import { looksUp, startResponses, weatherSchema } from './server.ts'

/** OpenAI's unmodified SDK: the newest for Node 22 and the one before it. */
const versions = { 'openai 6': OpenAI6, 'openai 7': OpenAI7 as unknown as typeof OpenAI6 }

const model = 'played'
const tools = [
  { type: 'function' as const, name: 'get_weather', parameters: { ...weatherSchema }, strict: true },
]

for (const [name, OpenAI] of Object.entries(versions)) {
  describe(name, () => {
    test('create, read, list, delete', async (t) => {
      const { baseURL, apiKey } = await startResponses(t, 'Hello')
      const client = new OpenAI({ baseURL, apiKey })
      const response = await client.responses.create({ model, input: 'Hi' })
      assert.deepEqual([response.status, response.output_text], ['completed', 'Hello'])
      assert.ok((response.usage?.output_tokens ?? 0) > 0)
      const read = await client.responses.retrieve(response.id)
      assert.equal(read.output_text, 'Hello')
      const items = []
      for await (const item of client.responses.inputItems.list(response.id)) items.push(item)
      assert.equal(items.length, 1)
      await client.responses.delete(response.id)
      await assert.rejects(client.responses.retrieve(response.id), OpenAI.NotFoundError)
      await assert.rejects(
        client.responses.create({ model, input: 'Hi', previous_response_id: response.id }),
        (error) => error instanceof OpenAI.BadRequestError && error.code === 'previous_response_not_found',
      )
    })

    test('in the background: read until it has ended, streamed, cancelled too late', async (t) => {
      const { baseURL, apiKey } = await startResponses(t, 'Hello')
      const client = new OpenAI({ baseURL, apiKey })
      const { id, status } = await client.responses.create({ model, input: 'Hi', background: true })
      assert.equal(status, 'queued')
      await until('it has ended', async () => (await client.responses.retrieve(id)).status === 'completed')
      assert.equal((await client.responses.retrieve(id)).output_text, 'Hello')
      await assert.rejects(client.responses.cancel(id), OpenAI.BadRequestError)
      const stream = client.responses.stream({ model, input: 'Hi', background: true })
      assert.equal((await stream.finalResponse()).output_text, 'Hello')
    })

    test('a conversation and its items', async (t) => {
      const { baseURL, apiKey } = await startResponses(t, 'Hello')
      const client = new OpenAI({ baseURL, apiKey })
      const { conversations } = client
      const message = (content: string) => ({ type: 'message' as const, role: 'user' as const, content })
      const { id, metadata } = await conversations.create({
        metadata: { topic: 'tea' },
        items: [message('a')],
      })
      assert.deepEqual(metadata, { topic: 'tea' })
      const whole = await client.responses.create({ model, input: 'b', conversation: id })
      assert.deepEqual(whole.conversation, { id })
      const streamed = await client.responses
        .stream({ model, input: 'c', conversation: { id } })
        .finalResponse()
      assert.deepEqual(streamed.conversation, { id })
      const added = await conversations.items.create(id, { items: [message('d')] })
      assert.equal(added.data.length, 1)
      const texts = []
      for await (const item of conversations.items.list(id, { order: 'asc', limit: 2 }))
        texts.push(
          item.type === 'message' && item.content.map((content) => 'text' in content && content.text),
        )
      assert.deepEqual(texts.flat(), ['a', 'b', 'Hello', 'c', 'Hello', 'd'])
      const [last] = added.data
      assert.ok(last?.type === 'message')
      const item = await conversations.items.retrieve(last.id, { conversation_id: id })
      assert.deepEqual(item, last)
      assert.equal((await conversations.items.delete(last.id, { conversation_id: id })).id, id)
      assert.deepEqual((await conversations.update(id, { metadata: {} })).metadata, {})
      assert.equal((await conversations.retrieve(id)).object, 'conversation')
      assert.equal((await conversations.delete(id)).deleted, true)
      await assert.rejects(conversations.retrieve(id), OpenAI.NotFoundError)
    })

    test('the stream helper, and a replay', async (t) => {
      const { baseURL, apiKey } = await startResponses(t, '<think>\nHm.\n</think>\n\nHello there')
      const client = new OpenAI({ baseURL, apiKey })
      let heard = ''
      const types = new Set<string>()
      const stream = client.responses
        .stream({ model, input: 'Hi', reasoning: { effort: 'high', summary: 'auto' } })
        .on('response.output_text.delta', ({ delta }) => {
          heard += delta
        })
      for await (const { type } of stream) types.add(type)
      const final = await stream.finalResponse()
      assert.equal(heard, 'Hello there')
      assert.equal(final.output_text, 'Hello there')
      assert.deepEqual(
        final.output.map(({ type }) => type),
        ['reasoning', 'message'],
      )
      assert.ok(types.has('response.reasoning_summary_text.delta'))
      const replay = await client.responses.stream({ response_id: final.id }).finalResponse()
      assert.equal(replay.output_text, 'Hello there')
    })

    test('parse', async (t) => {
      const { baseURL, apiKey } = await startResponses(t, '{"city": "Rome"}')
      const client = new OpenAI({ baseURL, apiKey })
      const format = zodTextFormat(z.object({ city: z.string() }), 'city')
      const response = await client.responses.parse({ model, input: 'Hi', text: { format } })
      assert.deepEqual(response.output_parsed, { city: 'Rome' })
    })

    for (const stream of [false, true]) {
      for (const how of ['previous_response_id', 'the items themselves'] as const) {
        test(`a tool loop by ${how}${stream ? ', streamed' : ''}`, async (t) => {
          const { baseURL, apiKey } = await startResponses(t, looksUp)
          const client = new OpenAI({ baseURL, apiKey })
          const ask = (fields: object) => {
            const body = { model, tools, ...fields } as Parameters<typeof client.responses.stream>[0]
            if (stream) return client.responses.stream(body).finalResponse()
            return client.responses.create(body as Parameters<typeof client.responses.create>[0])
          }
          const question = { role: 'user' as const, content: 'The weather of Rome?' }
          const first = (await ask({ input: [question] })) as OpenAI6.Responses.Response
          const call = first.output.find(({ type }) => type === 'function_call')
          assert.ok(call?.type === 'function_call')
          assert.deepEqual([call.name, JSON.parse(call.arguments)], ['get_weather', { city: 'Rome' }])
          const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'sunny' }
          const next =
            how === 'previous_response_id'
              ? { previous_response_id: first.id, input: [output] }
              : { input: [question, ...first.output, output] }
          const second = (await ask(next)) as OpenAI6.Responses.Response
          assert.equal(second.output_text, 'It is sunny.')
        })
      }
    }
  })
}
