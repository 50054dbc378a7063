import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basic, keys, openApp, type TestParts } from '../../support/app.ts'
import { startOf } from '../../support/calls.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const trace = '0af7651916cd43dd8448eb211c80319c'
const span = 'b7ad6b7169203331'

async function open(t: Parameters<typeof openApp>[0], parts: TestParts = {}) {
  const backend = scriptedBackend()
  const opened = await openApp(t, { backend, ...parts })
  const { app, post } = opened
  /** Sends a request with these headers; returns also the id of its call, if there is one. */
  async function ask(headers: Record<string, string> = {}, fields: object = {}, key = keys.alice) {
    const response = await app.inject({
      method: 'POST',
      url: chatUrl,
      headers: { authorization: basic(key), 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(asking({ ...fields })),
    })
    const id = response.headers['x-heddle-call-id']
    return { status: response.statusCode, json: response.json(), id }
  }
  async function callIn(project_id: string, id: unknown, key = keys.alice) {
    const { status, json } = await post('/call/read', { project_id, id }, key)
    assert.equal(status, 200, JSON.stringify(json))
    return json.call
  }
  return { ...opened, backend, ask, callIn }
}

test('P12: a call goes to the project that its request names, or else to the default project of its user', async (t) => {
  const { ask, callIn } = await open(t)
  const named = await ask({ 'x-heddle-project': 'acme/qa', 'x-heddle-thread': 'a thread' })
  assert.equal((await callIn('acme/qa', named.id)).thread_id, 'a thread')
  const own = await ask()
  assert.equal((await callIn('acme/default', own.id)).thread_id, null)
  const session_id = 'a session'
  const inSession = await ask({}, { session_id })
  assert.equal((await callIn('acme/default', inSession.id)).thread_id, session_id)
  const both = await ask({ 'x-heddle-thread': 'a thread' }, { session_id })
  assert.equal((await callIn('acme/default', both.id)).thread_id, 'a thread')
  const root = await ask({}, {}, keys.root)
  assert.equal((await callIn('main/default', root.id, keys.root)).svc_user_id, 'root')
  const utf8 = Buffer.from('acme/été').toString('latin1')
  const accented = await ask({ 'x-heddle-project': utf8 })
  assert.equal((await callIn('acme/été', accented.id)).id, accented.id)
})

test('requests of Claude Code and Codex are calls of these agents', async (t) => {
  const { ask, callIn, post } = await open(t)
  for (const headers of [
    { 'user-agent': 'claude-cli/2.1.332 (external, sdk-cli)' },
    { 'user-agent': 'codex_exec/0.171.0 (linux)', originator: 'codex_exec' },
    { originator: 'codex_cli_rs', 'user-agent': 'other/1' },
    { 'user-agent': 'not claude-cli/1' },
  ] as Record<string, string>[]) {
    // Reading it waits for it.
    await callIn('acme/default', (await ask(headers)).id)
  }
  const { status, json } = await post('/agents/spans/query', {
    project_id: 'acme/default',
    sort_by: [{ field: 'started_at', direction: 'asc' }],
  })
  assert.equal(status, 200)
  assert.deepEqual(
    json.spans.map(({ agent_name, agent_version }: Record<string, string>) => [agent_name, agent_version]),
    [
      ['claude-code', '2.1.332'],
      ['codex', '0.171.0'],
      ['codex', null],
      [null, null],
    ],
  )
})

test('the thread of an answer is the session that its client names, and a root call of it is a turn', async (t) => {
  const { ask, callIn } = await open(t)
  const device = { device_id: 'd', session_id: 's-5' }
  for (const [headers, fields, thread] of [
    [{ 'x-claude-code-session-id': 's-1' }, {}, 's-1'],
    [{ 'session-id': 's-2', 'thread-id': 't-2' }, {}, 't-2'],
    [{ session_id: 's-3' }, {}, 's-3'],
    [{ 'x-heddle-thread': 'own', 'thread-id': 't-2' }, { session_id: 's' }, 'own'],
    [{ 'thread-id': 't-2' }, { session_id: 's-4' }, 's-4'],
    [{}, { metadata: { thread_id: 't-4' } }, 't-4'],
    [{}, { metadata: { user_id: JSON.stringify(device) } }, 's-5'],
    [{}, { metadata: { user_id: 'user_ab_account__session_0a-1' } }, '0a-1'],
    [{}, { metadata: { user_id: '{not json' } }, null],
    [{ 'thread-id': 'x'.repeat(513) }, {}, null],
    [{ 'thread-id': 'a\tb' }, {}, null],
  ] as [Record<string, string>, object, string | null][]) {
    const { status, id } = await ask(headers, fields)
    assert.equal(status, 200)
    const { thread_id, turn_id } = await callIn('acme/default', id)
    assert.deepEqual([thread_id, turn_id], [thread, thread === null ? null : id])
  }
  const below = await ask({ 'x-heddle-thread': 'own', traceparent: `00-${trace}-${span}-01` })
  const { thread_id, turn_id } = await callIn('acme/default', below.id)
  assert.deepEqual([thread_id, turn_id], ['own', null])
})

test('a project without access is refused before anything is generated', async (t) => {
  const { ask, backend } = await open(t)
  for (const project of ['globex/qa', 'globex/none']) {
    const { status, json, id } = await ask({ 'x-heddle-project': project })
    assert.deepEqual([status, json.error.code, id], [403, 'entity_forbidden', undefined])
  }
  assert.equal(backend.asked.length, 0)
})

test('invalid headers are refused and named', async (t) => {
  const { ask, backend } = await open(t)
  for (const [header, value] of [
    ['x-heddle-project', 'acme'],
    ['x-heddle-project', 'ac me/qa'],
    ['x-heddle-thread', 'x'.repeat(513)],
    ['x-heddle-thread', ''],
    ['x-heddle-parent', 'a'],
    ['x-heddle-trace', 'a'],
    ['x-heddle-record', 'yes'],
  ] as const) {
    const { status, json } = await ask({ [header]: value })
    assert.deepEqual([status, json.error.code, json.error.param], [400, 'invalid_value', header])
  }
  assert.equal(backend.asked.length, 0)
})

test('P12: a call is a child of the call that its request names, in the same trace', async (t) => {
  const { ask, callIn, post } = await open(t)
  const start = startOf({ project_id: 'acme/qa' })
  const { json } = await post('/call/start', { start })
  const child = await ask({ 'x-heddle-project': 'acme/qa', 'x-heddle-parent': json.id })
  const call = await callIn('acme/qa', child.id)
  assert.deepEqual([call.parent_id, call.trace_id], [json.id, json.trace_id])
  const grandchild = await ask({ 'x-heddle-project': 'acme/qa', 'x-heddle-parent': String(child.id) })
  assert.equal((await callIn('acme/qa', grandchild.id)).trace_id, json.trace_id)
})

test('an unknown parent is refused, unless its trace is named', async (t) => {
  const { ask, callIn, backend } = await open(t)
  const parent = '01a20311-08f7-7f67-b219-e6c2f9ce456b'
  const { status, json } = await ask({ 'x-heddle-parent': parent })
  assert.deepEqual([status, json.error.code, json.error.param], [404, 'parent_not_found', 'x-heddle-parent'])
  assert.equal(backend.asked.length, 0)
  const early = await ask({ 'x-heddle-parent': parent, 'x-heddle-trace': trace })
  const call = await callIn('acme/default', early.id)
  assert.deepEqual([call.parent_id, call.trace_id], [parent, trace])
})

test('P12: traceparent makes a call a child of the span of the client', async (t) => {
  const { ask, callIn } = await open(t)
  for (const header of [`00-${trace}-${span}-01`, `cc-${trace}-${span}-01-more`]) {
    const call = await callIn('acme/default', (await ask({ traceparent: header })).id)
    assert.deepEqual([call.parent_id, call.trace_id], [span, trace])
  }
})

test('an invalid traceparent is ignored', async (t) => {
  const { ask, callIn } = await open(t)
  for (const header of [
    'x',
    `00-${trace}-${span}`,
    `00-${trace}-${span}-01-more`,
    `ff-${trace}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
  ]) {
    const { status, id } = await ask({ traceparent: header })
    assert.equal(status, 200)
    const call = await callIn('acme/default', id)
    assert.deepEqual([call.parent_id, call.trace_id], [null, call.id], header)
  }
})

test('P12: an answer is not recorded when its request says so', async (t) => {
  const { ask } = await open(t)
  assert.equal((await ask({}, { store: false })).id, undefined)
  assert.equal((await ask({ 'x-heddle-record': 'off' })).id, undefined)
  assert.equal((await ask({ 'x-heddle-record': 'off' }, { store: false })).id, undefined)
  const refused = await ask({ 'x-heddle-record': 'off' }, { store: true })
  assert.deepEqual([refused.status, refused.json.error.code], [400, 'recording_off'])
  assert.notEqual((await ask({}, { store: true })).id, undefined)
})

test('x-heddle-record: on records answers of programs that always say otherwise, and keeps no response', async (t) => {
  const on = { 'x-heddle-record': 'on' }
  const { app, ask, callIn } = await open(t, { settings: { HEDDLE_RECORD: 'asked' } })
  for (const fields of [{}, { store: false }]) await callIn('acme/default', (await ask(on, fields)).id)
  const response = await app.inject({
    method: 'POST',
    url: '/v1/responses',
    headers: { authorization: basic(keys.alice), 'content-type': 'application/json', ...on },
    payload: JSON.stringify({ input: 'Hi', store: false }),
  })
  const { id, store } = response.json()
  assert.equal(store, false)
  const call = await callIn('acme/default', response.headers['x-heddle-call-id'])
  assert.equal(call.attributes.heddle.completion, id)
  const url = `/v1/responses/${id}`
  const kept = await app.inject({ url, headers: { authorization: basic(keys.alice) } })
  assert.equal(kept.statusCode, 404)
  const off = await open(t, { settings: { HEDDLE_RECORD: 'off' } })
  const { status, json } = await off.ask(on)
  assert.deepEqual([status, json.error.code, json.error.param], [400, 'recording_off', 'x-heddle-record'])
})

test('HEDDLE_RECORD=asked records only answers whose requests ask for it', async (t) => {
  const { ask, callIn } = await open(t, { settings: { HEDDLE_RECORD: 'asked' } })
  assert.equal((await ask()).id, undefined)
  const { id } = await ask({}, { store: true, metadata: { a: 'b' } })
  assert.deepEqual((await callIn('acme/default', id)).attributes.heddle.metadata, { a: 'b' })
})

test('HEDDLE_RECORD=off records nothing, and a request that asks for it is refused with the reason', async (t) => {
  const { ask, post } = await open(t, { settings: { HEDDLE_RECORD: 'off' } })
  assert.equal((await ask()).id, undefined)
  const { status, json } = await ask({}, { store: true })
  assert.deepEqual([status, json.error.code, json.error.param], [400, 'recording_off', 'store'])
  assert.match(json.error.message, /HEDDLE_RECORD=off/)
  assert.equal((await post('/calls/query_stats', { project_id: 'acme/default' })).json.count, 0)
})
