import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { oneReviewer } from '../../../src/domain/queues/reviews.ts'
import { storedReviewSettings } from '../../../src/storage/queues/review-settings.ts'
import { recordsOf, whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { createQueue, fillQueue, queueOf } from '../../support/queues.ts'

const forbidden = {
  status: 403,
  body: {
    reason: 'Your key has no access to the entity of project_id: "globex/qa".',
    code: 'entity_forbidden',
  },
}

const noQueue = (id: string) => ({
  status: 404,
  body: {
    reason: `queue_id: there is no annotation queue "${id}" in project "acme/qa".`,
    code: 'annotation_queue_not_found',
  },
})

const at = (id: string, given = project) => `/annotation_queues/${id}?project_id=${given}`

test('annotation_queues: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/annotation_queues', queueOf())
  const { post } = await openApp(t)
  for (const [fields, place, type] of [
    [{ name: undefined }, 'name: expected string, received nothing', 'invalid_type'],
    [{ name: '' }, 'name: expected string to have >=1 characters, received ""', 'too_small'],
    [{ scorer_refs: undefined }, 'scorer_refs: expected array, received nothing', 'invalid_type'],
    [{ scorer_refs: [1] }, 'scorer_refs.0: expected string, received number', 'invalid_type'],
    [{ description: 7 }, 'description: expected string, received number', 'invalid_type'],
  ] as const) {
    const { status, json } = await post('/annotation_queues', queueOf(fields))
    assert.deepEqual(
      [status, json.reason, json.detail?.[0]?.type],
      [422, `The body does not fit the schema: ${place}.`, type],
    )
  }
  assert.deepEqual(whole(await post('/annotation_queues', queueOf({ project_id: 'globex/qa' }))), forbidden)
})

test('annotation_queues: a created queue is read back', async (t) => {
  const { send, post } = await openApp(t)
  const scorer_refs = ['weave:///acme/qa/object/tone:abc', 'weave:///acme/qa/op/judge:def']
  const answer = await post('/annotation_queues', queueOf({ scorer_refs, description: 'Näher ansehen' }))
  assert.deepEqual(Object.keys(answer.json), ['id'])
  const { id } = answer.json
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/)
  const read = await send('GET', at(id))
  const { created_at } = read.json.queue
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000)
  assert.deepEqual(whole(read), {
    status: 200,
    body: {
      queue: {
        id,
        project_id: project,
        name: 'Hard questions',
        description: 'Näher ansehen',
        scorer_refs,
        ...oneReviewer,
        created_at,
        created_by: 'alice',
        updated_at: created_at,
        deleted_at: null,
      },
    },
  })
  const plain = await createQueue(post, { name: 'Hard questions' })
  assert.notEqual(plain, id)
  const second = (await send('GET', at(plain))).json.queue
  assert.deepEqual([second.description, second.scorer_refs], ['', []])
})

for (const method of ['GET', 'DELETE'] as const) {
  test(`${method} annotation_queues: refuses invalid requests, checking in a fixed order`, async (t) => {
    const { app, send, post } = await openApp(t)
    const id = await createQueue(post)
    const unknown = await app.inject({ method, url: at(id) })
    assert.equal(unknown.statusCode, 401)
    assert.deepEqual(whole(await send(method, `/annotation_queues/${id}`)), {
      status: 422,
      body: {
        reason: 'The query does not fit the schema: query.project_id: expected string, received nothing.',
        code: 'invalid_request',
        detail: [
          {
            loc: ['query', 'project_id'],
            msg: 'expected string, received nothing',
            type: 'invalid_type',
          },
        ],
      },
    })
    for (const wrong of ['acme', 'acme/', '', 'acme/qa&project_id=acme/qa', 'acme/q%00a']) {
      assert.equal((await send(method, at(id, wrong))).status, 422, wrong)
    }
    assert.equal((await send(method, at('a%00b'))).status, 422)
    assert.deepEqual(whole(await send(method, at(id, 'globex/qa'))), forbidden)
    assert.deepEqual(whole(await send(method, at('nothing'))), noQueue('nothing'))
    const elsewhere = await createQueue(post, { project_id: 'acme/other' })
    assert.deepEqual(whole(await send(method, at(elsewhere))), noQueue(elsewhere))
  })
}

