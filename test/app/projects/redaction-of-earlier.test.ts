import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { hashKey } from '../../../src/domain/keys.ts'
import { now } from '../../../src/domain/time.ts'
import type { Database } from '../../../src/storage/database.ts'
import type { HeldPass } from '../../../src/storage/redaction/passes.ts'
import { createRedacting } from '../../../src/storage/redaction/redaction.ts'
import { nextRows, redactRows } from '../../../src/storage/redaction/stored-texts.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { basic, keys, openApp, type TestParts } from '../../support/app.ts'
import { completeOf, endOf, project } from '../../support/calls.ts'
import { formOf, formType } from '../../support/forms.ts'
import { prefilled, scriptedBackend, tokens } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const admin = 'the-secret-key-of-ada'
const url = '/projects/acme/qa/redaction'
const address = 'ada.lovelace@example.com'
const redaction = { kinds: ['email'] }

async function openWithAdmin(t: TestContext, parts: TestParts = {}) {
  const opened = await openApp(t, { sweep: true, ...parts })
  const { database, get, post, send } = opened
  if ((await database.get(sql`SELECT 1 AS one FROM users`)) === undefined) {
    await database.write('addUser', {
      user: { name: 'ada', role: 'admin', entities: ['acme'], created_at: 1 },
      key: { id: 'ada', hash: hashKey(admin) },
    })
  }
  const openOf = (url: string) => ({
    set: (settings: object = redaction) => send('PUT', url, settings, admin),
    apply: (key = admin) => send('POST', `${url}/apply`, undefined, key),
    async done() {
      await until('the pass is through', async () => (await get(url)).json.earlier.state !== 'running')
      return (await get(url)).json
    },
  })
  return {
    ...opened,
    ...openOf(url),
    openOf,
    async add(calls: Record<string, unknown>[]) {
      const batch = calls.map((call) => completeOf(call))
      const { status, text } = await post('/v2/acme/qa/calls/complete', { batch })
      assert.equal(status, 200, text)
      return batch
    },
    read: async (id: string) => (await post('/call/read', { project_id: project, id })).json.call,
  }
}

async function redactAsEmail(
  database: Database,
  held: HeldPass,
  stored: Awaited<ReturnType<typeof nextRows>>,
  time: number,
) {
  const redacting = createRedacting()
  const asked = {
    tenant: '',
    rules: { redaction: { kinds: ['email'] }, secret: '' },
    table: 'calls',
  } as const
  const redacted = await redactRows(redacting, asked, stored)
  await redacting.close()
  const after = stored.at(-1)?.key ?? []
  await database.write('redactStored', {
    ...held,
    table: 'calls',
    ...redacted,
    read: stored.length,
    after,
    now: time,
  })
}

test('what was stored before is replaced as new texts are, and all that is derived from it', async (t) => {
  const { set, apply, add, done, read, post, get } = await openWithAdmin(t)
  const long = `${'word '.repeat(20_000)}${address}`
  const [first, other, large] = await add([
    {
      op_name: `mail to ${address}`,
      display_name: `to ${address}`,
      inputs: { messages: [{ role: 'user', content: `I am ${address}` }] },
      output: { choices: [{ message: { role: 'assistant', content: `Hello ${address}` } }] },
      attributes: { who: address },
      exception: `no such ${address}`,
    },
    { inputs: { order: 'A-1' }, output: 'nothing private' },
    { inputs: { long } },
  ])
  assert.ok(first && other && large)
  const note = { project_id: project, svc_ref: `weave:///${project}/call/${first.id}` }
  const said = { ...note, feedback_type: 'wandb.note.1', payload: { note: `ask ${address}` } }
  assert.equal((await post('/feedback/create', said)).status, 200)
  const update = { project_id: project, call_id: other.id, display_name: `now ${address}` }
  assert.equal((await post('/call/update', update)).status, 200)
  const before = await read(other.id)
  assert.equal((await set()).status, 200)
  const begun = await apply()
  assert.deepEqual([begun.status, begun.json.earlier.state, begun.json.earlier.by], [200, 'running', 'ada'])
  const { earlier, counts } = await done()
  assert.deepEqual([earlier.state, earlier.rows, earlier.changed], ['done', 4, 4])
  assert.deepEqual(counts, { email: 9 })
  const all = await post('/calls/stream_query', { project_id: project })
  assert.ok(!all.text.includes('lovelace'), all.text.slice(0, 2_000))
  const listed = await post('/views/calls', { project_id: project })
  assert.ok(!listed.text.includes('lovelace'))
  assert.ok(listed.text.includes('I am [email]'), listed.text)
  const facets = await post('/views/facets', { project_id: project })
  assert.ok(!facets.text.includes('lovelace') && facets.text.includes('mail to [email]'), facets.text)
  const notes = await post('/feedback/query', { project_id: project })
  assert.equal(notes.json.result[0].payload.note, 'ask [email]')
  assert.deepEqual(await read(other.id), JSON.parse(JSON.stringify(before).replaceAll(address, '[email]')))
  assert.equal((await read(large.id)).inputs.long, long.replace(address, '[email]'))
  const sizes = (await post('/calls/query_stats', { project_id: project, include_total_storage_size: true }))
    .json
  const stored = { project_id: project, include_storage_size: true }
  const calls = (await post('/calls/query', stored)).json.calls as { storage_size_bytes: number }[]
  assert.equal(
    calls.reduce((sum, call) => sum + call.storage_size_bytes, 0),
    sizes.total_storage_size_bytes,
  )
  assert.equal((await get(url)).json.earlier.by, 'ada')
})

