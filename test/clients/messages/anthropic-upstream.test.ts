import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic, { APIError } from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { keys, openApp } from '../../support/app.ts'
import {
  answerJson,
  blockOf,
  endOf,
  errorBody,
  openBeforeAnthropic,
  startOf,
  streaming,
  textBlock,
} from '../../support/fake-anthropic.ts'
import { modelsOfUpstream, type UpstreamHandler } from '../../support/fake-upstream.ts'
import { asksTheWeather, lookUp, promptOf, startMessages, weather } from './server.ts'

/** Unmodified clients of both APIs before a server with Anthropic's. */

const json = (partial_json: string) => ({ type: 'input_json_delta', partial_json })
const thought = blockOf(
  0,
  { type: 'thinking', thinking: '', signature: '' },
  { type: 'thinking_delta', thinking: 'Hm' },
  { type: 'signature_delta', signature: 'sig-1' },
)
const asks = [
  startOf(),
  ...thought,
  ...blockOf(
    1,
    { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
    json('{"city":'),
    json('"Paris"}'),
  ),
  ...endOf('tool_use'),
]
const answers = [startOf(), ...textBlock(0, 'It is ', 'warm.'), ...endOf('end_turn')]

async function open(t: TestContext) {
  const { app, upstream } = await openBeforeAnthropic(t, (response, asked) => {
    const hasResult = JSON.stringify(asked.body.messages).includes('21 degrees in Paris')
    return streaming(...(hasResult ? answers : asks))(response, asked)
  })
  return { address: await app.listen({ host: '127.0.0.1', port: 0 }), upstream }
}

test('the SDK of Anthropic streams a call, and returns its result with the sealed thought', async (t) => {
  const { address, upstream } = await open(t)
  const client = new Anthropic({ baseURL: address, apiKey: keys.alice, maxRetries: 0 })
  const cities: string[] = []
  const asked = {
    model: 'far',
    max_tokens: 4_000,
    thinking: { type: 'enabled' as const, budget_tokens: 2_000 },
    tools: [{ ...weather, input_schema: { ...weather.input_schema, required: ['city'] } }],
  }
  const question = { role: 'user' as const, content: 'How is the weather?' }
  const first = await client.messages.stream({ ...asked, messages: [question] }).finalMessage()
  assert.equal(first.stop_reason, 'tool_use')
  const call = first.content.find((block) => block.type === 'tool_use')
  assert.deepEqual(call?.input, { city: 'Paris' })
  const result = {
    type: 'tool_result' as const,
    tool_use_id: String(call?.id),
    content: lookUp(cities)(call?.input as { city: string }),
  }
  const second = await client.messages.create({
    ...asked,
    messages: [question, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }],
  })
  assert.deepEqual(second.content, [{ type: 'text', text: 'It is warm.' }])
  assert.deepEqual(upstream.asked.at(-1)?.body.messages[1].content[0], {
    type: 'thinking',
    thinking: 'Hm',
    signature: 'sig-1',
  })
})

/** The tool as OpenAI's SDK runs it. */
const runnableWeather = (cities: string[]) => ({
  type: 'function' as const,
  function: {
    name: weather.name,
    description: weather.description,
    parameters: weather.input_schema as never,
    parse: JSON.parse as (text: string) => { city: string },
    function: lookUp(cities),
  },
})

test('the SDK of OpenAI runs a tool', async (t) => {
  const { address } = await open(t)
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: keys.alice, maxRetries: 0 })
  const cities: string[] = []
  const run = client.chat.completions.runTools({
    model: 'far',
    stream: true,
    messages: [{ role: 'user', content: 'How is the weather?' }],
    tools: [runnableWeather(cities)],
  })
  assert.equal(await run.finalContent(), 'It is warm.')
  assert.deepEqual(cities, ['Paris'])
})

test('a second server of this kind is asked through its Messages', async (t) => {
  const far = await startMessages(t, asksTheWeather)
  const models = await modelsOfUpstream([`${far.baseURL}/v1`], {
    kind: 'anthropic',
    addresses: [{ url: `${far.baseURL}/v1`, weight: 1, key: far.apiKey }],
  })
  const { app } = await openApp(t, { models })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: keys.alice, maxRetries: 0 })
  const cities: string[] = []
  const run = client.chat.completions.runTools({
    model: 'scripted',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'How is the weather?' },
    ],
    tools: [runnableWeather(cities)],
  })
  assert.equal(await run.finalContent(), 'It is warm.')
  assert.deepEqual(cities, ['Paris', 'Rome'])
  assert.match(promptOf(far.backend.asked.at(-1) as never), /Be brief\..*21 degrees in Rome/s)
  const anthropic = new Anthropic({ baseURL: address, apiKey: keys.alice, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  const { input_tokens } = await anthropic.messages.countTokens({ model: 'scripted', messages })
  assert.ok(input_tokens > 0)
})

