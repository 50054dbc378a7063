import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { linesOf, recordsOf, whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { classValue, create, readObject } from '../../support/objects.ts'
import { dumpOf } from '../../support/record-dump.ts'
import { rowsOf } from '../../support/tables.ts'

/** Shared by all tests; each uses data of its own. */
const opened = await openApp({ after })
const { post, get, send } = opened

const root = `/v2/${project}`

/** For each kind: a body, the members of the answer besides the version, and the record that is read back. */
const kinds = {
  ops: {
    body: { name: 'My Op', source_code: 'def f(): ...' },
    id: 'my_op',
    record: { code: 'def f(): ...' },
  },
  datasets: {
    body: { name: 'My Data', description: 'few', rows: [{ x: 1 }, { x: 2 }] },
    id: 'my_data',
    record: {
      name: 'My Data',
      description: 'few',
      rows: `weave:///${project}/table/ed8bd1f8cb829eeb6b3fef95a7cd8401f7e5af825c4c9aa144a1ceb9f32c3654`,
    },
  },
  scorers: {
    body: { name: 'a/b <c>', op_source_code: 'def score(): ...' },
    id: 'a_b_c',
    ref: 'scorer',
  },
  evaluations: {
    body: {
      name: 'First',
      dataset: `weave:///${project}/object/my_data:v0`,
      scorers: [`weave:///${project}/object/a_b_c:v0`],
      trials: 2,
      eval_attributes: { a: [1] },
    },
    id: 'first',
    ref: 'evaluation_ref',
    record: {
      name: 'First',
      description: null,
      dataset: `weave:///${project}/object/my_data:v0`,
      scorers: [`weave:///${project}/object/a_b_c:v0`],
      trials: 2,
      evaluation_name: null,
      eval_attributes: { a: [1] },
    },
  },
  models: {
    body: { name: 'Small', source_code: 'class Small: ...', attributes: { temperature: 0.5 } },
    id: 'small',
    ref: 'model_ref',
    record: {
      name: 'Small',
      description: null,
      source_code: 'class Small: ...',
      attributes: { temperature: 0.5 },
    },
  },
} as const

for (const [path, kind] of Object.entries(kinds)) {
  const url = `${root}/${path}`

  test(`v2 ${path}: refuses invalid requests`, async (t) => {
    await assertCommonRefusals(t, url, kind.body)
    const theirs = `/v2/globex/qa/${path}`
    const forbidden = {
      status: 403,
      body: {
        reason: 'Your key has no access to the entity of path: "globex/qa".',
        code: 'entity_forbidden',
      },
    }
    assert.deepEqual(whole(await post(theirs, kind.body)), forbidden)
    assert.deepEqual(whole(await get(theirs)), forbidden)
    assert.deepEqual(whole(await get(`${theirs}/x/versions/latest`)), forbidden)
    assert.deepEqual(whole(await send('DELETE', `${theirs}/x`)), forbidden)
    const nowhere = {
      status: 404,
      body: {
        reason: `path: there is no object "x" with version "latest" in project "${project}".`,
        code: 'object_not_found',
      },
    }
    assert.deepEqual(whole(await get(`${url}/x/versions/latest`)), nowhere)
    assert.deepEqual(whole(await send('DELETE', `${url}/x`)), nowhere)
    const named = await post(url, { ...kind.body, name: 'ä' })
    assert.deepEqual(
      [named.status, named.json.reason],
      [
        422,
        'The body does not fit the schema: name: expected a name of at most 128 letters, digits, "_", "." and "-", received "ä".',
      ],
    )
    for (const query of ['limit=x', 'limit=-1', 'offset=1.5']) {
      const { status, json } = await get(`${url}?${query}`)
      assert.deepEqual([status, json.code], [422, 'invalid_request'], query)
    }
  })

  test(`v2 ${path}: creates, reads, lists and deletes`, async () => {
    const created = await post(url, kind.body)
    const { digest } = created.json
    const ref = 'ref' in kind ? { [kind.ref]: `weave:///${project}/object/${kind.id}:${digest}` } : {}
    const answer = { digest, object_id: kind.id, version_index: 0, ...ref }
    assert.deepEqual(whole(created), { status: 200, body: answer })
    assert.deepEqual(
      whole(await post(url, kind.body)),
      { status: 200, body: answer },
      'creating it again returns the same',
    )

    const read = await get(`${url}/${kind.id}/versions/${digest}`)
    const { object_id, created_at, version_index, ...rest } = read.json
    assert.deepEqual([read.status, object_id, version_index], [200, kind.id, 0])
    if ('record' in kind) assert.deepEqual(rest, { digest, ...kind.record })
    assert.deepEqual((await get(`${url}/${kind.id}/versions/latest`)).json, read.json)
    const list = await get(url)
    assert.equal(list.headers['content-type'], 'application/jsonl')
    assert.deepEqual(recordsOf(list), [read.json])
    assert.deepEqual(linesOf(await get(`${url}?limit=0`)), [])
    assert.deepEqual(linesOf(await get(`${url}?offset=1`)), [])
    assert.ok(created_at)

    assert.deepEqual(whole(await send('DELETE', `${url}/${kind.id}?digests=${digest}`)), {
      status: 200,
      body: { num_deleted: 1 },
    })
    assert.equal((await get(`${url}/${kind.id}/versions/${digest}`)).status, 404)
    assert.deepEqual(linesOf(await get(url)), [])
    assert.equal((await send('DELETE', `${url}/${kind.id}`)).status, 404)
  })

  test(`v2 ${path}: an object of another kind under the name is not found`, async () => {
    await create(opened, kind.id, { plain: true })
    assert.equal((await opened.get(`${url}/${kind.id}/versions/latest`)).status, 404)
    assert.equal((await opened.send('DELETE', `${url}/${kind.id}`)).status, 404)
    assert.deepEqual(linesOf(await opened.get(url)), [])
    assert.equal((await readObject(opened, kind.id)).status, 200)
  })
}

test('v2: of several kinds under one name only the kind of the route is deleted', async () => {
  const { post, send } = opened
  const op = (await post(`${root}/ops`, { name: 'both', source_code: 'x' })).json.digest
  const plain = await create(opened, 'both', { plain: true })
  const missing = (version: string, field: string) => ({
    status: 404,
    body: {
      reason: `${field}: there is no object "both" with version "${version}" in project "${project}".`,
      code: 'object_not_found',
    },
  })
  const url = `${root}/ops/both`
  assert.deepEqual(whole(await send('DELETE', `${url}?digests=${plain}`)), missing(plain, 'digests'))
  assert.deepEqual(whole(await send('DELETE', `${url}?digests=${op}&digests=v1`)), missing('v1', 'digests'))
  assert.deepEqual(whole(await send('DELETE', `${root}/models/both`)), missing('latest', 'path'))
  assert.deepEqual(whole(await send('DELETE', url)), { status: 200, body: { num_deleted: 1 } })
  assert.deepEqual(whole(await send('DELETE', url)), missing('latest', 'path'))
  assert.equal((await readObject(opened, 'both', op)).status, 404)
  assert.equal((await readObject(opened, 'both', plain)).status, 200)
})

test('v2: entity and project in a path have the usual bounds of length', async () => {
  const longest = `${'e'.repeat(128)}/${'p'.repeat(127)}`
  assert.deepEqual(linesOf(await get(`/v2/${longest}/models`, keys.root)), [])
  const { status, json } = await get(`/v2/${longest}p/models`, keys.root)
  assert.deepEqual([status, json.code], [422, 'invalid_request'])
  for (const path of ['a%20b/c', 'a/b%20', 'a%00/c', 'a/%ED%A0%80']) {
    assert.ok([400, 404, 422].includes((await get(`/v2/${path}/models`, keys.root)).status), path)
  }
})

test('v2: a name has versions, the list shows the latest, and several are deleted at once', async () => {
  const url = `${root}/models`
  const digests = []
  for (const source_code of ['a', 'b', 'c']) {
    digests.push((await post(url, { name: 'm', source_code })).json.digest)
  }
  await post(url, { name: 'other', source_code: 'x' })
  const shown = recordsOf(await get(url)).map(
    ({ object_id, version_index }) => `${object_id}:${version_index}`,
  )
  assert.deepEqual(shown.toSorted(), ['m:2', 'other:0'])
  assert.deepEqual(linesOf(await get(`${url}?limit=1`)).length, 1)
  const answer = await send('DELETE', `${url}/m?digests=${digests[0]}&digests=latest`)
  assert.deepEqual(answer.json, { num_deleted: 2 })
  assert.equal((await get(`${url}/m/versions/latest`)).json.source_code, 'b')
  assert.deepEqual((await send('DELETE', `${url}/m`)).json, { num_deleted: 1 })
})

test('v2 datasets: the rows are stored as a table with a name of its own', async () => {
  const rows = Array.from({ length: 500 }, (_, n) => ({ n }))
  const { object_id } = (await opened.post(`${root}/datasets`, { rows })).json
  assert.equal(object_id, 'dataset')
  const record = (await opened.get(`${root}/datasets/dataset/versions/v0`)).json
  assert.deepEqual(await rowsOf(opened, record.rows.split('/').at(-1)), rows)
  const { obj } = (await readObject(opened, 'dataset')).json
  assert.deepEqual(
    [obj.kind, obj.base_object_class, obj.val._type, obj.val._bases],
    ['object', 'Dataset', 'Dataset', ['Object', 'BaseModel']],
  )
})

test('v2 scorers: a scorer names an op with its source', async () => {
  await opened.post(`${root}/scorers`, { name: 'exact', op_source_code: 'def score(): ...' })
  const scorer = (await opened.get(`${root}/scorers/exact/versions/latest`)).json
  const op = (await opened.get(`${root}/ops/exact.score/versions/latest`)).json
  assert.equal(scorer.score_op, `weave:///${project}/op/exact.score:${op.digest}`)
  assert.equal(op.code, 'def score(): ...')
})

test('v2 ops: an op that a client stored is listed, with its source if it has one', async (t) => {
  const opened = await openApp(t)
  const op = { _type: 'CustomWeaveType', weave_type: { type: 'Op' }, files: { 'obj.py': 'never-stored' } }
  await create(opened, 'theirs', op)
  const [record] = recordsOf(await opened.get(`${root}/ops`))
  assert.deepEqual([record?.object_id, record?.code], ['theirs', null])
})

test('v2: numbers keep their digits, and other tenants see nothing', async (t) => {
  const { post, get } = await openApp(t)
  const url = `${root}/models`
  await post(url, '{"name":"m","source_code":"","attributes":{"t":1.0,"n":9007199254740993}}')
  assert.match((await get(`${url}/m/versions/v0`)).text, /"attributes":\{"t":1\.0,"n":9007199254740993\}/)
  assert.match((await get(url)).text, /"attributes":\{"t":1\.0,"n":9007199254740993\}/)
  assert.equal((await get('/v2/globex/qa/models', keys.bob)).text, '')
  assert.equal((await get('/v2/globex/qa/models/m/versions/v0', keys.bob)).status, 404)
})

test('a name that belongs to another class is refused before any part is stored', async (t) => {
  const { post, database } = await openApp(t)
  await create({ post }, 'taken', classValue('Prompt'))
  const before = await dumpOf(database, () => false)
  for (const [kind, body] of [
    ['datasets', { name: 'Taken', rows: [{ x: 1 }] }],
    ['scorers', { name: 'Taken', op_source_code: 'def score(): ...' }],
    ['models', { name: 'Taken', source_code: 'class Taken: ...' }],
  ] as const) {
    const { status, json } = await post(`${root}/${kind}`, body)
    assert.deepEqual([status, json.code], [400, 'class_conflict'], kind)
    assert.deepEqual(await dumpOf(database, () => false), before, kind)
  }
})
