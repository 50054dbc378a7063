import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { modelsOfUpstream, startFakeUpstream, streamWords } from '../../support/fake-upstream.ts'
import { jpegOf, pngOf } from '../../support/pictures.ts'

// The same picture is refused with the same words by every API, before an upstream is asked.

const base64 = (bytes: Buffer) => bytes.toString('base64')
const dataUrl = (type: string, data: string) => `data:${type};base64,${data}`

interface Wire {
  url: string
  body(type: string, data: string[]): object
  /** The path of the picture at this index. */
  field(index: number): string
}

const wires: Record<string, Wire> = {
  chat: {
    url: chatUrl,
    body: (type, data) =>
      asking({
        messages: [
          {
            role: 'user',
            content: data.map((piece) => ({ type: 'image_url', image_url: { url: dataUrl(type, piece) } })),
          },
        ],
      }),
    field: (index) => `messages.0.content.${index}.image_url.url`,
  },
  responses: {
    url: '/v1/responses',
    body: (type, data) => ({
      input: [
        {
          role: 'user',
          content: data.map((piece) => ({ type: 'input_image', image_url: dataUrl(type, piece) })),
        },
      ],
    }),
    field: (index) => `input.0.content.${index}.image_url`,
  },
  messages: {
    url: '/v1/messages',
    body: (media_type, pieces) => ({
      max_tokens: 5,
      messages: [
        {
          role: 'user',
          content: pieces.map((data) => ({ type: 'image', source: { type: 'base64', media_type, data } })),
        },
      ],
    }),
    field: (index) => `messages.0.content.${index}.source.data`,
  },
  ollama: {
    url: '/api/chat',
    body: (_, images) => ({ model: 'far', messages: [{ role: 'user', content: '', images }] }),
    field: (index) => `messages.0.images.${index}`,
  },
}

const png = base64(pngOf(4, 3))
const wrong: Record<string, [type: string, data: string[], index: number, message: string]> = {
  'too wide': ['image/png', [base64(pngOf(65_535, 65_535))], 0, 'a picture of 65535 x 65535 pixels'],
  'cut off': ['image/png', [png, base64(pngOf(4, 3).subarray(0, 20))], 1, 'a picture that is cut off'],
}

for (const [name, wire] of Object.entries(wires)) {
  test(`${name}: what is wrong with a picture is refused by its field`, async (t) => {
    const upstream = await startFakeUpstream(t, streamWords('A', ' cat'), {
      models: [{ id: 'far', owned_by: 'vllm' }],
    })
    const { post } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
    for (const [type, data, index, message] of Object.values(wrong)) {
      const { status, json } = await post(wire.url, wire.body(type, data))
      const text: string = json.error.message ?? json.error
      assert.equal(status, 400)
      assert.ok(text.startsWith(`${wire.field(index)}: ${message}; accepted: `), text)
    }
    assert.equal(upstream.asked.length, 0)
    const { status, text } = await post(wire.url, wire.body('image/png', [`${base64(jpegOf(4, 3))}\n`]))
    assert.equal(status, 200, text)
    assert.deepEqual(upstream.asked.at(-1)?.body.messages[0].content.at(-1), {
      type: 'image_url',
      image_url: { url: dataUrl('image/jpeg', base64(jpegOf(4, 3))) },
    })
  })
}

test('responses: a picture in a file of OpenAI is refused by that field', async (t) => {
  const upstream = await startFakeUpstream(t, streamWords('A'), {
    models: [{ id: 'far', owned_by: 'vllm' }],
  })
  const { post } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
  const ask = (piece: object) => post('/v1/responses', { input: [{ role: 'user', content: [piece] }] })
  const { status, json, headers } = await ask({ type: 'input_image', file_id: 'file-1' })
  assert.deepEqual([status, json.error.param], [400, 'input.0.content.0.file_id'])
  assert.equal(headers['x-heddle-ignored-fields'], undefined)
  const image_url = dataUrl('image/png', png)
  const sent = await ask({ type: 'input_image', image_url, file_id: null })
  assert.deepEqual([sent.status, sent.headers['x-heddle-ignored-fields']], [200, undefined])
})
