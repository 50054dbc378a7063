import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { now } from '../../../src/domain/time.ts'
import { maxConversationCharacters, maxConversationItems } from '../../../src/storage/conversations/items.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { assertRefused } from '../../support/chat.ts'
import { partsModel } from '../../support/parts-model.ts'
import { responsesUrl } from '../../support/responses.ts'

const model = partsModel({ kind: 'content', text: 'Yes' })
const opened = await openApp({ after }, { model })
const { post, get, send, database } = opened
const url = '/v1/conversations'
const user = (content: unknown) => ({ role: 'user', content })

async function begin(fields: object = {}): Promise<string> {
  const { status, json, text } = await post(url, fields)
  assert.equal(status, 200, text)
  return json.id
}

test('a conversation is made, read, changed and deleted', async () => {
  const { status, json } = await post(url, { metadata: { topic: 'tea' } })
  const { id, created_at, ...rest } = json
  assert.equal(status, 200)
  assert.match(id, /^conv_[\da-f]{32}$/)
  assert.ok(Math.abs(created_at - Date.now() / 1000) < 60)
  assert.deepEqual(rest, { object: 'conversation', metadata: { topic: 'tea' } })
  assert.deepEqual((await get(`${url}/${id}`)).json, json)
  const changed = await post(`${url}/${id}`, { metadata: { milk: 'no' } })
  assert.deepEqual(changed.json, { ...json, metadata: { milk: 'no' } })
  assert.deepEqual((await get(`${url}/${id}`)).json, changed.json)
  assert.deepEqual((await post(`${url}/${id}`, { metadata: null })).json.metadata, {})
  const removed = await send('DELETE', `${url}/${id}`)
  assert.deepEqual(removed.json, { id, object: 'conversation.deleted', deleted: true })
  for (const answer of [
    await get(`${url}/${id}`),
    await post(`${url}/${id}`, { metadata: {} }),
    await send('DELETE', `${url}/${id}`),
    await get(`${url}/${id}/items`),
    await post(`${url}/${id}/items`, { items: [user('Hi')] }),
    await get(`${url}/${id}/items/x`),
    await send('DELETE', `${url}/${id}/items/x`),
  ])
    assertRefused(answer, { status: 404, code: 'conversation_not_found', param: 'conversation_id' })
})

test('items are added, listed in pages, read and deleted', async () => {
  const id = await begin({ items: [user('a')] })
  const items = `${url}/${id}/items`
  const call = { type: 'function_call', call_id: 'c1', name: 'now', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'c1', output: '12' }
  const added = await post(items, { items: [user('b'), call, output] })
  assert.equal(added.status, 200, added.text)
  const name = id.slice('conv_'.length)
  const ids = ['msg', 'msg', 'fc', 'fco'].map((prefix, position) => `${prefix}_${name}_${position}`)
  const content = [{ type: 'input_text', text: 'b' }]
  const status = 'completed'
  const { data, ...page } = added.json
  assert.deepEqual(data, [
    { id: ids[1], type: 'message', role: 'user', status, content },
    { id: ids[2], status, ...call },
    { id: ids[3], status, ...output },
  ])
  assert.deepEqual(page, { object: 'list', first_id: ids[1], last_id: ids[3], has_more: false })
  const listed = async (query: string) => {
    const { json, text } = await get(items + query)
    assert.ok(Array.isArray(json.data), text)
    assert.deepEqual([json.first_id, json.last_id], [json.data[0]?.id ?? null, json.data.at(-1)?.id ?? null])
    return [json.data.map((item: { id: string }) => ids.indexOf(item.id)), json.has_more]
  }
  assert.deepEqual(await listed(''), [[3, 2, 1, 0], false])
  assert.deepEqual(await listed('?order=asc&limit=2'), [[0, 1], true])
  assert.deepEqual(await listed(`?order=asc&limit=2&after=${ids[1]}&include[]=x`), [[2, 3], false])
  assert.deepEqual(await listed(`?limit=3&after=${ids[3]}`), [[2, 1, 0], false])
  assert.deepEqual(await listed(`?after=${ids[0]}`), [[], false])
  for (const query of ['?limit=0', '?limit=101', '?order=up', '?after=nothing'])
    assert.equal((await get(items + query)).status, 400, query)
  assert.deepEqual((await get(`${items}/${ids[2]}`)).json, data[1])
  const removed = await send('DELETE', `${items}/${ids[0]}`)
  assert.deepEqual([removed.status, removed.json], [200, (await get(`${url}/${id}`)).json])
  for (const answer of [await get(`${items}/${ids[0]}`), await send('DELETE', `${items}/${ids[0]}`)])
    assertRefused(answer, { status: 404, code: 'conversation_item_not_found', param: 'item_id' })
  // A position is never given twice.
  assert.equal((await post(items, { items: [user('c')] })).json.first_id, `msg_${name}_4`)
})