/** The SDK before a server that answers so. */
async function sdkBefore(t: TestContext, answer: UpstreamHandler) {
  const { app, upstream, sent } = await openBeforeAnthropic(t, answer)
  const baseURL = await app.listen({ host: '127.0.0.1', port: 0 })
  const { messages } = new Anthropic({ baseURL, apiKey: keys.alice, maxRetries: 0 })
  const hi = { role: 'user' as const, content: 'Hi' }
  return { messages, upstream, sent, asked: { model: 'far', max_tokens: 100, messages: [hi] } }
}

test('the SDK of Anthropic reads empty answers, and characters that arrive in pieces', async (t) => {
  const { messages, upstream, asked } = await sdkBefore(t, streaming(startOf(), ...endOf('end_turn')))
  assert.deepEqual((await messages.create(asked)).content, [])
  assert.deepEqual((await messages.stream(asked).finalMessage()).content, [])
  const text = 'Größe 👩‍👩‍👧 日本'
  upstream.answer = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const events = [startOf(), ...textBlock(0, text), { type: 'ping' }, ...endOf('end_turn')]
    const bytes = Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join(''))
    for (const byte of bytes) {
      response.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    response.end()
  }
  assert.equal(await messages.stream(asked).finalText(), text)
})

test('the SDK of Anthropic is told of an overload, before and in the middle of a stream', async (t) => {
  const overload = errorBody('overloaded_error', 'Overloaded')
  const { messages, upstream, asked } = await sdkBefore(t, (response) =>
    answerJson(response, overload, 529, { 'retry-after': '7' }),
  )
  const fault = async () => {
    const error = await messages
      .stream(asked)
      .finalMessage()
      .catch((error: unknown) => error)
    assert.ok(error instanceof APIError)
    return error
  }
  const told = ({ status, headers, error }: APIError) => [
    ...[status, headers?.get('retry-after') ?? null],
    (error as { error?: { type?: string } }).error?.type,
  ]
  assert.deepEqual(told(await fault()), [503, '7', 'overloaded_error'])
  upstream.answer = streaming(overload)
  assert.deepEqual(told(await fault()), [503, '1', 'overloaded_error'])
  upstream.answer = streaming(startOf(), ...textBlock(0, 'Half').slice(0, 2), overload)
  assert.deepEqual(told(await fault()), [undefined, null, 'overloaded_error'])
})

test('blocks that cannot be passed on are refused by their type', async (t) => {
  const { messages, upstream, asked, sent } = await sdkBefore(t, streaming(...answers))
  const source = { type: 'text' as const, media_type: 'text/plain' as const, data: 'x' }
  const refused: [block: Anthropic.ContentBlockParam, field: string][] = [
    [{ type: 'document', source }, 'type'],
    [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'eA==' } }, 'type'],
    [{ type: 'search_result', source: 'x', title: 'x', content: [{ type: 'text', text: 'x' }] }, 'type'],
    [{ type: 'image', source: { type: 'file', file_id: 'file_1' } as never }, 'source.type'],
  ]
  for (const [block, field] of refused) {
    const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }, block] }
    await assert.rejects(messages.create({ ...asked, messages: [message] }), (error: Error) => {
      assert.ok(error instanceof Anthropic.BadRequestError)
      assert.match(error.message, new RegExp(`messages\\.0\\.content\\.1\\.${field}: `))
      return true
    })
  }
  const used: Anthropic.ContentBlockParam = {
    type: 'server_tool_use',
    id: 's',
    name: 'web_search',
    input: {},
  }
  await assert.rejects(
    messages.create({
      ...asked,
      messages: [...asked.messages, { role: 'assistant', content: [used] }, ...asked.messages],
    }),
    /messages\.1\.content\.0\.type: .*server_tool_use/,
  )
  assert.equal(upstream.asked.length, 0)
  const image = { type: 'image' as const, source: { type: 'url' as const, url: 'https://example.com/a.png' } }
  const tools = [{ ...weather, input_schema: { ...weather.input_schema, required: ['city'] } }]
  await messages.create({
    ...asked,
    ...{ tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true }, stop_sequences: ['END'] },
    messages: [{ role: 'user', content: [image] }],
  })
  assert.deepEqual(sent().messages, [{ role: 'user', content: [image] }])
  assert.deepEqual(
    [sent().tool_choice, sent().stop_sequences],
    [{ type: 'auto', disable_parallel_tool_use: true }, ['END']],
  )
})
