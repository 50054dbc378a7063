import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { hashKey } from '../../../src/domain/keys.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf } from '../../support/calls.ts'
import { exportOf, spanOf } from '../../support/otlp.ts'
import { scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const admin = 'the-secret-key-of-ada'
const url = '/projects/acme/qa/redaction'

async function openWithAdmin(t: TestContext, options: Parameters<typeof openApp>[1] = {}) {
  const opened = await openApp(t, options)
  await opened.database.write('addUser', {
    user: { name: 'ada', role: 'admin', entities: ['acme'], created_at: 1 },
    key: { id: 'ada', hash: hashKey(admin) },
  })
  const set = (redaction: object, key = admin) => opened.send('PUT', url, redaction, key)
  const complete = async (fields: Record<string, unknown>) => {
    const call = completeOf(fields)
    const { status, text } = await opened.post('/v2/acme/qa/calls/complete', { batch: [call] })
    assert.equal(status, 200, text)
    const { json } = await opened.post('/call/read', { project_id: 'acme/qa', id: call.id })
    return json.call
  }
  return { ...opened, set, complete }
}

test('it is off unless an admin sets it, and ends when an admin removes it', async (t) => {
  const { get, set, send, complete } = await openWithAdmin(t)
  const output = 'write to ada@example.com'
  assert.deepEqual((await get(url)).json, { redaction: null, counts: {}, earlier: null })
  assert.equal((await complete({ output })).output, output)
  const redaction = { kinds: ['email'] }
  for (const key of [keys.alice, keys.bob]) {
    assert.equal((await set(redaction, key)).status, 403)
    assert.equal((await send('DELETE', url, undefined, key)).status, 403)
  }
  const { status, json } = await set(redaction)
  assert.deepEqual([status, json], [200, { redaction, counts: {}, earlier: null }])
  assert.equal((await complete({ output })).output, 'write to [email]')
  assert.deepEqual((await get(url)).json, { redaction, counts: { email: 1 }, earlier: null })
  const { projects } = (await get('/projects')).json
  assert.deepEqual(projects[0].settings, { redaction })
  assert.equal((await send('DELETE', url, undefined, admin)).json.redaction, null)
  assert.equal((await complete({ output })).output, output)
  assert.equal((await get(url, keys.bob)).status, 403)
})

test('the audit log says who changed it to what', async (t) => {
  const { set, post } = await openWithAdmin(t)
  const redaction = { paths: [{ path: 'inputs.**.password', action: 'drop' }] }
  assert.equal((await set(redaction)).status, 200)
  const { json } = await post('/audit/query', { project_id: 'acme/qa' }, admin)
  const [deed] = json.entries ?? json.deeds ?? json.result
  assert.equal(deed.action, 'project.set')
  assert.equal(deed.actor, 'ada')
  assert.deepEqual(deed.details, { change: { redaction } })
})

test('patterns, paths and hashes', async (t) => {
  const { get, set, complete } = await openWithAdmin(t)
  const redaction = {
    patterns: [{ name: 'employee', pattern: '\\bEMP-\\d{4,}\\b' }],
    paths: [
      { path: 'inputs.**.password', action: 'drop' },
      { path: 'inputs.user', action: 'hash' },
    ],
  }
  assert.equal((await set(redaction)).status, 200)
  const inputs = { user: 'ada', login: { password: ['x'] }, note: 'EMP-12345 XEMP-12345' }
  const [first, second] = [await complete({ inputs }), await complete({ inputs })]
  assert.deepEqual(first.inputs, {
    user: first.inputs.user,
    login: { password: '[dropped]' },
    note: '[employee] XEMP-12345',
  })
  assert.match(first.inputs.user, /^\[hash:[0-9a-f]{16}\]$/)
  assert.equal(second.inputs.user, first.inputs.user)
  assert.deepEqual((await get(url)).json.counts, { dropped: 2, employee: 2, hashed: 2 })
})

test('whole inputs and outputs', async (t) => {
  const { set, complete } = await openWithAdmin(t)
  const drop = (path: string) => ({ path, action: 'drop' })
  assert.equal((await set({ paths: [drop('inputs'), drop('output')] })).status, 200)
  const { inputs, output, id } = await complete({ inputs: { a: 1 }, output: 'b' })
  assert.deepEqual([inputs, output], [{ redacted: '[dropped]' }, '[dropped]'])
  assert.match(id, /^[0-9a-f-]{36}$/)
})

test('what cannot be kept is refused with its field', async (t) => {
  const { set } = await openWithAdmin(t)
  const patternOf = (pattern: string, name = 'own') => ({ patterns: [{ name, pattern }] })
  const cases: [object, RegExp][] = [
    [{ kinds: ['names'] }, /kinds/],
    [{ kinds: ['email', 'email'] }, /expected each kind once/],
    [{ mode: 'mask' }, /mode/],
    [patternOf('a', 'email'), /expected none of email/],
    [patternOf('a', 'Own')],
    [{ patterns: [...patternOf('a').patterns, ...patternOf('b').patterns] }, /expected different names/],
    [patternOf('(a+)+$'), /patterns\.0\.pattern.*anchor/s],
    [patternOf('(?<=a)b'), /patterns\.0\.pattern.*look-behind/s],
    [patternOf('a*'), /empty text/],
    [patternOf('('), /patterns\.0\.pattern/],
    [patternOf('(?:.{999}){99}'), /steps|states/],
    [{ paths: [{ path: 'attributes.weave.x', action: 'drop' }] }, /paths/],
    [{ paths: [{ path: 'summary.usage', action: 'drop' }] }, /paths/],
    [{ paths: [{ path: 'summary', action: 'drop' }] }, /paths/],
    [{ paths: [{ path: 'id', action: 'hash' }] }, /paths/],
    [{ paths: [{ path: 'inputs..a', action: 'drop' }] }, /paths/],
    [{ paths: [{ path: `inputs${'.a'.repeat(16)}`, action: 'drop' }] }, /at most 16/],
  ].map(([body, reason = /patterns|expected/]) => [body as object, reason as RegExp])
  for (const [body, reason] of cases) {
    const { status, text } = await set(body)
    assert.ok(status === 400 || status === 422, `${JSON.stringify(body)} ${text}`)
    assert.match(text, reason)
  }
})

test('a dry run over stored calls counts, and says nothing of them', async (t) => {
  const { set, post, get, complete } = await openWithAdmin(t)
  const secret = 'ada@example.com'
  await complete({ inputs: { to: secret, cc: secret }, output: '4111111111111111' })
  await complete({ output: 'nothing' })
  const kinds = { kinds: ['email', 'card'] }
  const tried = await post(`${url}/try`, { redaction: kinds }, admin)
  assert.deepEqual(tried.json, { calls: 2, matching: 1, counts: { email: 2, card: 1 } })
  assert.ok(!tried.text.includes('ada'))
  assert.deepEqual((await post(`${url}/try`, { redaction: kinds, limit: 1 }, admin)).json.calls, 1)
  assert.deepEqual((await post(`${url}/try`, {}, admin)).json, { calls: 2, matching: 0, counts: {} })
  const own = { patterns: [{ name: 'own', pattern: 'noth[a-z]+' }] }
  assert.deepEqual((await post(`${url}/try`, { redaction: own }, admin)).json.counts, { own: 1 })
  assert.equal((await post(`${url}/try`, {})).status, 403)
  assert.equal(
    (await post(`${url}/try`, { redaction: { patterns: [{ name: 'own', pattern: '(' }] } }, admin)).status,
    400,
  )
  assert.equal((await set(kinds)).status, 200)
  assert.deepEqual((await post(`${url}/try`, {}, admin)).json.counts, { email: 2, card: 1 })
  assert.deepEqual((await get(url)).json.counts, {})
})

test('a secret is found that an answer streams one character at a time', async (t) => {
  const secret = ['sgp_', '0a1b2c3d'.repeat(5)].join('')
  const backend = scriptedBackend(scriptOf(...`it is ${secret}, no?`))
  const { send, post } = await openWithAdmin(t, { backend })
  const own = '/projects/acme/default/redaction'
  assert.equal((await send('PUT', own, { kinds: ['key'] }, admin)).status, 200)
  const messages = [{ role: 'user', content: 'which?' }]
  const asked = { model: 'scripted', stream: true }
  const doors: [string, object][] = [
    ['/v1/chat/completions', { messages }],
    ['/v1/completions', { prompt: 'which?' }],
    ['/v1/responses', { input: 'which?' }],
    ['/v1/messages', { messages, max_tokens: 999 }],
  ]
  for (const [door, body] of doors) {
    const { status, text } = await post(door, { ...asked, ...body })
    assert.equal(status, 200, text)
  }
  let text = ''
  await until('lists have every answer', async () => {
    text = (await post('/calls/stream_query', { project_id: 'acme/default' })).text
    return text.trim().split('\n').length === doors.length
  })
  assert.ok(!text.includes(secret.slice(0, 12)) && !text.includes(secret.slice(-12)))
  assert.equal(text.match(/it is \[key\], no\?/g)?.length, doors.length, text)
})

test('a name of an attribute is read as a whole, whatever its dots', async (t) => {
  const { set, post } = await openWithAdmin(t)
  assert.equal((await set({ kinds: ['email'] })).status, 200)
  const span = spanOf({ 'jane.roe@mail.example.com': 1, 'user.jane%40example.com.seen': 2, 'user.id': 'u-1' })
  const sent = await post('/otel/v1/traces', exportOf([span]))
  assert.deepEqual([sent.status, sent.json], [200, {}])
  const { text } = await post('/calls/stream_query', { project_id: 'acme/qa' })
  const { otel_span, ...attributes } = JSON.parse(text).attributes
  assert.deepEqual(attributes, { '[email]': 1, '[email] 2': 2, user: { id: 'u-1' } })
  assert.ok(otel_span && !/jane|roe|example/.test(text), text)
})

test('a large call is read in a thread, and stored like a small one', async (t) => {
  const { set, complete } = await openWithAdmin(t)
  assert.equal((await set({ kinds: ['email'] })).status, 200)
  const long = 'x '.repeat(200_000)
  const { output, inputs } = await complete({ output: `${long}ada@example.com`, inputs: { long } })
  assert.ok(output === `${long}[email]`)
  assert.ok(inputs.long === long)
})

test('the size of a call is that of what is stored', async (t) => {
  const { set, post, complete } = await openWithAdmin(t)
  const sizeOf = async (output: string) => {
    const { id } = await complete({ output })
    const read = await post('/call/read', { project_id: 'acme/qa', id, include_storage_size: true })
    return read.json.call.storage_size_bytes
  }
  const size = await sizeOf('[email]')
  assert.equal((await set({ kinds: ['email'] })).status, 200)
  assert.equal(await sizeOf('a-long-name@example.com'), size)
})

test('what cannot be read is not stored', async (t) => {
  const { set, database, get } = await openWithAdmin(t)
  assert.equal((await set({ kinds: ['email'] })).status, 200)
  const feedback = {
    project_id: 'acme/qa',
    id: '0'.repeat(16),
    feedback_type: 'custom',
    svc_ref: 'weave:///acme/qa/call/0123456789abcdef',
    call_id: null,
    thread_id: null,
    user_id: 'alice',
    creator: null,
    created_at: 1,
    payload: '{"to":"ada@example.com","cut":"\\u00',
    annotation_ref: null,
    runnable_ref: null,
    call_ref: null,
    trigger_ref: null,
    queue_id: null,
  }
  const [stored] = await database.write('addFeedback', [{ record: feedback, field: 'id' }])
  assert.equal(stored?.payload, '{"redacted":"[redaction failed]"}')
  assert.equal((await get(url)).json.counts.failed, 1)
})
