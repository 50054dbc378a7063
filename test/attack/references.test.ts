import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { completeOf, project } from '../support/calls.ts'
import { create } from '../support/objects.ts'
import { createTable } from '../support/tables.ts'

const ref = (path: string) => `weave:///${project}/object/${path}`

const many = 1_000
const depth = 12

test('a chain of refs that fan out is refused at the ninth', async (t) => {
  const opened = await openAppWithoutShedding(t)
  await create(opened, 'level0', { end: 'here' })
  for (let level = 1; level <= depth; level++) {
    const next = ref(`level${level - 1}:latest`)
    await create(opened, `level${level}`, Object.fromEntries(Array.from('abcdefgh', (name) => [name, next])))
  }
  const ask = (level: number, name: string) => {
    const path = `/attr/${name}`.repeat(level)
    return opened.post('/refs/read_batch', {
      refs: Array(many).fill(ref(`level${level}:latest${path}/attr/end`)),
    })
  }
  assert.deepEqual((await ask(8, 'a')).json.vals, Array(many).fill('here'))
  const { status, json } = await ask(9, 'h')
  assert.deepEqual([status, json.code], [400, 'invalid_value'])
  assert.equal(json.reason, 'refs.0: resolves through more than 8 references; accepted: at most 8.')
})

test('circular refs are refused, whichever way they lead', async (t) => {
  const opened = await openAppWithoutShedding(t)
  await create(opened, 'one', { next: ref('other:latest/attr/next') })
  await create(opened, 'other', { next: ref('one:latest/attr/next') })
  await create(opened, 'self', { next: ref('self:latest/attr/next/attr/next') })
  for (const path of [
    'one:latest/attr/next/attr/next',
    'self:latest/attr/next/attr/next',
    'self:v0/attr/next/key/a',
  ]) {
    const { status, json } = await opened.post('/refs/read_batch', { refs: Array(many).fill(ref(path)) })
    assert.deepEqual([status, json.code], [400, 'invalid_value'], path)
  }
})

test('a thousand copies of one large value are refused, and a few are returned', async (t) => {
  const opened = await openAppWithoutShedding(t)
  const large = 'x'.repeat(1024 * 1024)
  await create(opened, 'large', { large })
  for (const path of ['large:latest', 'large:v0', 'large:latest/attr/large']) {
    const { status, json } = await opened.post('/refs/read_batch', { refs: Array(many).fill(ref(path)) })
    assert.deepEqual(
      [status, json],
      [
        413,
        {
          reason: 'refs: the answer would take more than 67108864 bytes. Ask for fewer at once.',
          code: 'answer_too_large',
        },
      ],
      path,
    )
  }
  const few = await opened.post('/refs/read_batch', { refs: Array(3).fill(ref('large:latest')) })
  assert.deepEqual(few.json.vals, Array(3).fill({ large }))
  // A small value is returned, however large the value that contains it.
  const inside = await opened.post('/refs/read_batch', {
    refs: Array(many).fill(ref('large:latest/attr/none')),
  })
  assert.deepEqual(inside.json.vals, Array(many).fill(null))
  const behind = ref('large:latest/attr/large/attr/none')
  const steps = await opened.post('/refs/read_batch', { refs: Array(many).fill(behind) })
  assert.deepEqual(steps.json.vals, Array(many).fill(null))
})

test('many different large values are refused before they are all read', async (t) => {
  const opened = await openAppWithoutShedding(t)
  const refs: string[] = []
  for (let n = 0; n < 9; n++) {
    await create(opened, 'large', { n, large: 'x'.repeat(8 * 1024 * 1024) })
    refs.push(ref(`large:v${n}/attr/n`))
  }
  const { status, json } = await opened.post('/refs/read_batch', { refs })
  assert.deepEqual([status, json.code], [413, 'answer_too_large'])
  assert.deepEqual((await opened.post('/refs/read_batch', { refs: refs.slice(0, 3) })).json.vals, [0, 1, 2])
})

test('a ref with as many steps as fit is followed to its end', async (t) => {
  const opened = await openAppWithoutShedding(t)
  const { digest, row_digests } = await createTable(opened, [{ a: 1 }])
  await create(opened, 'o', { rows: `weave:///${project}/table/${digest}` })
  for (const [path, found] of [
    ['/attr/a'.repeat(1_000), null],
    ['/index/0'.repeat(1_000), null],
    [`/index/${'9'.repeat(4_000)}`, null],
    [`/attr/${'a'.repeat(8_000)}`, null],
    [`/attr/rows/id/${row_digests[0]}${'/attr/a'.repeat(1_000)}`, null],
    [`/attr/rows/id/${row_digests[0]}/attr/a`, 1],
  ] as const) {
    const { status, json, text } = await opened.post('/refs/read_batch', { refs: [ref(`o:latest${path}`)] })
    assert.deepEqual([status, json.vals], [200, [found]], text)
  }
  const longer = await opened.post('/refs/read_batch', { refs: [ref(`o:latest/attr/${'a'.repeat(10_000)}`)] })
  assert.equal(longer.status, 422)
})

test('a call with many refs to an object that refers to itself grows to a bound and no further', async (t) => {
  const { post, ...opened } = await openAppWithoutShedding(t)
  const list = Array(200).fill(ref('fan:latest'))
  await create({ post, ...opened }, 'fan', { next: list, filler: 'x'.repeat(100_000) })
  const call = completeOf({ inputs: { next: list } })
  await post('/v2/acme/qa/calls/complete', { batch: [call] })
  const expand_columns = list.map((_, index) => `inputs.next.${index}`)
  const { status, text } = await post('/calls/stream_query', { project_id: project, expand_columns })
  assert.equal(status, 200)
  assert.ok(text.length < 8 * 1024 * 1024, `${text.length} characters`)
  const { inputs } = JSON.parse(text)
  assert.equal(inputs.next[0]._ref, ref('fan:latest'))
  assert.equal(inputs.next.at(-1), ref('fan:latest'))
})
