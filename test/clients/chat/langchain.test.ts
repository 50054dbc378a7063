import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent } from 'langchain'
import { z } from 'zod'
import { callText } from '../../support/tools.ts'
import { startPlayed } from './played.ts'

/** Unmodified LangChain: tools bound by hand, objects through functions, and its agent. */

const server = await startPlayed({ after })
const { plays, prompts } = server
const { baseURL, apiKey } = server

const model = new ChatOpenAI({ model: 'played', apiKey, configuration: { baseURL }, maxRetries: 0 })
const weather = tool(async ({ city }: { city: string }) => `rain in ${city}`, {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: z.object({ city: z.string() }),
})
const bothCalls = `${callText('get_weather', { city: 'Oslo' })}\n${callText('get_weather', { city: 'Rīga' })}`
const question = new HumanMessage('Weather?')

test('bindTools, by hand', async () => {
  plays(bothCalls, 'It rains in both.')
  const bound = model.bindTools([weather])
  const first = await bound.invoke([question])
  assert.deepEqual(
    first.tool_calls?.map(({ name, args }) => [name, args]),
    [
      ['get_weather', { city: 'Oslo' }],
      ['get_weather', { city: 'Rīga' }],
    ],
  )
  const results = await Promise.all((first.tool_calls ?? []).map((call) => weather.invoke(call)))
  assert.ok(results.every((result) => result instanceof ToolMessage))
  const second = await bound.invoke([question, first, ...results])
  assert.equal(second.text, 'It rains in both.')
  assert.match(prompts()[1] ?? '', /rain in Oslo.*rain in Rīga/s)
})

test('bindTools, streamed', async () => {
  plays(bothCalls, 'It rains in both.')
  const bound = model.bindTools([weather], { tool_choice: 'auto', parallel_tool_calls: true })
  const join = async (messages: Parameters<typeof bound.stream>[0]) => {
    const chunks = []
    for await (const chunk of await bound.stream(messages)) chunks.push(chunk)
    return chunks.reduce((whole, chunk) => whole.concat(chunk))
  }
  const first = await join([question])
  assert.deepEqual(
    first.tool_calls?.map(({ args }) => args),
    [{ city: 'Oslo' }, { city: 'Rīga' }],
  )
  assert.deepEqual(first.invalid_tool_calls, [])
  const results = await Promise.all((first.tool_calls ?? []).map((call) => weather.invoke(call)))
  assert.equal((await join([question, first, ...results])).text, 'It rains in both.')
})

test('an object as the arguments of a function', async () => {
  const schema = z.object({ city: z.string(), rain: z.boolean() })
  for (const strict of [true, false]) {
    plays(callText('forecast', { city: 'Oslo', rain: true }))
    const structured = model.withStructuredOutput(schema, {
      method: 'functionCalling',
      name: 'forecast',
      strict,
    })
    assert.deepEqual(await structured.invoke([question]), { city: 'Oslo', rain: true })
  }
})

test('createAgent, streamed or not', async () => {
  const agent = createAgent({ model, tools: [weather], systemPrompt: 'Use tools.' })
  plays(bothCalls, 'It rains in both.')
  const { messages } = await agent.invoke({ messages: [question] })
  assert.equal(messages.at(-1)?.text, 'It rains in both.')
  assert.equal(messages.filter((message) => message instanceof ToolMessage).length, 2)
  assert.match(prompts()[1] ?? '', /Use tools\..*rain in Oslo.*rain in Rīga/s)

  plays(bothCalls, 'It rains in both.')
  let said = ''
  for await (const [message] of await agent.stream({ messages: [question] }, { streamMode: 'messages' })) {
    if (!(message instanceof ToolMessage)) said += message.text
  }
  assert.equal(said, 'It rains in both.')
  assert.match(prompts()[1] ?? '', /rain in Oslo.*rain in Rīga/s)
})

test('an object by its schema, as any JSON, and with the raw message', async () => {
  const schema = z.object({ city: z.string(), rain: z.boolean() })
  const forecast = { city: 'Oslo', rain: true }
  for (const method of ['jsonSchema', 'jsonMode'] as const) {
    plays(JSON.stringify(forecast), JSON.stringify(forecast))
    const structured = model.withStructuredOutput(schema, { method, name: 'forecast', includeRaw: true })
    const { raw, parsed } = await structured.invoke([question])
    assert.deepEqual(parsed, forecast)
    assert.equal(raw.text, JSON.stringify(forecast))
    let last: unknown
    for await (const partial of await model
      .withStructuredOutput(schema, { method, name: 'forecast' })
      .stream([question])) {
      last = partial
    }
    assert.deepEqual(last, forecast)
  }
})
