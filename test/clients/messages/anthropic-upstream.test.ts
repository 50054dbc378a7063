import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { keys, openApp } from '../../support/app.ts'
import {
  blockOf,
  endOf,
  openBeforeAnthropic,
  startOf,
  streaming,
  textBlock,
} from '../../support/fake-anthropic.ts'
import { modelsOfUpstream } from '../../support/fake-upstream.ts'
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

test('the SDK of OpenAI runs a tool', async (t) => {
  const { address } = await open(t)
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: keys.alice, maxRetries: 0 })
  const cities: string[] = []
  const run = client.chat.completions.runTools({
    model: 'far',
    stream: true,
    messages: [{ role: 'user', content: 'How is the weather?' }],
    tools: [
      {
        type: 'function',
        function: {
          name: weather.name,
          description: weather.description,
          parameters: weather.input_schema as never,
          parse: JSON.parse as (text: string) => { city: string },
          function: lookUp(cities),
        },
      },
    ],
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
    tools: [
      {
        type: 'function',
        function: {
          name: weather.name,
          description: weather.description,
          parameters: weather.input_schema as never,
          parse: JSON.parse as (text: string) => { city: string },
          function: lookUp(cities),
        },
      },
    ],
  })
  assert.equal(await run.finalContent(), 'It is warm.')
  assert.deepEqual(cities, ['Paris', 'Rome'])
  assert.match(promptOf(far.backend.asked.at(-1) as never), /Be brief\..*21 degrees in Rome/s)
  const anthropic = new Anthropic({ baseURL: address, apiKey: keys.alice, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  const { input_tokens } = await anthropic.messages.countTokens({ model: 'scripted', messages })
  assert.ok(input_tokens > 0)
})
