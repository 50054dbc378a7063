import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import { z } from 'zod'
import { callText } from '../../support/tools.ts'
import { startPlayed } from './played.ts'

/** OpenAI's unmodified agents SDK over chat completions. */

const server = await startPlayed({ after })
const { plays, prompts } = server

const { baseURL, apiKey } = server
const modelProvider = new OpenAIProvider({ baseURL, apiKey, useResponses: false })
const runner = new Runner({ modelProvider, tracingDisabled: true })
const model = 'played'
const weather = tool({
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `rain in ${city}`,
})
const bothCalls = `${callText('get_weather', { city: 'Oslo' })}\n${callText('get_weather', { city: 'Rīga' })}`
const agent = new Agent({ name: 'Forecaster', instructions: 'Use tools.', model, tools: [weather] })

test('a tool loop, not streamed', async () => {
  plays(bothCalls, 'It rains in both.')
  const { finalOutput } = await runner.run(agent, 'Weather?')
  assert.equal(finalOutput, 'It rains in both.')
  assert.match(prompts()[1] ?? '', /rain in Oslo.*rain in Rīga/s)
})

test('a tool loop, streamed', async () => {
  plays(bothCalls, 'It rains in both.')
  const result = await runner.run(agent, 'Weather?', { stream: true })
  const names: string[] = []
  for await (const event of result) {
    if (event.type === 'run_item_stream_event') names.push(event.name)
  }
  await result.completed
  assert.equal(result.finalOutput, 'It rains in both.')
  assert.equal(names.filter((name) => name === 'tool_output').length, 2)
})

test('a hand-off to another agent, with an object as the result', async () => {
  const Report = z.object({ rain: z.boolean() })
  const reporter = new Agent({ name: 'Reporter', instructions: 'Report.', model, outputType: Report })
  const triage = Agent.create({ name: 'Triage', instructions: 'Hand off.', model, handoffs: [reporter] })
  plays(callText('transfer_to_Reporter', '{}'), '{"rain":true}')
  const { finalOutput } = await runner.run(triage, 'Weather?')
  assert.deepEqual(finalOutput, { rain: true })
})
