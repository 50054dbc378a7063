import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Part } from '../../../packages/chat-format/index.ts'
import { now } from '../../../src/domain/time.ts'
import { basic, keys, openApp, type TestApp } from '../../support/app.ts'
import { assertRefused } from '../../support/chat.ts'
import { partsModel } from '../../support/parts-model.ts'
import { dumpOf } from '../../support/record-dump.ts'
import { eventsOf, responseOf, responsesUrl } from '../../support/responses.ts'

const text = (said: string): Part => ({ kind: 'content', text: said })
const conversationsUrl = '/v1/conversations'

const model = partsModel(text('Yes'))
const shared = await openApp({ after }, { model })
const { post, get, send } = shared

async function begin({ post }: TestApp = shared, fields: object = {}, as?: string): Promise<string> {
  const { status, json, text } = await post(conversationsUrl, fields, as)
  assert.equal(status, 200, text)
  return json.id
}

async function itemsOf(id: string, { get }: TestApp = shared, as?: string) {
  const { status, json, text } = await get(`${conversationsUrl}/${id}/items?order=asc&limit=100`, as)
  assert.equal(status, 200, text)
  return json.data
}

interface Shown {
  content: { text: string }[]
}
const textsIn = async (id: string, of?: TestApp) =>
  (await itemsOf(id, of)).map(({ content }: Shown) => content[0]?.text)

/** What the model read last. */
function messagesRead({ asked } = model) {
  const input = asked.at(-1)?.inputs[0]
  assert.ok(input && 'conversation' in input)
  return input.conversation.messages
}

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })

test('P12: three turns of a conversation are read by the model, kept, and one thread', async () => {
  const conversation = await begin(shared, { items: [{ role: 'system', content: 'Be kind.' }] })
  const calls: unknown[] = []
  for (const [index, stream] of [false, true, false].entries()) {
    model.parts = [text(`Answer ${index}`)]
    const body = { input: `Question ${index}`, stream }
    const named = stream ? { id: conversation } : conversation
    const answer = await post(responsesUrl, { ...body, conversation: named })
    assert.equal(answer.status, 200, answer.text)
    const response = stream ? responseOf(eventsOf(answer.text)) : answer.json
    assert.deepEqual(response.conversation, { id: conversation })
    assert.equal(response.previous_response_id, null)
    assert.deepEqual((await get(`${responsesUrl}/${response.id}`)).json, response)
    calls.push(answer.headers['x-heddle-call-id'])
  }
  assert.deepEqual(messagesRead(), [
    { role: 'system', content: 'Be kind.' },
    ...[user('Question 0'), assistant('Answer 0'), user('Question 1'), assistant('Answer 1')],
    user('Question 2'),
  ])
  const turns = [0, 1, 2].flatMap((index) => [`Question ${index}`, `Answer ${index}`])
  assert.deepEqual(await textsIn(conversation), ['Be kind.', ...turns])
  for (const id of calls) {
    const { json } = await post('/call/read', { project_id: 'acme/default', id })
    assert.deepEqual([json.call.thread_id, json.call.turn_id], [conversation, id])
  }
  const alone = await post(responsesUrl, { input: 'Hi', conversation: null })
  assert.equal(alone.json.conversation, null)
})

test('a thread that the request names goes before that of the conversation', async () => {
  const conversation = await begin()
  const headers = { authorization: basic(keys.alice), 'x-heddle-thread': 'mine' }
  const payload = { input: 'Hi', conversation }
  const answer = await shared.app.inject({ method: 'POST', url: responsesUrl, headers, payload })
  const id = answer.headers['x-heddle-call-id']
  const { json } = await post('/call/read', { project_id: 'acme/default', id })
  assert.equal(json.call.thread_id, 'mine')
})

