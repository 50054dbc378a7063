// In a process of its own: it measures how long the event loop is held.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveRefs } from '../../../src/operations/objects/resolve.ts'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { loopTurnsUntil, yieldAtEachStep } from '../../support/event-loop.ts'
import { create, objectOf } from '../../support/objects.ts'
import { refusedWith } from '../../support/refusals.ts'

const ref = (tail: string, of = project) => `weave:///${of}/object/${tail}`

test('refs/read_batch: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/refs/read_batch', { refs: [] })
  const { post } = await openApp(t)
  assert.equal((await post('/refs/read_batch', { refs: 'x' })).status, 422)
  assert.deepEqual(whole(await post('/refs/read_batch', { refs: Array(1001).fill(ref('o:v0')) })), {
    status: 400,
    body: { reason: 'refs: 1001 entries; accepted: at most 1000.', code: 'invalid_value' },
  })
  for (const bad of [
    'text',
    '',
    `weave:///${project}/table/abc`,
    `weave:///${project}/call/abc`,
    `weave:///${project}/file/abc`,
    ref('o:v0/attr'),
    ref('o:v0/step/a'),
    ref('o:v0/index/a'),
  ]) {
    assert.deepEqual(whole(await post('/refs/read_batch', { refs: [bad] })), {
      status: 400,
      body: {
        reason: `refs.0: ${bad}; accepted: a reference to an object or an op: <scheme>:///<entity>/<project>/object/<name>:<digest>.`,
        code: 'invalid_value',
      },
    })
  }
  assert.deepEqual(whole(await post('/refs/read_batch', { refs: [ref('o:v0', 'globex/qa')] })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of refs.0: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
})

test('refs/read_batch: returns values in the order of the refs, with their digits, for any scheme', async (t) => {
  const opened = await openApp(t)
  const text = `{"obj":{"project_id":"${project}","object_id":"n","val":{"a":1.0,"b":9007199254740993}}}`
  const { digest } = (await opened.post('/obj/create', text)).json
  await create(opened, 'o', ['x'])
  const answer = await opened.post('/refs/read_batch', {
    refs: [ref('o:latest'), ref(`n:${digest}`), `other:///${project}/op/o:v0`, ref('o'), ref('n:v0/key/b')],
  })
  assert.equal(answer.status, 200)
  assert.equal(answer.text, '{"vals":[["x"],{"a":1.0,"b":9007199254740993},["x"],["x"],9007199254740993]}')
  assert.deepEqual(whole(await opened.post('/refs/read_batch', { refs: [] })).body, { vals: [] })
})

test('refs/read_batch: one missing object refuses the whole batch, and a deleted one is null', async (t) => {
  const opened = await openApp(t)
  await create(opened, 'o', 'a')
  const deleted = await create(opened, 'o', 'b')
  await opened.post('/obj/delete', { project_id: project, object_id: 'o', digests: ['v1'] })
  const both = [ref('o:latest'), ref(`o:${deleted}`), ref('o:v1/attr/x')]
  assert.deepEqual((await opened.post('/refs/read_batch', { refs: both })).json, { vals: ['a', null, null] })
  for (const tail of ['o:nothing', 'nobody:latest', 'o:v2/attr/x']) {
    const [name = '', version = ''] = tail.split(/[:/]/)
    assert.deepEqual(whole(await opened.post('/refs/read_batch', { refs: [ref('o:v0'), ref(tail)] })), {
      status: 404,
      body: {
        reason: `refs.1: there is no object "${name}" with version "${version}" in project "${project}".`,
        code: 'object_not_found',
      },
    })
  }
})

test('refs/read_batch: a path leads into a value, and to null where nothing exists', async (t) => {
  const opened = await openApp(t)
  await create(opened, 'o', { 'a b/c': { list: [1, { deep: true }, null] }, é: 'x', __proto: 1 })
  for (const [path, value] of [
    ['attr/a%20b%2Fc/key/list/index/1/attr/deep', true],
    ['key/a%20b%2Fc/attr/list/index/0', 1],
    ['key/%C3%A9', 'x'],
    ['key/a%20b%2Fc/attr/list/index/2', null],
    ['key/a%20b%2Fc/attr/list/index/3', null],
    ['key/a%20b%2Fc/attr/list/key/0', null],
    ['key/a%20b%2Fc/index/0', null],
    ['attr/nothing/attr/deeper', null],
    ['attr/constructor', null],
    ['attr/__proto__', null],
    ['key/%C3%A9/index/0', null],
  ] as const) {
    const { json } = await opened.post('/refs/read_batch', { refs: [ref(`o:v0/${path}`)] })
    assert.deepEqual(json, { vals: [value] }, path)
  }
})

