import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, Output, streamText, tool } from 'ai'
import { z } from 'zod'
import { looksUp, startResponses } from './server.ts'

const asked: string[] = []
const tools = {
  get_weather: tool({
    description: 'The weather of a city',
    inputSchema: z.object({ city: z.string() }),
    async execute({ city }) {
      asked.push(city)
      return `sunny in ${city}`
    },
  }),
}

/** With the defaults: responses are stored, and earlier output of the model is sent back as item references. */
for (const stream of [false, true]) {
  test(`@ai-sdk/openai: a tool loop${stream ? ', streamed' : ''}`, async (t) => {
    const { baseURL, apiKey, backend } = await startResponses(t, looksUp)
    const references: string[] = []
    const openai = createOpenAI({
      baseURL,
      apiKey,
      fetch: async (url, init) => {
        references.push(...[...String(init?.body).matchAll(/item_reference/g)].map(([name]) => name))
        return fetch(url, init)
      },
    })
    asked.length = 0
    const given = {
      model: openai('played'),
      tools,
      stopWhen: isStepCount(5),
      prompt: 'The weather of Rome?',
    }
    const text = stream ? await streamText(given).text : (await generateText(given)).text
    assert.equal(text, 'It is sunny.')
    assert.deepEqual(asked, ['Rome'])
    assert.equal(backend.asked.length, 2)
    assert.ok(references.length > 0)
  })
}

test('@ai-sdk/openai: an object, and thoughts', async (t) => {
  const { baseURL, apiKey } = await startResponses(t, '<think>\nHm.\n</think>\n\n{"city": "Rome"}')
  const openai = createOpenAI({ baseURL, apiKey })
  const { output, reasoningText } = await generateText({
    model: openai('played'),
    output: Output.object({ schema: z.object({ city: z.string() }) }),
    prompt: 'A city?',
    providerOptions: { openai: { reasoningEffort: 'high', reasoningSummary: 'auto', forceReasoning: true } },
  })
  assert.deepEqual(output, { city: 'Rome' })
  assert.equal(reasoningText?.trim(), 'Hm.')
})
