import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl, eventsOf } from '../../support/chat.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const project_id = 'acme/default'

test('P12: an answer is a call: the request as it was sent, the answer as it was told, its usage', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  const { status, text, json, headers } = await post(chatUrl, asking({ temperature: 0.5 }))
  assert.equal(status, 200)
  const id = headers['x-heddle-call-id']
  const {
    json: { call },
  } = await post('/call/read', { project_id, id })
  assert.equal(call.id, id)
  assert.equal(call.op_name, 'heddle.chat.completions')
  assert.deepEqual(call.inputs, asking({ temperature: 0.5 }))
  assert.deepEqual(call.output, JSON.parse(text))
  assert.deepEqual(call.attributes, {
    heddle: { completion: json.id, wire: 'openai', stream: false },
  })
  const { prompt_tokens, completion_tokens, total_tokens } = json.usage
  assert.deepEqual(call.summary.usage, {
    scripted: { requests: 1, prompt_tokens, completion_tokens, total_tokens },
  })
  assert.deepEqual(call.summary.heddle.finish_reasons, ['stop'])
  assert.equal(call.svc_user_id, 'alice')
  assert.equal(call.exception, null)
})

test('P12: a stream is the same call as the whole answer', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  const whole = await post(chatUrl, asking())
  const streamed = await post(chatUrl, asking({ stream: true }))
  const { chunks } = eventsOf(streamed.text)
  const {
    json: { call },
  } = await post('/call/read', { project_id, id: streamed.headers['x-heddle-call-id'] })
  assert.equal(call.output.id, chunks[0]?.id)
  assert.deepEqual(call.output.choices, whole.json.choices)
  assert.deepEqual(call.output.usage, whole.json.usage)
})