test('the words of what was replaced are not found any more', async (t) => {
  const { set, apply, add, done, post } = await openWithAdmin(t, { settings: { HEDDLE_SEARCH: 'on' } })
  await add([{ output: `ask ${address} about quokkas` }])
  const find = async (text: string) =>
    (await post('/views/search', { project_id: project, text })).json.found.length
  await until('the call is indexed', async () => (await find('lovelace')) === 1)
  await set()
  await apply()
  await done()
  assert.deepEqual([await find('lovelace'), await find('quokkas')], [0, 1])
})

test('items of conversations and metadata are replaced, and keep their places', async (t) => {
  const backend = scriptedBackend(function* (request) {
    yield prefilled(request)
    yield tokens(`Dear ${address}`, request)
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  })
  const { post, get, send, openOf } = await openWithAdmin(t, { backend })
  const { set, apply, done } = openOf('/projects/acme/default/redaction')
  const { id } = (await post('/v1/conversations', { metadata: { who: address } })).json
  const asked = { model: 'scripted', conversation: id, input: `I am ${address}`, metadata: { who: address } }
  const answer = await post('/v1/responses', asked)
  assert.equal(answer.status, 200, answer.text)
  const itemsOf = async () => (await get(`/v1/conversations/${id}/items?order=asc`)).json.data
  const before = await itemsOf()
  assert.equal(before.length, 2)
  await set()
  await apply()
  await done()
  assert.deepEqual(await itemsOf(), JSON.parse(JSON.stringify(before).replaceAll(address, '[email]')))
  assert.deepEqual((await get(`/v1/conversations/${id}`)).json.metadata, { who: '[email]' })
  const stored = await get(`/v1/responses/${answer.json.id}`)
  assert.ok(!stored.text.includes('lovelace') && stored.text.includes('Dear [email]'), stored.text)
  // What is private as a whole leaves an empty item in its place.
  await set({ paths: ['inputs', 'output'].map((path) => ({ path, action: 'drop' })) })
  await apply()
  await done()
  const emptied = await itemsOf()
  assert.deepEqual(
    emptied.map((item: { id: string; content: unknown[] }) => [item.id, item.content]),
    before.map((item: { id: string }) => [item.id, []]),
  )
  assert.equal((await send('DELETE', `/v1/conversations/${id}`)).status, 200)
})

test('what was sent as an alert, said of a batch, or asked in the background and not answered, is replaced', async (t) => {
  const backend = scriptedBackend(async function* (request, signal) {
    await once(signal, 'abort')
    yield prefilled(request)
  })
  const opened = await openWithAdmin(t, { backend })
  const { app, post, get, database, openOf } = opened
  const project_id = 'acme/default'
  const { set, apply, done } = openOf(`/projects/${project_id}/redaction`)
  // A message says little of a call, but the name of its op.
  const op_name = `answer to ${address}`
  const rule = { project_id, name: 'answers', on: 'call', filter: { op_names: [op_name] } }
  assert.equal((await post('/alert_rules', rule)).status, 200)
  const at = new Date().toISOString()
  const call = completeOf({ project_id, op_name, started_at: at, ended_at: at })
  await post('/v2/acme/default/calls/complete', { batch: [call] })
  const form = formOf([
    { name: 'purpose', value: 'batch' },
    { name: 'file', value: '{}', filename: 'in.jsonl' },
  ])
  const headers = { 'content-type': formType, authorization: basic(keys.alice) }
  const file = (await app.inject({ method: 'POST', url: '/v1/files', headers, payload: form })).json()
  const asked = { input_file_id: file.id, completion_window: '24h', metadata: { who: address } }
  const batch = (await post('/v1/batches', { endpoint: '/v1/chat/completions', ...asked })).json
  const waiting = (await post('/v1/responses', { input: 'a', instructions: address, background: true })).json
  assert.equal((await post(`/v1/responses/${waiting.id}/cancel`, {})).status, 200)
  const textsOf = async () => [
    JSON.stringify(await database.all(sql`SELECT body FROM alert_events`)),
    (await get(`/v1/batches/${batch.id}`)).text,
    (await get(`/v1/responses/${waiting.id}`)).text,
  ]
  for (const text of await textsOf()) assert.ok(text.includes(address), text)
  await set()
  await apply()
  await done()
  for (const text of await textsOf()) assert.ok(!text.includes('lovelace') && text.includes('[email]'), text)
})

