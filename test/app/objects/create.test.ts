import assert from 'node:assert/strict'
import { test } from 'node:test'
import { digestOfJson } from '../../../src/domain/digests.ts'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { classValue, create, objectOf, readObject } from '../../support/objects.ts'

const digests = {
  one: 'XdhgKMbg1k4iUYb5astpM4ssWXZN95FiEH9cS7NNExA',
  float: 'dCYJsgfwkAqOLf866DrEeUGvXCm7brXylYTKfdY9g1Q',
}

test('obj/create: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/obj/create', objectOf('name', { a: 1 }))
  const { post } = await openApp(t)
  for (const [body, place, msg] of [
    [{}, 'obj', 'expected object, received nothing'],
    [objectOf('', 1), 'obj.object_id', 'expected string to have >=1 characters, received ""'],
    [objectOf('a/b', 1), 'obj.object_id', 'expected letters, digits, "_", "." and "-", received "a/b"'],
    [
      objectOf('..', 1),
      'obj.object_id',
      'expected a name other than . and .., which cannot be part of a URL, received ".."',
    ],
    [objectOf('a:b', 1), 'obj.object_id', 'expected letters, digits, "_", "." and "-", received "a:b"'],
    [{ obj: { project_id: project, object_id: 'a' } }, 'obj.val', 'expected a JSON value, received nothing'],
  ] as const) {
    const answer = await post('/obj/create', body)
    assert.equal(answer.status, 422)
    assert.equal(answer.json.reason, `The body does not fit the schema: ${place}: ${msg}.`)
    assert.equal(answer.json.code, 'invalid_request')
  }
  assert.equal((await post('/obj/create', objectOf('x'.repeat(129), 1))).status, 422)
  assert.equal((await post('/obj/create', objectOf('x'.repeat(128), 1))).status, 200)
  assert.deepEqual(whole(await post('/obj/create', objectOf('a', 1, { project_id: 'globex/qa' }))), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of obj.project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  assert.deepEqual(
    whole(await post('/obj/create', objectOf('a', 1, { builtin_object_class: 'Leaderboard' }))),
    {
      status: 400,
      body: {
        reason: 'obj.builtin_object_class: "Leaderboard"; accepted: AnnotationSpec.',
        code: 'invalid_value',
      },
    },
  )
})

test('obj/create: equal values are one version, however they are written', async (t) => {
  const { post } = await openApp(t)
  const answers = []
  for (const val of ['{"b":2,"a":1}', '{ "a" : 1 , "b" : 2 }']) {
    const body = `{"obj":{"project_id":"${project}","object_id":"o","val":${val}}}`
    answers.push(whole(await post('/obj/create', body)))
  }
  const answer = {
    status: 200,
    body: { digest: '2El9nYJ3CnBykmEJWqmPfvUVTXr0mfgDe2yiUClnhaY', object_id: 'o' },
  }
  assert.deepEqual(answers, [answer, answer])
  const { objs } = (await post('/objs/query', { project_id: project })).json
  assert.equal(objs.length, 1)
})

test('obj/create: numbers keep their digits, and the digits decide the digest', async (t) => {
  const opened = await openApp(t)
  const send = async (val: string) => {
    const text = `{"obj":{"project_id":"${project}","object_id":"o","val":${val}}}`
    return (await opened.post('/obj/create', text)).json.digest
  }
  assert.equal(await send('{"a":1}'), digests.one)
  assert.equal(await send('{"a":1.0}'), digests.float)
  assert.match((await readObject(opened, 'o')).text, /"val":\{"a":1\.0\}/)
  await send('{"a":9007199254740993}')
  assert.match((await readObject(opened, 'o')).text, /"val":\{"a":9007199254740993\}/)
})

test('obj/create: of values with the same digest the first text is kept', async (t) => {
  const opened = await openApp(t)
  const send = async (val: string) => {
    const text = `{"obj":{"project_id":"${project}","object_id":"o","val":${val}}}`
    return (await opened.post('/obj/create', text)).json.digest
  }
  const digest = await send('{"a":1e400}')
  await send('{"a":1}')
  for (const again of ['{"a":1e500}', '{ "a" : 2, "a" : 1E400 }']) assert.equal(await send(again), digest)
  const { text, json } = await readObject(opened, 'o')
  assert.match(text, /"val":\{"a":1e400\}/)
  assert.deepEqual([json.obj.digest, json.obj.size_bytes], [digest, '{"a":1e400}'.length])
})

test('obj/create: a large value gets the digest, the class and the text that a small one would', async (t) => {
  const opened = await openApp(t)
  const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, x: n / 7, name: `né ${n}` }))
  const value = classValue('Big', { rows, text: 'é'.repeat(100_000), 'key 😀': 1, 'key \uffff': 2 }, ['Base'])
  const text = JSON.stringify(value)
  const digest = await create(opened, 'o', value)
  assert.equal(digest, digestOfJson(text))
  const spaced = JSON.stringify(objectOf('p', value), null, 1)
  assert.equal((await opened.post('/obj/create', spaced)).json.digest, digest)
  const { obj } = (await readObject(opened, 'p')).json
  assert.deepEqual(
    [obj.val, obj.kind, obj.base_object_class, obj.leaf_object_class, obj.size_bytes],
    [value, 'object', 'Base', 'Big', Buffer.byteLength(text)],
  )
  const broken = spaced.replace('"n": 19999', '"n": 01')
  assert.deepEqual((await opened.post('/obj/create', broken)).status, 400)
})