test('refs/read_batch: a key is found however a client encodes it in the path', async (t) => {
  const opened = await openApp(t)
  const hard = ' a:b%/+_(){}|"\\\'<>!@$^&*#,.[]-=;~`é🐟%zz'
  const plain = ['a:b', '100%', '%', '50% off: today', '%zz', 'é%', '%C3', '%ED%A0%80', 'a+b', 'a b']
  const keys = [hard, 'a%3Ab', '50%25', '%C3%A9', ...plain]
  await create(opened, 'o', Object.fromEntries(keys.map((key, n) => [key, n])))
  const read = async (paths: readonly string[]) => {
    const refs = paths.map((path) => ref(`o:v0/key/${path}`))
    return (await opened.post('/refs/read_batch', { refs })).json
  }
  const python = (key: string) =>
    encodeURIComponent(key).replace(/[!'()*]/g, (sign) => escapes[sign] as string)
  const escapes: Record<string, string> = { '!': '%21', "'": '%27', '(': '%28', ')': '%29', '*': '%2A' }
  const lower = (key: string) => python(key).replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase())
  const vals = [...keys.keys()]
  assert.deepEqual(await read(keys.map(encodeURIComponent)), { vals })
  assert.deepEqual(await read(keys.map(python)), { vals })
  assert.deepEqual(await read(keys.map(lower)), { vals })
  // As they are, the keys that contain no escape of a character.
  assert.deepEqual(await read(plain), { vals: plain.map((key) => keys.indexOf(key)) })
})

test('refs/read_batch: reads table rows, also through datasets and the objects that name them', async (t) => {
  const opened = await openApp(t)
  const rows = Array.from({ length: 300 }, (_, n) => ({ n }))
  const table = (await opened.post('/table/create', { table: { project_id: project, rows } })).json
  const data = await create(opened, 'data', { rows: `weave:///${project}/table/${table.digest}` })
  await create(opened, 'evaluation', { dataset: ref(`data:${data}`) })
  const refs = table.row_digests.map((digest: string) => ref(`data:${data}/attr/rows/id/${digest}`))
  assert.deepEqual((await opened.post('/refs/read_batch', { refs })).json, { vals: rows })
  const through = ref(`evaluation:v0/attr/dataset/attr/rows/id/${table.row_digests[7]}/key/n`)
  assert.deepEqual((await opened.post('/refs/read_batch', { refs: [through] })).json, { vals: [7] })
  assert.deepEqual(
    whole(await opened.post('/refs/read_batch', { refs: [ref('data:v0/attr/rows/id/none')] })),
    {
      status: 404,
      body: {
        reason: `refs.0: there is no table row "none" in project "${project}".`,
        code: 'row_not_found',
      },
    },
  )
  for (const path of ['id/x', 'attr/nothing/id/x']) {
    const { status, json } = await opened.post('/refs/read_batch', { refs: [ref(`data:v0/${path}`)] })
    assert.deepEqual([status, json.code], [400, 'invalid_value'])
    assert.ok(json.reason.startsWith('refs.0: "id" applied to '))
  }
})

test('refs/read_batch: a ref inside a value does not lead to another tenant', async (t) => {
  const opened = await openApp(t)
  await opened.post('/obj/create', objectOf('secret', { a: 1 }, { project_id: 'globex/qa' }), keys.bob)
  await create(opened, 'o', {
    object: ref('secret:v0', 'globex/qa'),
    table: 'weave:///globex/qa/table/abc',
  })
  const vals = (await opened.post('/refs/read_batch', { refs: [ref('o:v0/attr/object')] })).json.vals
  assert.deepEqual(vals, [ref('secret:v0', 'globex/qa')], 'the ref is returned as text')
  for (const path of ['attr/object/attr/a', 'attr/table/id/x']) {
    const { status, json } = await opened.post('/refs/read_batch', { refs: [ref(`o:v0/${path}`)] })
    assert.deepEqual([status, json.code], [403, 'entity_forbidden'])
  }
})

test('refs/read_batch: following refs that form a cycle ends', async (t) => {
  const opened = await openApp(t)
  await create(opened, 'ring', { next: ref('ring:latest') })
  const { status, json } = await opened.post('/refs/read_batch', {
    refs: [ref(`ring:v0${'/attr/next'.repeat(20)}`)],
  })
  assert.deepEqual([status, json.code], [400, 'invalid_value'])
  const within = [ref(`ring:v0${'/attr/next'.repeat(9)}`)]
  assert.deepEqual((await opened.post('/refs/read_batch', { refs: within })).json.vals, [ref('ring:latest')])
})

test('refs/read_batch: yields to other requests while it resolves many refs', async (t) => {
  const opened = await openApp(t)
  const caller = { name: 'alice', role: 'member', entities: new Set(['acme']) } as const
  await create(opened, 'o', 5)
  const refs = Array.from({ length: 200 }, (_, n) => ref(`o${n}:latest`))
  yieldAtEachStep(t)
  const resolving = resolveRefs(opened.database, caller, refs)
  const turns = loopTurnsUntil(resolving)
  await assert.rejects(resolving, refusedWith('object_not_found'))
  // One turn for each ref that is looked up, and one for each that is returned.
  assert.ok((await turns) >= 2 * refs.length)
})
