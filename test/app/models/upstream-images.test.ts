import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { modelsOfUpstream, startFakeUpstream, streamWords } from '../../support/fake-upstream.ts'

// Images are passed on in chat completions, and refused in APIs that cannot express them to an upstream.

const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } }
const content = [{ type: 'text', text: 'What is this?' }, picture]
const messages = [{ role: 'user', content }]

async function open(t: TestContext, owned_by: string) {
  const upstream = await startFakeUpstream(t, streamWords('A', ' cat'), { models: [{ id: 'far', owned_by }] })
  return { upstream, ...(await openApp(t, { models: await modelsOfUpstream([upstream.url]) })) }
}

for (const owner of ['vllm', 'llamacpp', 'somebody']) {
  test(`a chat completion with an image is passed on unchanged to an upstream of ${owner}`, async (t) => {
    const { post, upstream } = await open(t, owner)
    for (const stream of [false, true]) {
      const { status, text } = await post(chatUrl, asking({ messages, stream }))
      assert.equal(status, 200, text)
      assert.match(text, /cat/)
      assert.deepEqual(upstream.asked.at(-1)?.body.messages, messages)
    }
  })
}

test('a Heddle upstream refuses an image, and its message is returned', async (t) => {
  const { post, upstream } = await open(t, 'heddle')
  const error = {
    message: 'messages.0.content.1.type: it takes no picture',
    type: 'invalid_request_error',
    param: 'messages.0.content.1.type',
    code: 'invalid_value',
  }
  upstream.answer = (response) => response.writeHead(400).end(JSON.stringify({ error }))
  const { status, json } = await post(chatUrl, asking({ messages }))
  assert.equal(status, 400)
  assert.deepEqual([json.error.code, json.error.param], [error.code, error.param])
})

test('responses and messages refuse images and name the field, and no upstream is asked', async (t) => {
  const { post, upstream } = await open(t, 'vllm')
  const image = { type: 'input_image', image_url: picture.image_url.url }
  const response = await post('/v1/responses', { input: [{ role: 'user', content: [image] }] })
  assert.equal(response.status, 400, response.text)
  assert.match(response.json.error.message, /image/)
  const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
  const message = await post('/v1/messages', {
    max_tokens: 5,
    messages: [{ role: 'user', content: [block] }],
  })
  assert.equal(message.status, 400, message.text)
  assert.match(message.json.error.message, /image/)
  assert.equal(upstream.asked.length, 0)
})
