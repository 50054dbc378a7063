import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { basic, keys, openApp, type TestParts } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const project_id = 'acme/default'

async function openStored(t: TestContext, parts: TestParts = {}) {
  const opened = await openApp(t, { backend: scriptedBackend(), ...parts })
  const send = async (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    {
      body,
      headers,
      key = keys.alice,
    }: { body?: unknown; headers?: Record<string, string>; key?: string } = {},
  ) => {
    const answer = await opened.app.inject({
      method,
      url: `${chatUrl}${path}`,
      headers: {
        authorization: basic(key),
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    return { status: answer.statusCode, headers: answer.headers, text: answer.body, json: answer.json() }
  }
  const ask = async (fields: Record<string, unknown> = {}, headers: Record<string, string> = {}) => {
    const answer = await send('POST', '', { body: asking(fields), headers })
    assert.equal(answer.status, 200, answer.text)
    // Reading by id waits until the completion is written.
    assert.equal((await send('GET', `/${answer.json.id}`, { headers })).status, 200)
    return answer.json
  }
  const idsOf = async (query: string) => {
    const { status, json, text } = await send('GET', query)
    assert.equal(status, 200, text)
    return json.data.map(({ id }: { id: string }) => id)
  }
  return { ...opened, send, ask, idsOf }
}

test('a stored completion is read back as answered, with its metadata', async (t) => {
  const { send, ask } = await openStored(t)
  const answer = await ask({ metadata: { run: '7' } })
  const { json, headers } = await send('GET', `/${answer.id}`)
  assert.deepEqual(json, { ...answer, metadata: { run: '7' } })
  assert.equal(headers['x-heddle-matches'], undefined)
  const plain = await ask()
  assert.deepEqual((await send('GET', `/${plain.id}`)).json, { ...plain, metadata: {} })
})

test('completions are listed by time, by model and by metadata, in pages', async (t) => {
  const { send, ask, idsOf } = await openStored(t)
  const ids: string[] = []
  for (let i = 0; i < 5; i++) {
    ids.push((await ask({ metadata: { run: String(i % 2), 'a[b]': 'ü&=' } })).id)
  }
  ids.push((await ask()).id)
  await send('POST', '', { body: asking({ store: false }) })
  assert.deepEqual(await idsOf(''), ids)
  assert.deepEqual(await idsOf('?order=desc'), ids.toReversed())
  const { json: first } = await send('GET', '?limit=4')
  assert.deepEqual(
    [first.object, first.data.length, first.first_id, first.last_id, first.has_more],
    ['list', 4, ids[0], ids[3], true],
  )
  const { json: second } = await send('GET', `?limit=4&after=${first.last_id}`)
  assert.deepEqual([second.data.length, second.last_id, second.has_more], [2, ids[5], false])
  assert.deepEqual(await idsOf(`?order=desc&limit=2&after=${ids[3]}`), [ids[2], ids[1]])
  assert.deepEqual(await idsOf('?metadata[run]=1'), [ids[1], ids[3]])
  assert.deepEqual(await idsOf(`?metadata[run]=0&limit=1&after=${ids[0]}`), [ids[2]])
  assert.equal(
    (await idsOf(`?${encodeURIComponent('metadata[a[b]]')}=${encodeURIComponent('ü&=')}`)).length,
    5,
  )
  assert.deepEqual(await idsOf('?metadata[run]=1&metadata[a[b]]=no'), [])
  assert.deepEqual(await idsOf('?metadata[other]=1'), [])
  assert.deepEqual(await idsOf('?model=scripted'), ids)
  assert.deepEqual(await idsOf('?model=another'), [])
  const { json: none } = await send('GET', '?model=another')
  assert.deepEqual(none, { data: [], object: 'list', first_id: null, last_id: null, has_more: false })
  for (const query of ['limit=0', 'limit=101', 'order=up', 'after=nobody', 'colour=red', 'metadata[]=1']) {
    assert.equal((await send('GET', `?${query}`)).status, 400, query)
  }
})

test('the messages of a completion are those of its request', async (t) => {
  const { send, ask } = await openStored(t)
  const parts = [{ type: 'text', text: 'Hi' }]
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: parts, name: 'ann' },
  ]
  const { id } = await ask({ messages })
  const whole = [
    { id: `${id}-0`, role: 'system', content: 'Be brief.', content_parts: null, refusal: null },
    { id: `${id}-1`, role: 'user', content: null, name: 'ann', content_parts: parts, refusal: null },
  ]
  const list = async (query = '') => (await send('GET', `/${id}/messages${query}`)).json
  assert.deepEqual(await list(), {
    object: 'list',
    data: whole,
    first_id: `${id}-0`,
    last_id: `${id}-1`,
    has_more: false,
  })
  assert.deepEqual((await list('?order=desc')).data, whole.toReversed())
  const first = await list('?limit=1')
  assert.deepEqual([first.data, first.has_more], [whole.slice(0, 1), true])
  assert.deepEqual((await list(`?limit=1&after=${id}-0`)).data, whole.slice(1))
  assert.equal((await send('GET', `/${id}/messages?after=${id}-9`)).status, 400)
})

test('metadata is changed on the completion and on its call', async (t) => {
  const { send, ask, post, idsOf } = await openStored(t)
  const answer = await ask({ metadata: { run: '1' } })
  const change = (metadata: unknown) => send('POST', `/${answer.id}`, { body: { metadata } })
  const changed = await change({ run: '2', note: 'good' })
  assert.deepEqual([changed.status, changed.json], [200, { ...answer, metadata: { run: '2', note: 'good' } }])
  assert.deepEqual(await idsOf('?metadata[run]=2'), [answer.id])
  assert.deepEqual(await idsOf('?metadata[run]=1'), [])
  const attributes = async () => {
    const expression = { $eq: [{ $getField: 'attributes.heddle.completion' }, { $literal: answer.id }] }
    const { text } = await post('/calls/stream_query', { project_id, query: { $expr: expression } })
    return JSON.parse(text).attributes.heddle
  }
  assert.deepEqual((await attributes()).metadata, { run: '2', note: 'good' })
  assert.deepEqual((await change(null)).json.metadata, {})
  assert.equal((await attributes()).metadata, undefined)
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v']))
  for (const metadata of [
    many,
    { ['k'.repeat(65)]: 'v' },
    { k: 'v'.repeat(513) },
    { k: 1 },
    [],
    'text',
    undefined,
  ]) {
    assert.equal((await change(metadata)).status, 400, JSON.stringify(metadata))
  }
  const most = Object.fromEntries(
    Array.from({ length: 16 }, (_, i) => [`k${i}`.padEnd(64, 'k'), 'v'.repeat(512)]),
  )
  assert.deepEqual((await change(most)).json.metadata, most)
  const refused = await send('POST', '', { body: asking({ metadata: many }) })
  assert.deepEqual([refused.status, refused.json.error.param], [400, 'metadata'])
})

test('deleting a completion deletes its call, and a list can continue after it', async (t) => {
  const { send, ask, post, idsOf } = await openStored(t)
  const [first, second] = [await ask(), await ask()]
  const { status, json } = await send('DELETE', `/${first.id}`)
  assert.deepEqual([status, json], [200, { object: 'chat.completion.deleted', id: first.id, deleted: true }])
  assert.deepEqual(await idsOf(''), [second.id])
  assert.deepEqual(await idsOf(`?after=${first.id}`), [second.id])
  assert.equal((await post('/calls/query_stats', { project_id })).json.count, 1)
  for (const method of ['GET', 'DELETE'] as const) {
    const gone = await send(method, `/${first.id}`)
    assert.deepEqual([gone.status, gone.json.error.code], [404, 'completion_not_found'])
  }
})

test('completions of other projects and users, and failed calls, are not found', async (t) => {
  const { send, ask, idsOf, database } = await openStored(t)
  const headers = { 'x-heddle-project': 'acme/other' }
  const { id } = await ask({}, headers)
  const unknown = (await send('GET', '/chatcmpl-nobody')).json
  const same = (json: object) => JSON.parse(JSON.stringify(json).replaceAll(id, 'chatcmpl-nobody'))
  for (const path of ['', '/messages']) {
    assert.equal((await send('GET', `/${id}${path}`)).status, 404)
    const foreign = await send('GET', `/${id}${path}`, { key: keys.bob })
    assert.deepEqual([foreign.status, same(foreign.json)], [404, unknown])
    assert.equal((await send('GET', `/${id}${path}`, { headers, key: keys.bob })).status, 403)
  }
  for (const method of ['POST', 'DELETE'] as const) {
    const body = method === 'POST' ? { body: { metadata: {} } } : {}
    assert.equal((await send(method, `/${id}`, body)).status, 404)
    assert.equal((await send(method, `/${id}`, { ...body, headers, key: keys.bob })).status, 403)
  }
  assert.deepEqual(await idsOf(''), [])
  assert.equal((await send('GET', `/${id}`, { headers })).status, 200)
  assert.equal((await send('GET', '', { headers: { 'x-heddle-project': 'acme' } })).status, 400)

  await database.write('changeProjectSettings', { project_id: 'acme/short', change: { retention_days: 1 } })
  const answer = await send('POST', '', { body: asking(), headers: { 'x-heddle-project': 'acme/short' } })
  const call = await send('GET', `/${answer.json.id}`, { headers: { 'x-heddle-project': 'acme/short' } })
  assert.equal(call.status, 200)
})

test('of several completions with the same id the newest is returned, and the answer says so', async (t) => {
  const { send, idsOf } = await openStored(t)
  for (const content of ['one', 'two']) {
    const body = asking({ request_id: 'mine', messages: [{ role: 'user', content }] })
    assert.equal((await send('POST', '', { body })).status, 200)
  }
  const found = await send('GET', '/chatcmpl-mine')
  assert.deepEqual([found.status, found.headers['x-heddle-matches']], [200, '2'])
  assert.equal((await send('GET', '/chatcmpl-mine/messages')).json.data[0].content, 'two')
  await send('DELETE', '/chatcmpl-mine')
  assert.deepEqual(await idsOf(''), ['chatcmpl-mine'])
  assert.equal((await send('GET', '/chatcmpl-mine/messages')).json.data[0].content, 'one')
})
