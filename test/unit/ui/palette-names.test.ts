import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesIn } from '../../../ui/palette/names.ts'

const span = '00f067aa0ba902b7'
const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const uuid = '01a2085d-9b25-75c9-bde9-25fcb45aba47'
const digest = 'oZ8k3qx'.padEnd(43, 'y')

const paths = (text: string) => namesIn(text).named.map(({ path }) => path)

test('ids are found anywhere in a text, each once', () => {
  assert.deepEqual(namesIn(span).ids, [span])
  assert.deepEqual(namesIn(trace).ids, [trace])
  assert.deepEqual(namesIn(digest).ids, [digest])
  assert.deepEqual(namesIn(`00-${trace}-${span}-01`).ids, [span, trace])
  assert.deepEqual(namesIn(`level=error call=${uuid} trace=${trace} (again ${uuid})`).ids, [uuid, trace])
  const json = JSON.stringify({ call: { id: span, project_id: 'acme/qa', n: 1234567890123456 } }, null, 2)
  assert.deepEqual(namesIn(json), { named: [], ids: [span, '1234567890123456'], project: 'acme/qa' })
})

test('words and longer runs of characters are not ids', () => {
  for (const text of ['refund please', `x${span}`, `${trace}0`, `a-${span}`, 'deadbeef', ''])
    assert.deepEqual(namesIn(text), { named: [], ids: [], project: undefined })
})

test('refs and links lead to their screens', () => {
  assert.deepEqual(paths(`"weave:///acme/qa/call/${span}",`), [`/ui/acme/qa/call/${span}`])
  assert.deepEqual(paths('weave:///acme/qa/object/my%20set:v2'), ['/ui/acme/qa/data/my%20set?v=v2'])
  assert.deepEqual(paths('weave:///acme/qa/op/run:latest'), ['/ui/acme/qa/data/run?v=latest'])
  assert.deepEqual(paths(`https://wandb.ai/acme/qa/r/call/${span}`), [`/acme/qa/r/call/${span}`])
  assert.deepEqual(paths('https://wandb.ai/acme/qa/weave/objects/set/versions/abc'), [
    '/ui/acme/qa/data/set?v=abc',
  ])
  assert.deepEqual(paths('see http://127.0.0.1:8080/ui/acme/qa/calls?q=status%3Aerror now'), [
    '/ui/acme/qa/calls?q=status%3Aerror',
  ])
  for (const text of [
    'https://example.com/',
    'https://example.com/x',
    'http://%',
    'https://wandb.ai/acme/qa/weave/objects/%E0%A4',
    'a.'.repeat(200_000),
    'weave:///acme/qa/table/abc',
  ])
    assert.deepEqual(namesIn(text), { named: [], ids: [], project: undefined })
  assert.deepEqual(namesIn(`weave:///acme/qa/call/${span}`).ids, [])
})

test('only the first few ids of a long text are used', () => {
  const many = Array.from({ length: 20 }, (_, index) => String(index).padStart(16, '0')).join(' ')
  assert.equal(namesIn(many).ids.length, 8)
})