test('items that are deleted between turns are not read, and those of tools are', async () => {
  const conversation = await begin()
  const tools = [{ type: 'function', name: 'now' }]
  model.parts = [
    { kind: 'reasoning', text: 'Hm' },
    { kind: 'call', index: 0, id: 'call_9', name: 'now' },
    { kind: 'arguments', index: 0, text: '{}' },
    { kind: 'callEnd', index: 0 },
  ]
  await post(responsesUrl, { input: 'When?', conversation, tools })
  const [, thought] = await itemsOf(conversation)
  assert.equal(thought.type, 'reasoning')
  const removed = await send('DELETE', `${conversationsUrl}/${conversation}/items/${thought.id}`)
  assert.deepEqual([removed.status, removed.json.id], [200, conversation])
  model.parts = [text('Noon.')]
  const output = { type: 'function_call_output', call_id: 'call_9', output: '12' }
  const next = await post(responsesUrl, { input: [output], conversation, tools })
  assert.equal(next.status, 200, next.text)
  const asked = { id: 'call_9', type: 'function', function: { name: 'now', arguments: '{}' } }
  assert.deepEqual(messagesRead(), [
    user('When?'),
    { role: 'assistant', content: null, tool_calls: [asked] },
    { role: 'tool', tool_call_id: 'call_9', content: '12' },
  ])
  const types = (await itemsOf(conversation)).map(({ type }: { type: string }) => type)
  assert.deepEqual(types, ['message', 'function_call', 'function_call_output', 'message'])
})

test('of answers at once nothing is lost, and no id is there twice', async () => {
  model.parts = [text('Yes')]
  const conversation = await begin()
  const first = await post(responsesUrl, { input: 'First', conversation })
  const [mine] = first.json.output
  // Sent again, an item has the same id as the one that is there.
  const again = { input: [mine, user('Next')], conversation }
  await Promise.all(Array.from({ length: 4 }, () => post(responsesUrl, again)))
  const items = await itemsOf(conversation)
  assert.equal(items.length, 2 + 4 * 3)
  assert.equal(new Set(items.map(({ id }: { id: string }) => id)).size, items.length)
  const texts: string[] = await textsIn(conversation)
  assert.deepEqual(texts.slice(2), Array(4).fill(['Yes', 'Next', 'Yes']).flat())
})

test('an input refers to items of the conversation, and to no others by their position', async () => {
  model.parts = [text('Yes')]
  const conversation = await begin(shared, { items: [user('Remember 7.')] })
  const [item] = await itemsOf(conversation)
  assert.equal(item.id, `msg_${conversation.slice('conv_'.length)}_0`)
  const input = [{ type: 'item_reference', id: item.id }]
  const answer = await post(responsesUrl, { input, conversation })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(messagesRead(), [user('Remember 7.'), user('Remember 7.')])
  const elsewhere = await post(responsesUrl, { input })
  assertRefused(elsewhere, { status: 404, code: 'response_item_not_found', param: 'input.0.id' })
  const copied = await begin(shared, { items: [{ type: 'item_reference', id: answer.json.output[0].id }] })
  assert.deepEqual(await textsIn(copied), ['Yes'])
})

test('tokens of a conversation are counted, and nothing is added', async () => {
  const conversation = await begin(shared, { items: [user('Remember 7.')] })
  const count = async (fields: object) =>
    (await post(`${responsesUrl}/input_tokens`, fields)).json.input_tokens
  const alone = await count({ input: 'Hi' })
  assert.ok((await count({ input: 'Hi', conversation })) > alone)
  assert.equal((await itemsOf(conversation)).length, 1)
})

test('what cannot be continued is refused by name, and nothing is added', async () => {
  const conversation = await begin()
  const { json } = await post(responsesUrl, { input: 'Hi' })
  const ask = (fields: object) => post(responsesUrl, { input: 'Hi', conversation, ...fields })
  const both = { previous_response_id: json.id }
  assertRefused(await ask(both), { status: 400, code: 'invalid_value', param: 'conversation' })
  const counted = await post(`${responsesUrl}/input_tokens`, { input: 'Hi', conversation, ...both })
  assertRefused(counted, { status: 400, code: 'invalid_value', param: 'conversation' })
  assertRefused(await ask({ store: false }), { status: 400, code: 'invalid_value', param: 'store' })
  for (const conversation of ['conv_0', { id: 'x' }])
    assertRefused(await ask({ conversation }), {
      ...{ status: 404, code: 'conversation_not_found', param: 'conversation' },
      message: /^Conversation with id '(conv_0|x)' not found\.$|^conversation: /,
    })
  for (const conversation of [7, '', {}, { id: 7 }, ['conv_0']])
    assert.equal((await ask({ conversation })).status, 400, JSON.stringify(conversation))
  assert.deepEqual(await itemsOf(conversation), [])
})

