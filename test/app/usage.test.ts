import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys, openApp } from '../support/app.ts'
import { completeOf } from '../support/calls.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { openMemoryRecord } from '../support/memory-record.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'

interface Day {
  user: string
  day: string
  requests: number
  refused: number
  prompt_tokens: number
  completion_tokens: number
}

const sumOf = (days: Day[], field: 'requests' | 'refused' | 'prompt_tokens' | 'completion_tokens') =>
  days.reduce((sum, day) => sum + day[field], 0)

test('requests and tokens are counted for their user, whole or streamed', async (t) => {
  const { post, get } = await openApp(t, { backend: scriptedBackend() })
  const { usage } = (await post(chatUrl, asking())).json
  assert.equal((await post(chatUrl, asking({ stream: true }))).status, 200)
  assert.equal((await post('/v1/completions', { prompt: 'Hi' }, keys.bob)).status, 200)
  assert.equal((await post('/call/start', {})).status, 422)
  assert.equal((await get('/server_info', 'a-key-of-nobody-at-all')).status, 401)
  const { status, json } = await get('/usage')
  assert.equal(status, 200)
  const days: Day[] = json.usage
  assert.ok(days.every(({ user, day }) => user === 'alice' && /^\d{4}-\d\d-\d\d$/.test(day)))
  assert.equal(sumOf(days, 'requests'), 4, 'including this request')
  assert.equal(sumOf(days, 'prompt_tokens'), 2 * usage.prompt_tokens)
  assert.equal(sumOf(days, 'completion_tokens'), 2 * usage.completion_tokens)
  assert.equal(sumOf(days, 'refused'), 0)
})

test('an admin sees the usage of all users, a member only their own', async (t) => {
  const { get } = await openApp(t)
  await get('/server_info', keys.bob)
  const names = async (query: string, key: string) => {
    const { json } = await get(`/usage${query}`, key)
    return [...new Set((json.usage as Day[]).map(({ user }) => user))].sort()
  }
  assert.deepEqual(await names('', keys.alice), ['alice'])
  assert.deepEqual(await names('?user=alice', keys.alice), ['alice'])
  assert.deepEqual(await names('', keys.root), ['alice', 'bob', 'root'])
  assert.deepEqual(await names('?user=bob', keys.root), ['bob'])
  assert.deepEqual(await names('?user=nobody', keys.root), [])
  assert.deepEqual(await names('?limit=1&offset=1', keys.root), ['bob'])
  assert.deepEqual(await names('?to=2020-01-01', keys.root), [])
  assert.deepEqual(await names('?from=9999-01-01', keys.root), [])
  const foreign = await get('/usage?user=bob', keys.alice)
  assert.deepEqual([foreign.status, foreign.json.code], [403, 'role_forbidden'])
  for (const query of ['from=yesterday', 'to=2026-13-01', 'limit=-1', 'limit=10001']) {
    assert.equal((await get(`/usage?${query}`, keys.root)).status, 422, query)
  }
})

test('requests that a limit refused are counted separately', async (t) => {
  const { get, database } = await openApp(t)
  await database.write('changeUserSettings', {
    name: 'alice',
    change: { requests_per_minute: 2 },
    isConfigured: true,
    now: 1,
  })
  for (const status of [200, 200, 429, 429]) assert.equal((await get('/server_info')).status, status)
  const days: Day[] = (await get('/usage?user=alice', keys.root)).json.usage
  assert.deepEqual([sumOf(days, 'requests'), sumOf(days, 'refused')], [4, 2])
})

test('usage that could not be stored is added later', async (t) => {
  const database = openMemoryRecord()
  const { get } = await openApp(t, { database })
  const { write } = database
  let fails = true
  database.write = ((name: string, input: never) =>
    name === 'addUsage' && fails
      ? Promise.reject(new Error('the disk is full'))
      : write.call(database, name as never, input)) as typeof write
  assert.equal((await get('/usage')).status, 500)
  assert.equal((await get('/usage')).status, 500)
  fails = false
  assert.equal(sumOf((await get('/usage')).json.usage, 'requests'), 3)
})

test('the audit log names the caller of deletes over HTTP', async (t) => {
  const database = openMemoryRecord()
  const { post, send } = await openApp(t, { database })
  const call = completeOf()
  await post('/v2/acme/qa/calls/complete', { batch: [call] })
  const project_id = 'acme/qa'
  const queue = await post('/annotation_queues', { project_id, name: 'q', scorer_refs: [] })
  const scored = await post(`/v2/${project_id}/scorers`, { name: 's', check: { kind: 'tokens', max: 1 } })
  const scorers = [{ scorer: scored.json.scorer }]
  const monitor = await post('/monitors', { project_id, name: 'm', scorers })
  const object = { project_id, object_id: 'o', val: {} }
  await post('/obj/create', { obj: object })
  const named = { $expr: { $eq: [{ $getField: 'id' }, { $literal: call.id }] } }
  const deletes: Record<string, [method: 'POST' | 'DELETE', url: string, body?: object]> = {
    'calls.delete': ['POST', '/calls/delete', { project_id, call_ids: [call.id] }],
    'feedback.purge': ['POST', '/feedback/purge', { project_id, query: named }],
    'prices.purge': ['POST', '/cost/purge', { project_id, query: named }],
    'objects.delete': ['POST', '/obj/delete', { project_id, object_id: 'o' }],
    'queues.delete': ['DELETE', `/annotation_queues/${queue.json.id}?project_id=${project_id}`],
    'monitors.delete': ['DELETE', `/monitors/${monitor.json.monitor.id}?project_id=${project_id}`],
    'evaluation_runs.delete': ['DELETE', `/v2/${project_id}/evaluation_runs?evaluation_run_ids=${call.id}`],
    'predictions.delete': ['DELETE', `/v2/${project_id}/predictions?prediction_ids=${call.id}`],
    'scores.delete': ['DELETE', `/v2/${project_id}/scores?score_ids=${call.id}`],
  }
  for (const [action, [method, url, body]] of Object.entries(deletes)) {
    const { status, text } = await send(method, url, body)
    assert.equal(status, 200, `${action}: ${text}`)
  }
  const rows = await database.all<{
    action: string
    via: string
    actor: string
    project_id: string
    count: number
  }>({
    text: 'SELECT action, via, actor, project_id, count FROM audit ORDER BY id',
    values: [],
  })
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    Object.keys(deletes).map((action) => ({ action, via: 'http', actor: 'alice', project_id, count: 1 })),
  )
})
