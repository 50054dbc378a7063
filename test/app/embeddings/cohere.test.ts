import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const { post } = await openApp({ after }, { backend: scriptedBackend() })

const texts = ['a cab', 'bad']

test('/v2/embed writes the vectors of /v1/embeddings as Cohere does', async () => {
  const { status, json, headers } = await post('/v2/embed', {
    model: 'scripted',
    texts,
    input_type: 'search_document',
    embedding_types: ['float', 'base64', 'ubinary', 'binary', 'float'],
  })
  assert.equal(status, 200)
  const { json: plain } = await post('/v1/embeddings', { input: texts })
  const { json: coded } = await post('/v1/embeddings', { input: texts, encoding_format: 'base64' })
  const float: number[][] = plain.data.map(({ embedding }: { embedding: number[] }) => embedding)
  assert.deepEqual(json.embeddings.float, float)
  assert.deepEqual(
    json.embeddings.base64,
    coded.data.map(({ embedding }: { embedding: string }) => embedding),
  )
  const bits = float.map((vector) => vector.map((value) => (value > 0 ? '1' : '0')).join(''))
  const bytes = bits.map((row) =>
    Array.from(row.match(/.{1,8}/g) ?? [], (byte) => Number.parseInt(byte.padEnd(8, '0'), 2)),
  )
  assert.deepEqual(json.embeddings.ubinary, bytes)
  assert.deepEqual(
    json.embeddings.binary,
    bytes.map((row) => row.map((byte) => byte - 128)),
  )
  assert.match(json.id, /^embd-/)
  assert.equal(json.response_type, 'embeddings_by_type')
  assert.deepEqual(json.texts, texts)
  assert.deepEqual(json.meta, {
    api_version: { version: '2' },
    billed_units: { input_tokens: plain.usage.prompt_tokens },
  })
  assert.equal(headers['x-heddle-ignored-fields'], 'input_type')
})

test('/v2/embed takes inputs of texts, and only floats by default', async () => {
  const text = (line: string) => ({ type: 'text', text: line })
  const { json } = await post('/v2/embed', {
    inputs: [{ content: [text('a'), text('cab')] }, { content: [text('bad')] }],
  })
  assert.deepEqual(json.texts, ['a\ncab', 'bad'])
  assert.deepEqual(Object.keys(json.embeddings), ['float'])
})

test('/v2/embed cuts off the asked end of a text that is too long, or none', async (t) => {
  const asked: unknown[] = []
  const scripted = scriptedBackend()
  const backend: typeof scripted = {
    ...scripted,
    pool: (request, each, signal) => {
      asked.push(request.truncate)
      return scripted.pool(request, each, signal)
    },
  }
  const own = await openApp(t, { backend })
  for (const fields of [
    {},
    { truncate: 'START' },
    { max_tokens: 2, truncate: 'NONE' },
    { truncate: 'NONE' },
  ]) {
    assert.equal((await own.post('/v2/embed', { texts, ...fields })).status, 200)
  }
  assert.deepEqual(asked, [
    { tokens: -1, side: 'right' },
    { tokens: -1, side: 'left' },
    { tokens: 2, side: 'right' },
    undefined,
  ])
})

test('/v2/embed refuses by name', async () => {
  for (const [fields, param] of [
    [{}, 'texts'],
    [{ texts: [] }, 'texts'],
    [{ texts, inputs: [{ content: [{ type: 'text', text: 'a' }] }] }, 'inputs'],
    [{ inputs: [{ content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }, 'inputs.0.content.0.type'],
    [{ images: ['data:image/png;base64,AAAA'] }, 'images'],
    [{ texts, embedding_types: ['int8'] }, 'embedding_types.0'],
    [{ texts, output_dimension: 0 }, 'output_dimension'],
    [{ texts, truncate: 'end' }, 'truncate'],
    [{ texts: Array.from({ length: 2_049 }, () => 'a') }, 'texts'],
  ] as const) {
    const { status, json } = await post('/v2/embed', fields)
    assert.deepEqual([status, json.error?.param], [400, param])
  }
})