test('an answer whose conversation is deleted while it is written fails by name', async () => {
  const conversation = await begin()
  // The conversation is deleted when the model has read it.
  const { answer } = model
  model.answer = async (...request) => {
    await send('DELETE', `${conversationsUrl}/${conversation}`)
    return answer(...request)
  }
  const failed = await post(responsesUrl, { input: 'Hi', conversation })
  model.answer = answer
  assertRefused(failed, { status: 404, code: 'conversation_not_found', param: 'conversation' })
})

test('where nothing is recorded there are no conversations', async (t) => {
  const conversation = await begin()
  const off = { authorization: basic(keys.alice), 'x-heddle-record': 'off' }
  for (const [url, payload, param] of [
    [conversationsUrl, {}, 'items'],
    [`${conversationsUrl}/${conversation}/items`, { items: [user('Hi')] }, 'items'],
    [responsesUrl, { input: 'Hi', conversation }, 'conversation'],
  ] as const) {
    const { statusCode, body } = await shared.app.inject({ method: 'POST', url, headers: off, payload })
    const json = JSON.parse(body)
    assertRefused({ status: statusCode, json }, { status: 400, code: 'recording_off', param })
  }
  const none = await openApp(t, { model, settings: { HEDDLE_RECORD: 'off' } })
  const refused = await none.post(conversationsUrl, {})
  assertRefused(refused, { status: 400, code: 'recording_off', param: 'items' })
})

test('P6: to another user it does not exist, whatever the way', async () => {
  const conversation = await begin(shared, { items: [user('Hi')] }, keys.bob)
  const [{ id: item }] = await itemsOf(conversation, shared, keys.bob)
  const unknown = 'conv_00000000000000000000000000000000'
  const ask = async (id: string) => {
    const url = `${conversationsUrl}/${id}`
    const answers = [
      await get(url),
      await post(url, { metadata: {} }),
      await get(`${url}/items`),
      await get(`${url}/items/${item}`),
      await post(`${url}/items`, { items: [user('Mine')] }),
      await send('DELETE', `${url}/items/${item}`),
      await post(responsesUrl, { input: 'Hi', conversation: id }),
      await post(`${responsesUrl}/input_tokens`, { input: 'Hi', conversation: id }),
      await send('DELETE', url),
    ]
    return answers.map(({ status, text }) => [status, text.replaceAll(id, '')])
  }
  const told = await ask(conversation)
  assert.deepEqual(told, await ask(unknown))
  assert.deepEqual(
    told.map(([status]) => status),
    Array(9).fill(404),
  )
  assert.equal((await itemsOf(conversation, shared, keys.bob)).length, 1)
})

test('it is gone for its user once access to its project is, and with its user', async (t) => {
  const opened = await openApp(t, { model })
  const { get, send } = opened
  const grants = (...scopes: string[]) => ({ grants: scopes.map((scope) => ({ scope, role: 'editor' })) })
  const carol = { name: 'carol', ...grants('acme/a', 'acme/b') }
  const { key } = (await opened.post('/users', carol, keys.root)).json.key
  const headers = { authorization: basic(key), 'x-heddle-project': 'acme/b' }
  const { body } = await opened.app.inject({ method: 'POST', url: conversationsUrl, headers, payload: {} })
  const url = `${conversationsUrl}/${JSON.parse(body).id}`
  assert.equal((await get(url, key)).status, 200)
  assert.equal((await send('PUT', '/users/carol/grants', grants('acme/a'), keys.root)).status, 200)
  assert.equal((await get(url, key)).status, 404)
  assert.equal((await send('DELETE', '/users/carol', undefined, keys.root)).status, 200)
  assert.equal(await opened.database.write('sweepConversations', { now: 1, limit: 9, bytes: 9 }), 1)
})