test('PUT annotation_queues: refuses invalid requests, checking in a fixed order', async (t) => {
  const { app, send, post } = await openApp(t)
  const id = await createQueue(post)
  const put = (body: unknown, queue = id) => send('PUT', `/annotation_queues/${queue}`, body)
  assert.equal((await app.inject({ method: 'PUT', url: `/annotation_queues/${id}` })).statusCode, 401)
  for (const body of [{}, { project_id: 'acme' }, { project_id: project, name: '' }, [], 5]) {
    assert.equal((await put(body)).status, 422, JSON.stringify(body))
  }
  assert.deepEqual(whole(await put({ project_id: 'globex/qa', name: 'x' })), forbidden)
  assert.deepEqual(whole(await put({ project_id: project, name: 'x' }, 'nothing')), noQueue('nothing'))
})

test('PUT annotation_queues: changes only the given fields', async (t) => {
  const { send, post, database } = await openApp(t)
  const long = 1_700_000_000_000_000
  const queue = {
    project_id: project,
    id: 'old',
    name: 'First',
    description: 'one',
    scorer_refs: '["a"]',
    created_at: long,
    created_by: 'carol',
    updated_at: long,
    deleted_at: null,
    ...storedReviewSettings(oneReviewer),
  }
  await database.write('addQueue', queue)
  const record = {
    id: 'old',
    project_id: project,
    name: 'First',
    description: 'one',
    scorer_refs: ['a'],
    ...oneReviewer,
    created_at: '2023-11-14T22:13:20Z',
    created_by: 'carol',
    updated_at: '2023-11-14T22:13:20Z',
    deleted_at: null,
  }
  const put = (fields: object) => send('PUT', '/annotation_queues/old', { project_id: project, ...fields })
  for (const nothing of [{}, { name: null, description: null, scorer_refs: null }]) {
    assert.deepEqual(whole(await put(nothing)), { status: 200, body: { queue: record } })
  }
  const expected = { ...record }
  for (const change of [
    { name: 'Second' },
    { description: '' },
    { scorer_refs: [] },
    { scorer_refs: ['b'] },
  ]) {
    Object.assign(expected, change)
    const { json } = await put(change)
    assert.ok(Date.parse(json.queue.updated_at) > Date.parse(record.updated_at))
    expected.updated_at = json.queue.updated_at
    assert.deepEqual(json.queue, expected)
    assert.deepEqual((await send('GET', at('old'))).json.queue, expected)
  }
  assert.deepEqual(recordsOf(await post('/annotation_queues/query', { project_id: project })), [expected])
})

test('DELETE annotation_queues: a deleted queue is no longer found anywhere', async (t) => {
  const { send, post } = await openApp(t)
  const { queueId, callIds } = await fillQueue(post, 1)
  const before = (await send('GET', at(queueId))).json.queue
  const answer = await send('DELETE', at(queueId))
  const { deleted_at } = answer.json.queue
  // Compared as times: a whole second has no fraction, so its text sorts after later times.
  assert.ok(Date.parse(deleted_at) >= Date.parse(before.created_at))
  assert.deepEqual(whole(answer), { status: 200, body: { queue: { ...before, deleted_at } } })
  const items = `/annotation_queues/${queueId}/items`
  const in_project = { project_id: project }
  for (const again of [
    await send('DELETE', at(queueId)),
    await send('GET', at(queueId)),
    await send('PUT', `/annotation_queues/${queueId}`, { ...in_project, name: 'x' }),
    await post(items, { ...in_project, call_ids: callIds }),
    await post(`${items}/query`, in_project),
    await post(`/annotation_queues/${queueId}/next`, in_project),
  ]) {
    assert.deepEqual(whole(again), noQueue(queueId))
  }
  assert.equal((await post('/annotation_queues/query', in_project)).text, '')
  const { json } = await post('/annotation_queues/stats', { ...in_project, queue_ids: [queueId] })
  assert.equal(json.stats[0].total_items, 0)
})

