import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Anthropic1 from '@anthropic-ai/sdk'
import { betaTool as betaTool1 } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import Anthropic0 from 'anthropic-0'
import { betaTool as betaTool0 } from 'anthropic-0/helpers/beta/json-schema'
import { keys } from '../../support/app.ts'
import { prefilled, type Script, scriptOf, tokens } from '../../support/scripted-backend.ts'
import { withTimeout } from '../../support/wait.ts'
import { asksTheWeather, lookUp, promptOf, startMessages, startParts, weather } from './server.ts'

/** Anthropic's unmodified SDK: 1 sends the key as Bearer, 0 in x-api-key. */
const versions = {
  '@anthropic-ai/sdk 1': { Anthropic: Anthropic1, betaTool: betaTool1 },
  '@anthropic-ai/sdk 0': {
    Anthropic: Anthropic0 as unknown as typeof Anthropic1,
    betaTool: betaTool0 as unknown as typeof betaTool1,
  },
}

const asked = { model: 'scripted', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi' }] }

const endless: Script = async function* (request) {
  yield prefilled(request)
  yield tokens('Hello', request)
  await new Promise<never>(() => undefined)
}

/** The answer of the server, without what differs each time or belongs to the SDK. */
const plain = (message: object) => ({ ...message, id: '', parsed_output: undefined })

for (const [version, { Anthropic, betaTool }] of Object.entries(versions)) {
  describe(version, () => {
    const clientOf = ({ baseURL, apiKey }: { baseURL: string; apiKey: string }) =>
      new Anthropic({ baseURL, apiKey, maxRetries: 0 })

    test('models', async (t) => {
      const client = clientOf(await startMessages(t))
      const { data, has_more, first_id, last_id } = await client.models.list()
      assert.deepEqual([has_more, first_id, last_id], [false, data[0]?.id, data.at(-1)?.id])
      const names: string[] = []
      for await (const model of client.models.list({ limit: 1 })) names.push(model.id)
      assert.deepEqual(names, ['scripted', 'alias/of-it'])
      for (const name of names) {
        const model = await client.models.retrieve(name)
        assert.deepEqual([model.id, model.type, model.display_name], [name, 'model', name])
        assert.equal(new Date(model.created_at).toJSON(), model.created_at)
        assert.ok((model.max_input_tokens ?? 0) > 0 && (model.max_tokens ?? 0) > 0)
        assert.deepEqual(
          model,
          data.find(({ id }) => id === name),
        )
      }
    })

    test('create', async (t) => {
      const server = await startMessages(t)
      const { data, request_id, response } = await clientOf(server)
        .messages.create({
          ...asked,
          system: [{ type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } }],
          // Anthropic's newer models do not support these, so they are missing from the types of the SDK.
          ...({ temperature: 0.5, top_k: 5 } as object),
          stop_sequences: ['###'],
          metadata: { user_id: 'me' },
        })
        .withResponse()
      const [block] = data.content
      assert.ok(block?.type === 'text')
      assert.deepEqual([block.text, data.stop_reason, data.usage.output_tokens], ['Hello', 'end_turn', 5])
      assert.equal(request_id, response.headers.get('request-id'))
      const [request] = server.backend.asked
      assert.equal(
        request && promptOf(request),
        '<s><|system|>Be short.<|end|><|user|>Hi<|end|><|assistant|>',
      )
      assert.deepEqual(
        [request?.sampling.temperature, request?.sampling.topK, request?.ending.stop],
        [0.5, 5, ['###']],
      )
    })

    test('a stream, by hand and by the helper', async (t) => {
      const server = await startMessages(t, scriptOf('Hel', 'lo', ' there'))
      const client = clientOf(server)
      let text = ''
      for await (const event of await client.messages.create({ ...asked, stream: true })) {
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
          text += event.delta.text
      }
      assert.equal(text, 'Hello there')
      const stream = client.messages.stream(asked)
      let heard = ''
      stream.on('text', (delta) => {
        heard += delta
      })
      const message = await stream.finalMessage()
      assert.equal(heard, 'Hello there')
      const whole = await client.messages.create(asked)
      assert.deepEqual(plain(message), plain(whole))
    })

    test('a tool loop, streamed or not', async (t) => {
      const server = await startMessages(t, asksTheWeather)
      const client = clientOf(server)
      for (const isStreamed of [false, true]) {
        const cities: string[] = []
        const look = lookUp(cities)
        const messages: Anthropic1.MessageParam[] = [...asked.messages]
        let said = ''
        for (let turn = 0; turn < 3 && said === ''; turn++) {
          const body = { ...asked, tools: [weather as unknown as Anthropic1.Tool], messages }
          const message = isStreamed
            ? await client.messages.stream(body).finalMessage()
            : await client.messages.create(body)
          messages.push({ role: 'assistant', content: message.content })
          const calls = message.content.filter((block) => block.type === 'tool_use')
          if (message.stop_reason === 'tool_use') {
            assert.deepEqual(
              calls.map(({ name, input }) => [name, input]),
              [
                ['weather', { city: 'Paris' }],
                ['weather', { city: 'Rome' }],
              ],
            )
            messages.push({
              role: 'user',
              content: calls.map(({ id, input }) => ({
                type: 'tool_result' as const,
                tool_use_id: id,
                content: look(input as { city: string }),
              })),
            })
          } else said = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
        }
        assert.deepEqual([cities, said], [['Paris', 'Rome'], 'It is warm.'])
      }
    })

    for (const stream of [false, true]) {
      test(`toolRunner${stream ? ', streamed' : ''}`, async (t) => {
        const server = await startMessages(t, asksTheWeather)
        const cities: string[] = []
        const { name, description, input_schema } = weather
        const tool = betaTool({ name, description, inputSchema: input_schema, run: lookUp(cities) as never })
        const runner = clientOf(server).beta.messages.toolRunner({ ...asked, tools: [tool], stream })
        const message = await runner.runUntilDone()
        assert.deepEqual(cities, ['Paris', 'Rome'])
        assert.equal(
          message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
          'It is warm.',
        )
        // A runner that relied on a stored conversation would have sent only the results.
        const last = server.backend.asked.at(-1)
        assert.match(last ? promptOf(last) : '', /<\|user\|>Hi<\|end\|>.*21 degrees in Rome/s)
      })
    }

    test('thoughts are received and sent back', async (t) => {
      const { model, ...server } = await startParts(
        t,
        { kind: 'reasoning', text: 'Hm, ' },
        { kind: 'reasoning', text: 'yes.' },
        { kind: 'content', text: 'Yes.' },
      )
      const client = clientOf(server)
      const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
      const body = { ...asked, max_tokens: 2000, thinking }
      const whole = await client.messages.create(body)
      const streamed = await client.messages.stream(body).finalMessage()
      assert.deepEqual(plain(streamed), plain(whole))
      assert.deepEqual(
        whole.content.map((block) => (block.type === 'thinking' ? block.thinking : block.type)),
        ['Hm, yes.', 'text'],
      )
      await client.messages.create({
        ...body,
        messages: [
          ...asked.messages,
          { role: 'assistant', content: whole.content },
          { role: 'user', content: 'Sure?' },
        ],
      })
      const request = model.asked.at(-1)
      const [input] = request?.inputs ?? []
      assert.ok(input && 'conversation' in input)
      assert.equal(input.conversation.messages[1]?.reasoning, 'Hm, yes.')
      assert.deepEqual([input.conversation.thinks, request?.turn?.thinkingBudget?.tokens], [true, 1024])
    })

    test('a call that is cut off is the same streamed or not', async (t) => {
      const { model, ...server } = await startParts(
        t,
        { kind: 'call', index: 0, id: 'call_0', name: 'weather' },
        { kind: 'arguments', index: 0, text: '{"city": "Paris", "days": [1, {"a": true}, "x' },
      )
      model.finish = { reason: 'length', stop: null }
      const client = clientOf(server)
      const body = { ...asked, max_tokens: 2, tools: [weather as unknown as Anthropic1.Tool] }
      const whole = await client.messages.create(body)
      const streamed = await client.messages.stream(body).finalMessage()
      assert.equal(whole.stop_reason, 'max_tokens')
      assert.deepEqual(whole.content[0]?.type === 'tool_use' && whole.content[0].input, {
        city: 'Paris',
        days: [1, { a: true }],
      })
      assert.deepEqual(plain(streamed), plain(whole))
    })

    test('counting the tokens of a conversation', async (t) => {
      const server = await startMessages(t)
      const client = clientOf(server)
      const { max_tokens: _, ...body } = asked
      const { input_tokens } = await client.messages.countTokens(body)
      const { usage } = await client.messages.create(asked)
      assert.equal(input_tokens, usage.input_tokens + (usage.cache_read_input_tokens ?? 0))
      assert.equal((await client.beta.messages.countTokens(body)).input_tokens, input_tokens)
    })

    test('structured output', async (t) => {
      const server = await startMessages(t, scriptOf('{"city":', '"Paris"}'))
      const schema = { type: 'object', properties: { city: { type: 'string' } } }
      await clientOf(server).messages.create({
        ...asked,
        output_config: { format: { type: 'json_schema', schema } },
      })
      assert.equal(server.backend.asked[0]?.constraint?.field, 'output_config.format.schema')
    })

    test('stopping a stream ends its generation', async (t) => {
      const server = await startMessages(t, endless)
      const stream = await clientOf(server).messages.create({ ...asked, stream: true })
      for await (const event of stream) if (event.type === 'content_block_delta') break
      await withTimeout('the generation is aborted', server.backend.abortedAtLeast(1))
      await withTimeout('nothing runs', server.backend.idle())
    })

    test('refusals are errors of the right class, with the code of the server', async (t) => {
      const server = await startMessages(t)
      const client = clientOf(server)
      for (const [fields, type, status] of [
        [{ model: 'another' }, Anthropic.NotFoundError, 404],
        [{ messages: [] }, Anthropic.BadRequestError, 400],
        [{ top_p: 5 }, Anthropic.BadRequestError, 400],
      ] as const) {
        await assert.rejects(client.messages.create({ ...asked, ...fields } as never), (error) => {
          assert.ok(error instanceof type)
          assert.equal(error.status, status)
          assert.ok(error.requestID)
          return true
        })
      }
      await assert.rejects(
        clientOf({ ...server, apiKey: `${keys.alice}x` }).messages.create(asked),
        Anthropic.AuthenticationError,
      )
    })

    test('a request to a loading model is tried again', async (t) => {
      const server = await startMessages(t)
      const { backend } = server
      const { served, state } = backend
      backend.served = undefined
      backend.state = { state: 'starting', doing: 'loading' }
      setTimeout(() => Object.assign(backend, { served, state }), 20)
      const client = new Anthropic({ baseURL: server.baseURL, apiKey: server.apiKey, maxRetries: 5 })
      const message = await client.messages.create(asked)
      assert.equal(message.stop_reason, 'end_turn')
    })

    test('a failure in the middle of a stream is an error', async (t) => {
      const server = await startMessages(t, function* (request) {
        yield prefilled(request)
        yield tokens('Hel', request)
        yield new Error('broken')
      })
      await assert.rejects(clientOf(server).messages.stream(asked).finalMessage(), Anthropic.APIError)
    })
  })
}
