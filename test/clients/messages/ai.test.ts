import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { prefilled, scriptOf, tokens } from '../../support/scripted-backend.ts'
import { asksTheWeather, lookUp, type MessagesServer, startMessages, startParts, weather } from './server.ts'

/** Vercel's unmodified AI SDK with its Anthropic provider, which sends the key in x-api-key. */

const modelOf = ({ baseURL, apiKey }: MessagesServer) =>
  createAnthropic({ baseURL: `${baseURL}/v1`, apiKey })('scripted')

function weatherTool(asked: string[]) {
  const look = lookUp(asked)
  return tool({
    description: weather.description,
    inputSchema: jsonSchema<{ city: string }>(weather.input_schema as object),
    execute: async (input) => look(input),
  })
}

test('generateText', async (t) => {
  const server = await startMessages(t)
  const { text, finishReason, usage } = await generateText({
    model: modelOf(server),
    system: 'Be short.',
    prompt: 'Hi',
    temperature: 0.5,
    maxOutputTokens: 20,
  })
  assert.deepEqual([text, finishReason, usage.outputTokens], ['Hello', 'stop', 5])
  const [asked] = server.backend.asked
  assert.deepEqual(asked?.prompt, {
    text: '<s><|system|>Be short.<|end|><|user|>Hi<|end|><|assistant|>',
    special: true,
    add: false,
  })
  assert.deepEqual([asked?.sampling.temperature, asked?.ending.maxTokens], [0.5, 20])
})

test('streamText', async (t) => {
  const server = await startMessages(t, scriptOf('Hel', 'lo', ' there'))
  const result = streamText({ model: modelOf(server), prompt: 'Hi' })
  let text = ''
  for await (const delta of result.textStream) text += delta
  assert.equal(text, 'Hello there')
  assert.equal(await result.finishReason, 'stop')
  assert.equal((await result.usage).outputTokens, 11)
})

test('tools in several steps, streamed or not', async (t) => {
  const server = await startMessages(t, asksTheWeather)
  for (const isStreamed of [false, true]) {
    const cities: string[] = []
    const asked = {
      model: modelOf(server),
      tools: { weather: weatherTool(cities) },
      prompt: 'How is the weather?',
      stopWhen: stepCountIs(3),
    }
    const text = isStreamed ? await streamText(asked).text : (await generateText(asked)).text
    assert.deepEqual([cities, text], [['Paris', 'Rome'], 'It is warm.'])
  }
})

test('thoughts are received, and sent back in the next step', async (t) => {
  const server = await startParts(t)
  const thought = { kind: 'reasoning', text: 'I should look.' } as const
  for (const isStreamed of [false, true]) {
    const { model } = server
    model.parts = [
      thought,
      { kind: 'call', index: 0, id: 'call_0', name: 'weather' },
      { kind: 'arguments', index: 0, text: '{"city":"Paris"}' },
      { kind: 'callEnd', index: 0 },
    ]
    const look = lookUp([])
    const asked = {
      model: modelOf(server),
      tools: {
        weather: tool({
          inputSchema: jsonSchema<{ city: string }>(weather.input_schema as object),
          execute: async (input) => {
            model.parts = [{ kind: 'content', text: 'Warm.' }]
            return look(input)
          },
        }),
      },
      prompt: 'How is the weather?',
      stopWhen: stepCountIs(2),
      providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1500 } } },
    }
    const result = isStreamed ? streamText(asked) : await generateText(asked)
    const steps = await result.steps
    assert.deepEqual(
      steps.map(({ reasoningText, text }) => [reasoningText ?? '', text]),
      [
        ['I should look.', ''],
        ['', 'Warm.'],
      ],
    )
    const [input] = model.asked.at(-1)?.inputs ?? []
    assert.ok(input && 'conversation' in input)
    assert.deepEqual(
      input.conversation.messages.map(({ role, reasoning }) => [role, reasoning]),
      [
        ['user', undefined],
        ['assistant', 'I should look.'],
        ['tool', undefined],
      ],
    )
  }
})

test('refusals say what is wrong', async (t) => {
  const server = await startMessages(t)
  const image = { type: 'image' as const, image: new Uint8Array([0x89, 0x50, 0x4e, 0x47, 1, 2, 3, 4]) }
  await assert.rejects(
    generateText({
      model: modelOf(server),
      messages: [{ role: 'user', content: [{ type: 'text', text: 'See' }, image] }],
      maxRetries: 0,
    }),
    (error) => {
      assert.ok(APICallError.isInstance(error))
      assert.equal(error.statusCode, 400)
      assert.match(error.message, /messages\.0\.content\.1\.type: a block of type "image"/)
      return true
    },
  )
})

test('a failure in the middle of a stream is an error part', async (t) => {
  const server = await startMessages(t, function* (request) {
    yield prefilled(request)
    yield tokens('Hel', request)
    yield new Error('broken')
  })
  const result = streamText({ model: modelOf(server), prompt: 'Hi', onError: () => undefined })
  const types: string[] = []
  for await (const { type } of result.fullStream) types.push(type)
  assert.ok(types.includes('text-delta'))
  assert.ok(types.includes('error'))
})
