import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { bodyThread } from '../../src/body-contracts.ts'
import { JsonText } from '../../src/domain/json/text.ts'
import { createBodyReader } from '../../src/http/body-reader.ts'
import { openApp } from '../support/app.ts'
import { project } from '../support/calls.ts'

function openReader(t: TestContext, heapMb?: number) {
  const reader = createBodyReader(bodyThread, heapMb)
  t.after(() => reader.close())
  return (contract: string, text: string) => reader.read('alice', contract, largeBody(text))
}

/** In more than one segment, as the server receives it. */
function largeBody(text: string) {
  const bytes = Buffer.from(text)
  const middle = Math.floor(bytes.length / 2)
  const segments = [bytes.subarray(0, middle), bytes.subarray(middle)].map((piece) => {
    const segment = new SharedArrayBuffer(piece.length)
    new Uint8Array(segment).set(piece)
    return segment
  })
  return { segments, length: bytes.length }
}

const start = (inputs: string) =>
  `{"start":{"project_id":"${project}","op_name":"x","started_at":"2026-01-01T00:00:00Z","attributes":{"n":1.0},"inputs":${inputs}}}`

test('a worker thread parses a body as the main thread would', async (t) => {
  const read = openReader(t)
  const {
    body: { result },
  } = await read(
    'operations/calls/contract#StartBody',
    start(`{ "a": [1.50, "é"], "long": "${'ж'.repeat(70_000)}" }`),
  )
  assert.ok('value' in result)
  const { start: call } = result.value as { start: Record<string, JsonText> }
  assert.equal(call.attributes?.text, '{"n":1.0}')
  assert.equal(call.inputs?.text, `{"a":[1.50,"é"],"long":"${'ж'.repeat(70_000)}"}`)
  assert.ok(
    call.inputs instanceof JsonText && typeof call.inputs.stored !== 'string',
    'a long text is shared',
  )
})

test('the worker refuses an invalid body with the same message', async (t) => {
  const read = openReader(t)
  const { post } = await openApp(t)
  for (const text of [
    start('5'),
    start('{}').slice(0, -1),
    '\u00a0',
    start('['.repeat(300) + ']'.repeat(300)),
    '{}',
  ]) {
    const {
      body: { result },
    } = await read('operations/calls/contract#StartBody', text)
    assert.ok('error' in result, text)
    const { json } = await post('/call/start', text)
    assert.deepEqual([result.error.message, result.error.code], [json.reason, json.code])
    assert.deepEqual(result.error.detail, json.detail)
  }
})

test('a body that needs too much memory is refused, and the next one is parsed', async (t) => {
  const read = openReader(t, 64)
  const lists = `{"messages":[{"role":"user","content":[{"type":"text","x":[${'[],'.repeat(1_000_000)}[]]}]}]}`
  await assert.rejects(read('operations/chat/contract#ChatBody', lists), {
    name: 'Refusal',
    code: 'body_too_costly',
  })
  const {
    body: { result },
  } = await read('operations/calls/contract#StartBody', start('{}'))
  assert.ok('value' in result)
})

test('closing a reader refuses unread bodies', async () => {
  const reader = createBodyReader(bodyThread)
  const reading = assert.rejects(
    reader.read('alice', 'operations/calls/contract#StartBody', largeBody(start('{}'))),
    {
      code: 'stopping',
    },
  )
  await Promise.all([reading, reader.close()])
})