test('redaction of its project and of the project of the call leaves no secret in any table', async (t) => {
  const secret = 'ada@example.com'
  const model = partsModel(text(`I wrote to ${secret}`))
  const opened = await openApp(t, { model })
  const redaction = { kinds: ['email'], paths: [{ path: 'inputs.input.*.content.*.text', action: 'drop' }] }
  for (const project of ['acme/default', 'acme/other'])
    assert.equal(
      (await opened.send('PUT', `/projects/${project}/redaction`, redaction, keys.root)).status,
      200,
    )
  const conversation = await begin(opened, { metadata: { to: secret }, items: [user(`Write ${secret}`)] })
  await opened.post(`${conversationsUrl}/${conversation}`, { metadata: { cc: secret } })
  const added = await opened.post(`${conversationsUrl}/${conversation}/items`, { items: [user(secret)] })
  assert.equal(added.json.data[0].content[0].text, '[dropped]')
  const answer = await opened.post(responsesUrl, { input: `To ${secret}`, conversation })
  assert.equal(answer.status, 200, answer.text)
  const read = (await opened.get(`${conversationsUrl}/${conversation}`)).json
  assert.deepEqual(read.metadata, { cc: '[email]' })
  const texts = ['[dropped]', '[dropped]', '[dropped]', 'I wrote to [email]']
  assert.deepEqual(await textsIn(conversation, opened), texts)
  // A conversation of a project without rules, continued in one that has some.
  const headers = { authorization: basic(keys.alice), 'x-heddle-project': 'acme/free' }
  const free = await opened.app.inject({ method: 'POST', url: conversationsUrl, headers, payload: {} })
  const { id } = JSON.parse(free.body)
  await opened.post(responsesUrl, { input: `To ${secret}`, conversation: id })
  assert.deepEqual(await textsIn(id, opened), ['[dropped]', 'I wrote to [email]'])
  const dump = JSON.stringify(await dumpOf(opened.database, () => false, []))
  assert.ok(dump.includes(conversation) && !dump.includes(secret))
})

test('what redaction leaves nothing of counts as deleted', async (t) => {
  const opened = await openApp(t, { model: partsModel(text('Yes')) })
  const redaction = { paths: [{ path: 'inputs', action: 'drop' }] }
  await opened.send('PUT', '/projects/acme/default/redaction', redaction, keys.root)
  const conversation = await begin(opened, { items: [user('Hi')] })
  assert.deepEqual(await itemsOf(conversation, opened), [])
  await opened.post(responsesUrl, { input: 'Hi', conversation })
  assert.deepEqual(await textsIn(conversation, opened), ['Yes'])
})

const day = 86_400_000_000
const tables = ['conversations', 'conversation_items'] as const

async function rowsOf({ database }: TestApp) {
  const dump = await dumpOf(database, () => false, [])
  return tables.map((table) => dump[table]?.length)
}

test('it lives as long as an answer that was added last, and its space is freed in steps', async (t) => {
  const settings = { HEDDLE_RETENTION_DAYS: '30', HEDDLE_RESPONSE_DAYS: '20' }
  const opened = await openApp(t, { model: partsModel(text('Yes')), settings })
  const { database } = opened
  const expiries = async () =>
    ((await dumpOf(database, () => false, [])).conversations ?? []).map((row) => JSON.parse(row).expire_at)
  const conversation = await begin(opened)
  const [first] = await expiries()
  assert.ok(Math.abs(Number(first) - (now() + 20 * day)) < day)
  await opened.post(responsesUrl, { input: 'Hi', conversation })
  const [second] = await expiries()
  assert.ok(Number(second) > Number(first))
  const step = { limit: 2, bytes: 1 << 20 }
  assert.equal(await database.write('sweepConversations', { now: now(), ...step }), 0)
  assert.equal(await database.write('sweepConversations', { now: now() + 21 * day, ...step }), 2)
  assert.deepEqual(await rowsOf(opened), [1, 0])
  assert.equal(await database.write('sweepConversations', { now: now() + 21 * day, ...step }), 1)
  assert.deepEqual(await rowsOf(opened), [0, 0])
})

test('what is deleted is freed, by its user and with its project', async (t) => {
  const opened = await openApp(t, { model })
  const sweep = { now: now(), limit: 100, bytes: 1 << 20 }
  const filled = () => begin(opened, { items: [user('a'), user('b')] })
  await opened.send('DELETE', `${conversationsUrl}/${await filled()}`)
  assert.deepEqual(await rowsOf(opened), [1, 2])
  assert.equal(await opened.database.write('sweepConversations', sweep), 3)
  const conversation = await filled()
  const gone = await opened.send('DELETE', '/projects/acme/default', undefined, keys.root)
  assert.equal(gone.status, 200, gone.text)
  assert.deepEqual(await rowsOf(opened), [0, 0])
  assert.equal((await opened.get(`${conversationsUrl}/${conversation}`)).status, 404)
})
