import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { modelsOfUpstream, startFakeUpstream, streamWords } from '../../support/fake-upstream.ts'
import { pngOf } from '../../support/pictures.ts'

// Images are passed on to an upstream, whichever API they came in.

const picture = {
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${pngOf(4, 3).toString('base64')}`, detail: 'low' },
}
const content = [{ type: 'text', text: 'What is this?' }, picture]
const messages = [{ role: 'user', content }]

async function open(t: TestContext, owned_by: string, more = {}) {
  const upstream = await startFakeUpstream(t, streamWords('A', ' cat'), {
    models: [{ id: 'far', owned_by, ...more }],
  })
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

const data = pngOf(4, 3).toString('base64')
const url = `data:image/png;base64,${data}`
const sent = { type: 'image_url', image_url: { url } }
const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }

for (const owner of ['heddle', 'vllm', 'llamacpp', 'somebody']) {
  test(`images in messages are passed on as in chat completions to an upstream of ${owner}`, async (t) => {
    const { post, upstream } = await open(t, owner)
    const text = { type: 'text', text: 'What is this?' }
    const linked = { type: 'image', source: { type: 'url', url: 'https://example.com/cat.png' } }
    const ask = async (messages: object[]) => {
      const answer = await post('/v1/messages', { max_tokens: 5, messages })
      assert.equal(answer.status, 200, answer.text)
      return upstream.asked.at(-1)?.body.messages
    }
    assert.deepEqual(await ask([{ role: 'user', content: [text, block, linked] }]), [
      {
        role: 'user',
        content: [text, sent, { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } }],
      },
    ])
    // As Claude Code sends a picture that it has read.
    const calls = ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'Read', input: {} }))
    const results = [
      { type: 'tool_result', tool_use_id: 'a', content: [text, block] },
      { type: 'tool_result', tool_use_id: 'b', content: 'Nothing' },
    ]
    const [, , ...after] = await ask([
      { role: 'user', content: 'Look' },
      { role: 'assistant', content: calls },
      { role: 'user', content: [...results, text] },
    ])
    assert.deepEqual(after, [
      { role: 'tool', tool_call_id: 'a', content: 'What is this?' },
      { role: 'tool', tool_call_id: 'b', content: 'Nothing' },
      { role: 'user', content: [sent, text] },
    ])
  })

  test(`images in responses are passed on, and stay in what is continued: ${owner}`, async (t) => {
    const { post, get, upstream } = await open(t, owner)
    const image = { type: 'input_image', image_url: url }
    const text = { type: 'input_text', text: 'What is this?' }
    const first = await post('/v1/responses', {
      input: [{ role: 'user', content: [text, image] }],
      store: true,
    })
    assert.equal(first.status, 200, first.text)
    const asked = { role: 'user', content: [{ type: 'text', text: 'What is this?' }, sent] }
    assert.deepEqual(upstream.asked.at(-1)?.body.messages, [asked])
    const next = await post('/v1/responses', { input: 'And now?', previous_response_id: first.json.id })
    assert.equal(next.status, 200, next.text)
    assert.deepEqual(upstream.asked.at(-1)?.body.messages[0], asked)
    const { json } = await get(`/v1/responses/${first.json.id}/input_items`)
    assert.deepEqual(json.data[0].content, [text, { ...image, detail: 'auto' }])

    const call = { type: 'function_call', name: 'view_image', arguments: '{}' }
    const spelled = { ...image, image_url: { url, detail: 'low' } }
    await post('/v1/responses', { input: [{ role: 'user', content: [spelled] }] })
    assert.deepEqual(upstream.asked.at(-1)?.body.messages[0].content, [
      { type: 'image_url', image_url: { url, detail: 'low' } },
    ])
    const output = { type: 'function_call_output', output: [{ ...image, detail: 'high' }] }
    await post('/v1/responses', {
      input: [
        { role: 'user', content: 'Look' },
        { ...call, call_id: 'a' },
        { ...call, call_id: 'b' },
        { ...output, call_id: 'a' },
        { ...output, call_id: 'b', output: 'Nothing' },
      ],
    })
    assert.deepEqual(upstream.asked.at(-1)?.body.messages.slice(2), [
      { role: 'tool', tool_call_id: 'a', content: '' },
      { role: 'tool', tool_call_id: 'b', content: 'Nothing' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url, detail: 'high' } }] },
    ])
  })
}

test('an image without its content, or of a kind that no upstream is sent, is refused by its field', async (t) => {
  const { post, upstream } = await open(t, 'vllm')
  for (const [source, field] of [
    [{ type: 'base64', media_type: 'image/png' }, 'data'],
    [{ type: 'base64', data }, 'media_type'],
    [{ type: 'url' }, 'url'],
    [{ type: 'file', file_id: 'x' }, 'type'],
    [undefined, 'type'],
  ] as const) {
    const content = [{ type: 'image', source }]
    const { status, json } = await post('/v1/messages', {
      max_tokens: 5,
      messages: [{ role: 'user', content }],
    })
    assert.equal(status, 400)
    assert.match(json.error.message, new RegExp(`^messages\\.0\\.content\\.0\\.source\\.${field}: `))
  }
  const byFile = { type: 'input_image', file_id: 'x' }
  const { status, json } = await post('/v1/responses', { input: [{ role: 'user', content: [byFile] }] })
  assert.deepEqual([status, json.error.param], [400, 'input.0.content.0.file_id'])
  const file = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }
  const refused = await post('/v1/messages', { max_tokens: 5, messages: [{ role: 'user', content: [file] }] })
  assert.match(refused.json.error.message, /document.*accepted: text, image, tool_result/)
  assert.equal(upstream.asked.length, 0)
})

test('a picture takes its tokens from the answer, not its bytes', async (t) => {
  const { post, upstream } = await open(t, 'somebody', { max_model_len: 32_768 })
  const big = { type: 'image', source: { ...block.source, data: pngOf(4, 3, 750_000).toString('base64') } }
  const { status } = await post('/v1/messages', {
    max_tokens: 32_000,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, big] }],
  })
  assert.equal(status, 200)
  const { max_completion_tokens: most } = upstream.asked.at(-1)?.body ?? {}
  assert.ok(most > 30_000 && most < 32_000, `${most}`)
})
