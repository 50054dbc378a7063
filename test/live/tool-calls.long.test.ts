import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { turnOf, turnOfChunks } from '../support/answer-turns.ts'
import { eventsOf } from '../support/chat.ts'
import { startChatServer } from '../support/chat-server.ts'

/** Schemas of every kind, all finite: a random model writes anything that is allowed. */
const parameters: Record<string, object> = {
  texts: {
    properties: {
      code: { type: 'string', pattern: '^[A-Z]{2}-\\d{3}$' },
      note: { type: 'string', maxLength: 12 },
      kind: { enum: ['a', 'b "quoted"', 7, null] },
    },
    required: ['code', 'kind'],
    additionalProperties: false,
  },
  numbers: {
    properties: {
      count: { type: 'integer', minimum: 1, maximum: 99 },
      share: { type: 'number', minimum: 0, maximum: 1, multipleOf: 0.25 },
      sure: { type: 'boolean' },
    },
    required: ['count', 'share', 'sure'],
    additionalProperties: false,
  },
  nested: {
    properties: {
      places: {
        type: 'array',
        minItems: 1,
        maxItems: 2,
        items: {
          type: 'object',
          properties: {
            name: { $ref: '#/$defs/name' },
            kin: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/name' }] },
          },
          required: ['name', 'kin'],
          additionalProperties: false,
        },
      },
    },
    required: ['places'],
    additionalProperties: false,
    $defs: { name: { type: 'string', minLength: 1, maxLength: 4 } },
  },
  nothing: { properties: {}, additionalProperties: false },
}

test('P13: arguments of calls fit their schema, streamed or not', async (t) => {
  const server = await startChatServer(t, { model: { vocabulary: 600, context: 8192 } })
  const ajv = new Ajv2020({ strict: false })
  const tools = Object.entries(parameters).map(([name, schema]) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', ...schema } },
  }))
  const checks = new Map(tools.map(({ function: { name, parameters } }) => [name, ajv.compile(parameters)]))
  let complete = 0
  for (const fields of [
    ...tools.map((tool) => ({ tool_choice: { type: 'function', function: { name: tool.function.name } } })),
    { tool_choice: 'required', parallel_tool_calls: false },
    { tool_choice: 'required', include_reasoning: false },
    { tool_choice: 'auto' },
  ]) {
    for (const seed of [1, 2, 3]) {
      const body = { tools, ...fields, seed, n: 4, max_tokens: 400 }
      const { status, json, text } = await server.ask(body)
      assert.equal(status, 200, text)
      const { chunks } = eventsOf((await server.ask({ ...body, stream: true })).text)
      for (const choice of json.choices) {
        const turn = turnOf(choice)
        const streamed = turnOfChunks(chunks, choice.index)
        const shown = ({ calls, ...rest }: typeof turn) => ({
          ...rest,
          calls: calls.map((call) => call.function),
        })
        assert.deepEqual(shown(streamed), shown(turn))
        for (const [index, { function: call }] of turn.calls.entries()) {
          if (turn.finish === 'length' && index === turn.calls.length - 1) continue
          const check = checks.get(call.name)
          assert.ok(check?.(JSON.parse(call.arguments)), `${call.name}: ${call.arguments}`)
          complete++
        }
      }
    }
  }
  t.diagnostic(`${complete} calls`)
  assert.ok(complete >= 40, `${complete} calls are complete`)
  assert.equal(await server.end('SIGTERM'), 0)
})

test('P13: the built-in model calls only tools that were offered', async (t) => {
  const server = await startChatServer(t, { model: 'builtin' })
  const number = { type: 'number' }
  const tools = Object.entries({
    get_weather: { city: { type: 'string' } },
    add: { a: number, b: number },
    now: {},
  }).map(([name, properties]) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties, required: Object.keys(properties) } },
  }))
  const names = tools.map((tool) => tool.function.name)
  let calls = 0
  for (const place of ['Paris', 'Oslo', 'Rome', 'Tokyo']) {
    for (const question of [
      `What is the weather in ${place}?`,
      `How warm is it in ${place} now?`,
      `What time is it in ${place}?`,
      `How do I say weather in ${place}?`,
    ]) {
      const body = { messages: [{ role: 'user', content: question }], tools, temperature: 0, max_tokens: 80 }
      const { status, json, text } = await server.ask(body)
      assert.equal(status, 200, text)
      const turn = turnOf(json.choices[0])
      const streamed = turnOfChunks(eventsOf((await server.ask({ ...body, stream: true })).text).chunks, 0)
      assert.deepEqual([streamed.content, streamed.calls.length], [turn.content, turn.calls.length])
      assert.ok(!turn.content.includes('<tool_call>'), `${question}: ${turn.content}`)
      for (const call of turn.calls) assert.ok(names.includes(call.function.name), call.function.name)
      calls += turn.calls.length
    }
  }
  t.diagnostic(`${calls} calls`)
  assert.equal(await server.end('SIGTERM'), 0)
})