test('a pass goes on where it was when the server is started again, and changes each row once', async (t) => {
  const first = await openWithAdmin(t, { sweep: false })
  await first.add(Array.from({ length: 100 }, (_, n) => ({ output: `${n} ${address}` })))
  await first.set()
  await first.apply()
  const { database } = first
  const time = now() + 5_000_000
  const held = await database.write('takeRedactionPass', { holder: 'killed', now: time, until: now() })
  assert.ok(held)
  const rows = await nextRows(boundTo(database, t.signal), project, 'calls', null)
  assert.equal(rows.length, 32)
  await redactAsEmail(database, held, rows, time)
  assert.equal((await first.get(url)).json.earlier.changed, 32)
  const next = await openWithAdmin(t, { database })
  const { earlier, counts } = await next.done()
  assert.deepEqual([earlier.state, earlier.rows, earlier.changed, counts], ['done', 100, 100, { email: 100 }])
  await next.apply()
  const again = await next.done()
  assert.deepEqual([again.earlier.rows, again.earlier.changed, again.counts], [100, 0, { email: 100 }])
})

test('a text that is damaged stays as it is with its row, and is counted', async (t) => {
  const redacting = createRedacting()
  t.after(() => redacting.close())
  const asked = {
    tenant: '',
    rules: { redaction: { kinds: ['email'] }, secret: '' },
    table: 'calls',
  } as const
  const stored = [
    ...['1', '2'].map((id) => ({ key: [id], before: { output: JSON.stringify(address), exception: null } })),
    { key: ['3'], before: { output: `{"to": "${address}`, exception: address } },
    { key: ['4'], before: { output: 'null', exception: address } },
  ]
  const { rows, counts, failed } = await redactRows(redacting, asked, stored)
  assert.deepEqual([counts, failed], [{ email: 3 }, 1])
  assert.deepEqual(
    rows.map(({ key, after }) => [...key, after]),
    [
      ['1', { output: '"[email]"' }],
      ['2', { output: '"[email]"' }],
      ['4', { exception: '[email]' }],
    ],
  )
})

test('a part that arrives while its call is read is not undone', async (t) => {
  const { add, set, apply, database, post, read } = await openWithAdmin(t, { sweep: false })
  const [call] = await add([{ inputs: { to: address }, output: address }])
  assert.ok(call)
  await set()
  await apply()
  const time = now() + 5_000_000
  const held = await database.write('takeRedactionPass', { holder: 'own', now: time, until: time })
  assert.ok(held)
  const rows = await nextRows(boundTo(database, t.signal), project, 'calls', null)
  const end = endOf(call.id, { output: 'later' })
  assert.equal((await post('/call/end', { end })).status, 200)
  await redactAsEmail(database, held, rows, time)
  const { inputs, output } = await read(call.id)
  assert.deepEqual([inputs, output], [{ to: '[email]' }, 'later'])
})

test('it is refused without settings and to others, is in the audit log, and stops when they are removed', async (t) => {
  const { apply, set, send, add, get, post, done } = await openWithAdmin(t)
  assert.deepEqual((await get(url)).json.earlier, null)
  const unset = await apply()
  assert.deepEqual([unset.status, unset.json.code], [409, 'redaction_unset'])
  const [call] = await add([{ output: address }])
  assert.ok(call)
  await set()
  for (const key of [keys.alice, keys.bob]) assert.equal((await apply(key)).status, 403)
  assert.equal((await apply()).status, 200)
  await send('DELETE', url, undefined, admin)
  assert.equal((await done()).earlier.state, 'stopped')
  const { json } = await post('/audit/query', { project_id: project }, admin)
  assert.deepEqual(
    json.entries.slice(0, 3).map(({ action, actor }: { action: string; actor: string }) => [action, actor]),
    [
      ['project.set', 'ada'],
      ['redaction.apply', 'ada'],
      ['project.set', 'ada'],
    ],
  )
})
