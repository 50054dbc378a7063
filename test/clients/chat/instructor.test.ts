import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import createInstructor from '@instructor-ai/instructor'
import OpenAI from 'openai'
import { z } from 'zod/v3'
import { callText } from '../../support/tools.ts'
import { startPlayed } from './played.ts'

/** Unmodified Instructor: objects as the arguments of a tool, and by a schema. */

const server = await startPlayed({ after })
const { plays } = server

const Forecast = z.object({ city: z.string(), rain: z.boolean() })
const forecast = { city: 'Oslo', rain: true }
const client = createInstructor({ client: new OpenAI(server), mode: 'TOOLS' })
const asked = {
  model: 'played',
  messages: [{ role: 'user' as const, content: 'Weather?' }],
  response_model: { schema: Forecast, name: 'Forecast' },
}

test('an object, not streamed', async () => {
  plays(callText('Forecast', forecast))
  const { _meta, ...object } = await client.chat.completions.create(asked)
  assert.deepEqual(object, forecast)
  assert.ok((_meta?.usage?.completion_tokens ?? 0) > 10)
})

test('an object, streamed', async () => {
  plays(callText('Forecast', forecast))
  let last: object = {}
  for await (const { _meta: _, ...partial } of await client.chat.completions.create({
    ...asked,
    stream: true,
  })) {
    last = partial
  }
  assert.deepEqual(last, forecast)
})

for (const mode of ['JSON', 'JSON_SCHEMA'] as const) {
  test(`an object in the mode ${mode}`, async () => {
    const other = createInstructor({ client: new OpenAI(server), mode })
    plays(JSON.stringify(forecast))
    const { _meta: _, ...object } = await other.chat.completions.create(asked)
    assert.deepEqual(object, forecast)
  })
}
