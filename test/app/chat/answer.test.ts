import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

test('x', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend })
  const a = await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], logprobs: true, top_logprobs: 2, n: 2, return_token_ids: true, prompt_logprobs: 1 })
  console.log(a.status, JSON.stringify(a.json, null, 1).slice(0, 3000))
  const s = await post('/v1/chat/completions/', { messages: [{ role: 'user', content: 'Hi' }], stream: true, stream_options: { include_usage: true } , n: 2})
  console.log(s.status, s.headers, s.text)
  console.log(backend.asked[0])
  assert.equal(a.status, 200)
})
