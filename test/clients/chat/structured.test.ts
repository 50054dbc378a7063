import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, jsonSchema, Output, streamObject, streamText } from 'ai'
import OpenAI6 from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import OpenAI7 from 'openai-7'
import { z } from 'zod'
import { keys } from '../../support/app.ts'
import { type ChatServer, startChatServer } from '../../support/chat-server.ts'

/** Published clients that ask for objects, and a model with random weights: the server alone makes the answers fit. */
const versions = { 'openai 6': OpenAI6, 'openai 7': OpenAI7 as unknown as typeof OpenAI6 }

const Person = z.object({
  name: z.string().regex(/^[a-z]{1,12}$/),
  age: z.number().int().min(0).max(120),
  address: z.object({ city: z.enum(['Bonn', 'Riga']), zip: z.string().regex(/^\d{5}$/) }).nullable(),
  tags: z.array(z.enum(['a', 'b'])).max(3),
})

describe('objects', () => {
  const cleaning: (() => unknown)[] = []
  let server: ChatServer
  before(async () => {
    server = await startChatServer(
      { after: (clean: () => unknown) => void cleaning.push(clean) },
      { model: { vocabulary: 600 }, settings: { HEDDLE_MODEL_NAME: 'tiny' } },
    )
  })
  after(async () => {
    assert.equal(await server.end('SIGTERM'), 0)
    for (const clean of cleaning.reverse()) await clean()
  })

  const client = (OpenAI: typeof OpenAI6) =>
    new OpenAI({ baseURL: `${server.address}/v1`, apiKey: keys.alice })
  const asked = () => ({
    model: 'tiny',
    messages: [{ role: 'user' as const, content: 'Who?' }],
    response_format: zodResponseFormat(Person, 'person'),
    max_tokens: 400,
  })

  for (const [name, OpenAI] of Object.entries(versions)) {
    test(`${name}: parse`, async () => {
      const { choices } = await client(OpenAI).chat.completions.parse(asked())
      assert.equal(choices[0]?.finish_reason, 'stop')
      assert.deepEqual(Person.parse(choices[0]?.message.parsed), choices[0]?.message.parsed)
    })

    test(`${name}: stream`, async () => {
      const stream = client(OpenAI).chat.completions.stream(asked())
      let deltas = 0
      stream.on('content.delta', () => deltas++)
      const { choices } = await stream.finalChatCompletion()
      assert.deepEqual(Person.parse(choices[0]?.message.parsed), choices[0]?.message.parsed)
      assert.ok(deltas > 0)
    })
  }

  const model = () =>
    createOpenAICompatible({
      name: 'heddle',
      baseURL: `${server.address}/v1`,
      apiKey: keys.alice,
      supportsStructuredOutputs: true,
    })('tiny')
  const schema = jsonSchema<z.infer<typeof Person>>({
    type: 'object',
    properties: {
      name: { type: 'string', pattern: '^[a-z]{1,12}$' },
      age: { type: 'integer', minimum: 0, maximum: 120 },
      address: { type: 'null' },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 },
    },
    required: ['name', 'age', 'address', 'tags'],
    additionalProperties: false,
  })

  test('ai: generateObject and streamObject', async () => {
    const asking = { model: model(), schema, prompt: 'Who?', maxOutputTokens: 400 }
    const { object, finishReason } = await generateObject(asking)
    assert.equal(finishReason, 'stop')
    assert.deepEqual(Person.parse(object), object)
    const stream = streamObject(asking)
    let partials = 0
    for await (const _partial of stream.partialObjectStream) partials++
    assert.ok(partials > 0)
    const streamed = await stream.object
    assert.deepEqual(Person.parse(streamed), streamed)
  })

  test('ai: an object', async () => {
    const { output } = await generateText({
      model: model(),
      output: Output.object({ schema }),
      prompt: 'Who?',
      maxOutputTokens: 400,
    })
    assert.deepEqual(Person.parse(output), output)
  })

  test('ai: an object, streamed', async () => {
    const { partialOutputStream, output } = streamText({
      model: model(),
      output: Output.object({ schema }),
      prompt: 'Who?',
      maxOutputTokens: 400,
    })
    let partials = 0
    for await (const _partial of partialOutputStream) partials++
    assert.ok(partials > 0)
    const whole = await output
    assert.deepEqual(Person.parse(whole), whole)
  })
})
