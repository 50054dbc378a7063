import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startChat } from './chat/server.ts'

/** The requests of promptfoo 0.123 through its three OpenAI providers. The program itself (400 MB) is too large to install. */

const model = 'scripted'
const messages = [{ role: 'user', content: 'What is the capital of Mali?' }]
const text = messages[0]?.content
const ends = ['<|im_end|>', '<|endoftext|>']
const noPenalty = { top_p: 1, presence_penalty: 0, frequency_penalty: 0 }

for (const [path, body, saidOf] of [
  ['chat/completions', { model, messages, max_tokens: 20, temperature: 0 }, 'choices.0.message.content'],
  [
    'completions',
    { model, prompt: text, max_tokens: 20, temperature: 0, ...noPenalty, best_of: 1, stop: ends },
    'choices.0.text',
  ],
  [
    'responses',
    { model, input: text, max_output_tokens: 20, temperature: 0, text: { format: { type: 'text' } } },
    'output.0.content.0.text',
  ],
] as const) {
  test(`promptfoo uses ${path}`, async (t) => {
    const { baseURL, apiKey } = await startChat(t)
    const answer = await fetch(`${baseURL}/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-promptfoo-version': '0.123.1',
      },
      body: JSON.stringify(body),
    })
    const said: unknown = await answer.json()
    assert.equal(answer.status, 200, JSON.stringify(said))
    const found = saidOf
      .split('.')
      .reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], said)
    assert.equal(found, 'Hello')
    const { usage } = said as { usage: { total_tokens: number } }
    assert.ok(usage.total_tokens > 0)
  })
}
