import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { tool } from '@llamaindex/core/tools'
import { openai } from '@llamaindex/openai'
import { agent, agentStreamEvent, agentToolCallResultEvent } from '@llamaindex/workflow'
import { z } from 'zod'
import { callText } from '../../support/tools.ts'
import { startPlayed } from './played.ts'

/** Unmodified LlamaIndex: its model with tools, and its agent, which always streams. */

const server = await startPlayed({ after })
const { plays, prompts } = server

const llm = openai({ model: 'played', ...server, maxRetries: 0 })
const weather = tool({
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `rain in ${city}`,
})
const oslo = callText('get_weather', { city: 'Oslo' })
const bothCalls = `${oslo}\n${callText('get_weather', { city: 'Rīga' })}`
const messages = [{ role: 'user' as const, content: 'Weather?' }]

test('chat with tools, streamed or not', async () => {
  plays(bothCalls, bothCalls)
  const { message } = await llm.chat({ messages, tools: [weather] })
  const calls = message.options && 'toolCall' in message.options ? message.options.toolCall : []
  assert.deepEqual(
    calls.map(({ name }) => name),
    ['get_weather', 'get_weather'],
  )
  const ids = new Map<string, unknown>()
  for await (const { options } of await llm.chat({ messages, tools: [weather], stream: true })) {
    if (options === undefined || !('toolCall' in options)) continue
    for (const { id, input } of options.toolCall) ids.set(id, input)
  }
  assert.deepEqual([...ids.values()], [{ city: 'Oslo' }, { city: 'Rīga' }])
})

test('the tool loop of its model', async () => {
  plays(oslo)
  const { newMessages, toolCalls } = await llm.exec({ messages, tools: [weather] })
  assert.equal(toolCalls.length, 1)
  plays('It rains.')
  const answer = await llm.exec({ messages: [...messages, ...newMessages], tools: [weather] })
  assert.equal(answer.newMessages.at(-1)?.content, 'It rains.')
  assert.match(prompts()[0] ?? '', /rain in Oslo/)
})

test('an agent', async () => {
  plays(bothCalls, 'It rains in both.')
  const running = agent({ llm, tools: [weather] }).runStream('Weather?')
  let said = ''
  let results = 0
  for await (const event of running) {
    if (agentStreamEvent.include(event)) said += event.data.delta
    if (agentToolCallResultEvent.include(event)) results++
  }
  assert.deepEqual([said, results], ['It rains in both.', 2])
  assert.match(prompts()[1] ?? '', /rain in Oslo.*rain in Rīga/s)
})
