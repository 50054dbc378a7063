import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startChatServer } from '../support/chat-server.ts'

const schema = {
  type: 'object',
  properties: {
    city: { enum: ['Paris', 'Parma', 'Prague'] },
    size: { enum: ['small', 'large'] },
    tags: {
      type: 'array',
      items: { enum: ['old', 'new', 'far'] },
      uniqueItems: true,
      minItems: 2,
      maxItems: 3,
    },
  },
  required: ['city', 'size', 'tags'],
}
const given = '{ "city" : "Par'
const fields = {
  messages: [
    { role: 'user', content: 'Name a city.' },
    { role: 'assistant', content: given },
  ],
  add_generation_prompt: false,
  continue_final_message: true,
  response_format: { type: 'json_schema', json_schema: { name: 'city', schema } },
  max_tokens: 200,
}
const samplings = [
  { temperature: 0 },
  { seed: 7, n: 3 },
  { seed: 8, top_p: 0.9 },
  { seed: 9, min_tokens: 100 },
]

test('a given beginning and its answer fit the constraint together, streamed or not, with guesses or without', async (t) => {
  const told: string[][] = []
  for (const speculation of ['on', 'off']) {
    const server = await startChatServer(t, {
      model: 'builtin',
      settings: { HEDDLE_SPECULATION: speculation },
    })
    const answers: string[] = []
    for (const sampling of samplings) {
      for (const stream of [false, true]) {
        const { choices } = await server.said({ ...fields, ...sampling, stream })
        for (const { content, finish_reason } of choices) {
          assert.equal(finish_reason, 'stop', content)
          const { city, size, tags } = JSON.parse(given + content)
          assert.match(city, /^Par(is|ma)$/)
          assert.match(size, /^(small|large)$/)
          assert.ok(tags.length >= 2 && new Set(tags).size === tags.length, content)
        }
        answers.push(choices.map(({ content }) => content).join('\n'))
      }
    }
    for (let at = 0; at < answers.length; at += 2) assert.equal(answers[at], answers[at + 1])
    told.push(answers)
    const refused = await server.ask({
      ...fields,
      messages: [fields.messages[0], { role: 'assistant', content: '{"city": "Rome' }],
    })
    assert.equal(refused.status, 400)
    assert.match(refused.json.error.message, /"R" at character 11; accepted there: "P"/)
  }
  assert.deepEqual(told[0], told[1])
})
