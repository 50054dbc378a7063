import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import { z } from 'zod'
import { looksUp, startResponses } from './server.ts'

const asked: string[] = []
const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: z.object({ city: z.string() }),
  async execute({ city }) {
    asked.push(city)
    return `sunny in ${city}`
  },
})

/** With the defaults: the Responses API, with all items sent in each turn. */
for (const stream of [false, true]) {
  test(`@openai/agents: an agent with a tool${stream ? ', streamed' : ''}`, async (t) => {
    const { baseURL, apiKey, backend } = await startResponses(t, looksUp)
    const modelProvider = new OpenAIProvider({ baseURL, apiKey })
    const runner = new Runner({ modelProvider, tracingDisabled: true })
    const agent = new Agent({ name: 'a', instructions: 'Be kind.', model: 'played', tools: [getWeather] })
    asked.length = 0
    let output: unknown
    if (stream) {
      const result = await runner.run(agent, 'The weather of Rome?', { stream: true })
      let heard = ''
      for await (const piece of result.toTextStream()) heard += piece
      await result.completed
      assert.ok(heard.endsWith('It is sunny.'), heard)
      output = result.finalOutput
    } else output = (await runner.run(agent, 'The weather of Rome?')).finalOutput
    assert.equal(output, 'It is sunny.')
    assert.deepEqual(asked, ['Rome'])
    assert.equal(backend.asked.length, 2)
    await modelProvider.close?.()
  })
}