test('what is no item, or too many of them, is refused by name', async () => {
  const id = await begin()
  const refused: [items: unknown, param: string][] = [
    [[], 'items'],
    [Array(21).fill(user('a')), 'items'],
    ['Hi', 'items'],
    [[user('a'), { role: 'robot', content: 'a' }], 'items.1.role'],
    [[{ type: 'web_search_call' }], 'items.0.type'],
    [[{ type: 'function_call', call_id: 'c', name: 'f', arguments: '5' }], 'items.0.arguments'],
    [
      [user([{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }])],
      'items.0.content.0.image_url',
    ],
  ]
  for (const [items, param] of refused) {
    // A conversation may begin without items.
    const beginning = Array.isArray(items) && items.length === 0 ? [] : [url]
    for (const address of [...beginning, `${url}/${id}/items`]) {
      const { status, json } = await post(address, { items })
      assert.deepEqual([status, json.error?.param], [400, param], JSON.stringify(json))
    }
  }
  const missing = { items: [{ type: 'item_reference', id: 'msg_0_0' }] }
  assertRefused(await post(url, missing), {
    status: 404,
    code: 'response_item_not_found',
    param: 'items.0.id',
  })
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, 'x']))
  for (const address of [url, `${url}/${id}`])
    assertRefused(await post(address, { metadata: many }), {
      status: 400,
      code: 'invalid_value',
      param: 'metadata',
    })
  assert.equal((await get(`${url}/${id}/items`)).json.data.length, 0)
})

test('a picture is kept with the type of its bytes, and no model without pictures reads it', async () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII='
  const image = { type: 'input_image', image_url: `data:image/jpeg;base64,${png}` }
  const id = await begin({ items: [user([image])] })
  const [item] = (await get(`${url}/${id}/items`)).json.data
  assert.deepEqual(item.content, [
    { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' },
  ])
  const asked = await post(responsesUrl, { input: 'Hi', conversation: id })
  assertRefused(asked, { status: 400, code: 'invalid_value', param: 'conversation' })
})

test('a project that the user may not use is refused', async () => {
  const headers = { authorization: basic(keys.alice), 'x-heddle-project': 'globex/qa' }
  const { statusCode } = await opened.app.inject({ method: 'POST', url, headers, payload: {} })
  assert.equal(statusCode, 403)
})

const addition = (id: string, items: readonly string[]) => ({
  user_name: 'alice',
  id,
  project_id: 'acme/default',
  items: items.map((item) => ({ id: null, stem: 'msg_', inputs: `{"input":[${item}]}`, output: null })),
  now: now(),
  until: null,
  field: 'items',
})
const message = (text: string) =>
  `{"type":"message","role":"user","status":"completed","content":[{"type":"input_text","text":"${text}"}]}`

test('a full conversation takes no more items, until one is deleted', async () => {
  const id = await begin()
  const all = Array(maxConversationItems - 1).fill(message('a'))
  await database.write('addConversationItems', addition(id, all))
  const items = `${url}/${id}/items`
  const full = { status: 400, code: 'conversation_full' }
  assertRefused(await post(items, { items: [user('b'), user('c')] }), { ...full, param: 'items' })
  const asked = await post(responsesUrl, { input: 'Hi', conversation: id })
  assertRefused(asked, { ...full, param: 'conversation' })
  assert.equal((await send('DELETE', `${items}/msg_0`)).status, 200)
  assert.equal((await post(items, { items: [user('b'), user('c')] })).status, 200)
})

test('a conversation of very many characters takes no more', async () => {
  const id = await begin()
  const long = message('a'.repeat(maxConversationCharacters - 300))
  await database.write('addConversationItems', addition(id, [long]))
  const full = { status: 400, code: 'conversation_full', param: 'items' }
  assertRefused(await post(`${url}/${id}/items`, { items: [user('b'.repeat(300))] }), full)
  assert.equal((await send('DELETE', `${url}/${id}/items/msg_0`)).status, 200)
  assert.equal((await post(`${url}/${id}/items`, { items: [user('b'.repeat(300))] })).status, 200)
})

test('a user has a limited number of conversations', async (t) => {
  const { post, send, database } = await openApp(t)
  const { id } = (await post(url, {})).json
  const columns = [
    'user_name',
    'id',
    'project_id',
    'created_at',
    'metadata',
    'next_position',
    'items',
    'characters',
  ]
  const table = { name: 'conversations', columns, key: ['user_name', 'id'] }
  const rows = Array.from({ length: 9_999 }, (_, index) => [
    'alice',
    `conv_${index}`,
    'acme/default',
    1,
    '{}',
    0,
    0,
    0,
  ])
  await database.write('copyRows', { table, rows })
  assertRefused(await post(url, {}), { status: 409, code: 'too_many_conversations', param: null })
  assert.equal((await post(url, {}, keys.bob)).status, 200)
  assert.equal((await send('DELETE', `${url}/${id}`)).status, 200)
  assert.equal((await post(url, {})).status, 200)
})