test('annotation_queues: other methods are refused, and the accepted ones are named', async (t) => {
  const { app } = await openApp(t)
  const response = await app.inject({
    method: 'PATCH',
    url: '/annotation_queues/q',
    headers: { authorization: `Bearer ${keys.alice}` },
  })
  assert.equal(response.statusCode, 405)
  assert.deepEqual(
    new Set(String(response.headers.allow).split(', ')),
    new Set(['GET', 'HEAD', 'PUT', 'DELETE']),
  )
})

test('annotation_queues/query: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/annotation_queues/query', { project_id: project })
  const { post } = await openApp(t)
  const query = (body: object) => post('/annotation_queues/query', { project_id: project, ...body })
  assert.equal((await query({ limit: -1 })).status, 422)
  assert.equal((await query({ sort_by: [{ field: 'name', direction: 'up' }] })).status, 422)
  assert.deepEqual(whole(await query({ project_id: 'globex/qa' })), forbidden)
  assert.deepEqual(whole(await query({ sort_by: [{ field: 'colour', direction: 'asc' }] })), {
    status: 422,
    body: {
      reason: 'sort_by.0.field: there is no field "colour"; accepted: id, name, created_at, updated_at.',
      code: 'unknown_field',
    },
  })
})

/** For the queries below, which only read. */
const ordered = await openApp({ after })
for (const [n, name] of ['alpha', 'Gamma', 'beta', 'Delta'].entries()) {
  const created_at = 1_700_000_000_000_000 + n
  const updated_at = name === 'alpha' ? created_at + 10 : created_at
  const rest = { description: '', scorer_refs: '[]', created_by: 'alice', deleted_at: null }
  await ordered.database.write('addQueue', {
    project_id: project,
    id: String(n),
    name,
    created_at,
    updated_at,
    ...rest,
    ...storedReviewSettings(oneReviewer),
  })
}
await createQueue(ordered.post, { project_id: 'acme/other' })

const sort = (field: string, direction = 'asc') => ({ sort_by: [{ field, direction }] })

for (const [body, expected] of [
  [{}, 'Delta beta Gamma alpha'],
  [{ name: null, sort_by: null, limit: null, offset: null }, 'Delta beta Gamma alpha'],
  [{ name: '' }, 'Delta beta Gamma alpha'],
  [{ name: 'TA' }, 'Delta beta'],
  [{ name: 'ÄM' }, ''],
  [{ name: 'a_p' }, ''],
  [{ name: '%' }, ''],
  [sort('name'), 'Delta Gamma alpha beta'],
  [sort('name', 'desc'), 'beta alpha Gamma Delta'],
  [sort('created_at'), 'alpha Gamma beta Delta'],
  [sort('updated_at'), 'Gamma beta Delta alpha'],
  [sort('id', 'desc'), 'Delta beta Gamma alpha'],
  [{ limit: 2 }, 'Delta beta'],
  [{ limit: 0 }, ''],
  [{ limit: 2, offset: 3 }, 'alpha'],
  [{ offset: 1 }, 'beta Gamma alpha'],
  [{ offset: 4 }, ''],
  [{ ...sort('name'), name: 'ta', limit: 1 }, 'Delta'],
] as [object, string][]) {
  test(`annotation_queues/query: ${JSON.stringify(body)}`, async () => {
    const answer = await ordered.post('/annotation_queues/query', { project_id: project, ...body })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-type'], 'application/x-ndjson')
    assert.equal(
      recordsOf(answer)
        .map(({ name }) => name)
        .join(' '),
      expected,
    )
  })
}

test('annotation_queues/query: a name is found regardless of case, in any script', async (t) => {
  const { post } = await openApp(t)
  await createQueue(post, { name: 'Ärger mit STRASSE' })
  const found = recordsOf(await post('/annotation_queues/query', { project_id: project, name: 'äRGER' }))
  assert.deepEqual(
    found.map(({ name }) => name),
    ['Ärger mit STRASSE'],
  )
})