test('obj/create: new values are new versions, and an old value becomes the latest again', async (t) => {
  const opened = await openApp(t)
  for (const val of ['a', 'b', 'c', 'a']) await create(opened, 'o', val)
  const { objs } = (await opened.post('/objs/query', { project_id: project })).json
  const shown = (obj: { val: string; version_index: number; is_latest: number }) => [
    obj.val,
    obj.version_index,
    obj.is_latest,
  ]
  assert.deepEqual(objs.map(shown), [
    ['a', 0, 1],
    ['b', 1, 0],
    ['c', 2, 0],
  ])
})

test('obj/create: any JSON is a value', async (t) => {
  const opened = await openApp(t)
  for (const [index, val] of [null, true, 0, '', [], {}, [null], 'text'].entries()) {
    await create(opened, `o${index}`, val)
    assert.deepEqual((await readObject(opened, `o${index}`)).json.obj.val, val)
  }
})

test('obj/create: stores nothing when the digest is not the expected one', async (t) => {
  const opened = await openApp(t)
  const { post } = opened
  const wrong = await post('/obj/create', objectOf('o', { a: 1 }, { expected_digest: 'other' }))
  assert.deepEqual(whole(wrong), {
    status: 409,
    body: {
      reason: `obj.expected_digest: "other" was expected, but the digest is ${digests.one}. Nothing was stored.`,
      code: 'digest_differs',
    },
  })
  assert.equal((await readObject(opened, 'o')).status, 404)
  const right = await post('/obj/create', objectOf('o', { a: 1 }, { expected_digest: digests.one }))
  assert.equal(right.status, 200)
})

test('obj/create: derives kind and class from the markers in the value', async (t) => {
  const opened = await openApp(t)
  const op = { _type: 'CustomWeaveType', weave_type: { type: 'Op' }, files: { 'obj.py': 'x' } }
  for (const [val, kind, base, leaf] of [
    [op, 'op', null, null],
    [{ ...op, weave_type: { type: 'Image' } }, 'object', null, null],
    [{ _class_name: 'X' }, 'object', null, null],
    [{ _class_name: 'X', _bases: ['BaseModel'] }, 'object', null, null],
    [{ _class_name: 'X', _bases: 'BaseModel' }, 'object', null, null],
    [classValue('Dataset'), 'object', 'Dataset', 'Dataset'],
    [classValue('Mine', {}, ['Model']), 'object', 'Model', 'Mine'],
    [classValue('Mine', {}, ['Yours', 'Model']), 'object', 'Model', 'Mine'],
    [{ _class_name: 'X', _bases: ['Scorer', 'BaseObject', 'BaseModel'] }, 'object', 'Scorer', 'X'],
  ] as const) {
    const digest = await create(opened, `o${JSON.stringify(val).length}`, val)
    const { obj } = (await readObject(opened, `o${JSON.stringify(val).length}`, digest)).json
    assert.deepEqual([obj.kind, obj.base_object_class, obj.leaf_object_class], [kind, base, leaf])
  }
})

test('obj/create: expected_latest refuses a version that would hide what others wrote', async (t) => {
  const opened = await openApp(t)
  const { post } = opened
  const after = (val: unknown, expected_latest: string) =>
    post('/obj/create', objectOf('o', val, { expected_latest }))
  const [first, second] = await Promise.all([after({ a: 1 }, ''), after({ a: 2 }, '')])
  assert.deepEqual([first.status, second.status].sort(), [200, 409])
  const { digest } = (first.status === 200 ? first : second).json
  assert.deepEqual(whole(first.status === 409 ? first : second), {
    status: 409,
    body: {
      reason: `obj.expected_latest: "" was expected to be the latest version, which is ${digest}. Nothing was stored.`,
      code: 'object_changed',
    },
  })
  const changes = await Promise.all(Array.from({ length: 8 }, (_, index) => after({ change: index }, digest)))
  assert.deepEqual(changes.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)])
  const { obj } = (await readObject(opened, 'o', 'latest')).json
  assert.equal(obj.version_index, 1)
  // Sent again after its answer was lost.
  assert.equal((await after(obj.val, digest)).status, 200)
  await post('/obj/delete', { project_id: project, object_id: 'o' })
  assert.equal((await after({ a: 3 }, obj.digest)).status, 409)
  assert.equal((await after({ a: 3 }, '')).status, 200)
})

test('obj/create: a name keeps its class until its versions are deleted', async (t) => {
  const opened = await openApp(t)
  const { post } = opened
  await create(opened, 'o', classValue('Dataset'))
  await create(opened, 'o', classValue('Special', {}, ['Dataset']))
  await create(opened, 'o', { plain: true })
  assert.deepEqual(whole(await post('/obj/create', objectOf('o', classValue('Model')))), {
    status: 400,
    body: {
      reason:
        'obj.object_id: "o" holds objects of class Dataset; accepted: objects of that class, not of Model.',
      code: 'class_conflict',
    },
  })
  assert.equal((await readObject(opened, 'o', 'v3')).status, 404)
  await post('/obj/delete', { project_id: project, object_id: 'o' })
  assert.equal((await post('/obj/create', objectOf('o', classValue('Model')))).status, 200)
  assert.equal((await readObject(opened, 'o')).json.obj.version_index, 3)
})

test('obj/create: each project has its own names', async (t) => {
  const opened = await openApp(t)
  await create(opened, 'o', 1)
  const theirs = objectOf('o', 2, { project_id: 'globex/qa' })
  assert.equal((await opened.post('/obj/create', theirs, keys.bob)).status, 200)
  assert.equal((await readObject(opened, 'o')).json.obj.val, 1)
  const read = { project_id: 'globex/qa', object_id: 'o', digest: 'latest' }
  const { obj } = (await opened.post('/obj/read', read, keys.bob)).json
  assert.deepEqual([obj.val, obj.version_index, obj.svc_user_id], [2, 0, 'bob'])
})
