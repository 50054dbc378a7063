import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { completeOf } from '../../support/calls.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { createQueue } from '../../support/queues.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const { app, post } = await openApp({ after }, { backend: scriptedBackend() })

const newProject = (entity = 'acme') => `${entity}/${randomUUID()}`

/** Sends a request; returns the ids of the completion and of its call. */
async function ask(
  project: string,
  fields: Record<string, unknown> = {},
  headers: object = {},
  key: string = keys.alice,
) {
  const answer = await app.inject({
    method: 'POST',
    url: chatUrl,
    payload: asking(fields),
    headers: { authorization: basic(key), 'x-heddle-project': project, ...headers },
  })
  assert.equal(answer.statusCode, 200, answer.body)
  return {
    id: answer.json().id as string,
    call: String(answer.headers['x-heddle-call-id']),
    matches: answer.headers['x-heddle-matches'],
  }
}

const refTo = (project: string, id: string) => `weave:///${project}/call/${id}`

test('a completion id names its call when the call is read, renamed and deleted', async () => {
  const project_id = newProject()
  const { id, call } = await ask(project_id)
  const read = await post('/call/read', { project_id, id })
  assert.deepEqual([read.status, read.json.call.id, read.headers['x-heddle-matches']], [200, call, undefined])
  const renamed = await post('/call/update', { project_id, call_id: id, display_name: 'a good one' })
  assert.equal(renamed.status, 200, renamed.text)
  assert.equal((await post('/call/read', { project_id, id: call })).json.call.display_name, 'a good one')
  const found = await post('/calls/query_stats', { project_id, filter: { call_ids: [id, call] } })
  assert.equal(found.json.count, 1)
  const deleted = await post('/calls/delete', { project_id, call_ids: [id, call] })
  assert.deepEqual(deleted.json, { num_deleted: 1 })
  assert.deepEqual(whole(await post('/call/read', { project_id, id })), {
    status: 404,
    body: {
      reason: `id: there is no call ${JSON.stringify(id)} in project ${JSON.stringify(project_id)}.`,
      code: 'call_not_found',
    },
  })
})

test('an unknown completion id is treated like an unknown call', async () => {
  const project_id = newProject()
  const theirs = newProject('globex')
  const foreign = await ask(theirs, {}, {}, keys.bob)
  const elsewhere = await ask(newProject())
  const queue = await createQueue(post, { project_id })
  for (const id of [
    'chatcmpl-none',
    'resp_none',
    foreign.id,
    elsewhere.id,
    'cmpl-',
    '%2e%2e',
    "chatcmpl-'--",
  ]) {
    const read = await post('/call/read', { project_id, id })
    assert.deepEqual(
      [read.status, read.json.code, read.headers['x-heddle-matches']],
      [404, 'call_not_found', undefined],
    )
    const added = await post(`/annotation_queues/${queue}/items`, { project_id, call_ids: [id, id] })
    assert.deepEqual(added.json, { added_count: 0, duplicates: 0, unknown: 2, unknown_call_ids: [id] })
    assert.deepEqual((await post('/calls/delete', { project_id, call_ids: [id] })).json, { num_deleted: 1 })
  }
  const renamed = await post('/call/update', { project_id, call_id: foreign.id, display_name: 'x' })
  assert.deepEqual(whole(renamed), {
    status: 404,
    body: {
      reason: `call_id: there is no call ${JSON.stringify(foreign.id)} in project ${JSON.stringify(project_id)}.`,
      code: 'call_not_found',
    },
  })
  const nonsense = await post('/call/update', { project_id, call_id: 'some text', display_name: 'x' })
  assert.equal(nonsense.status, 422)
  assert.equal((await post('/call/read', { project_id: theirs, id: foreign.id })).status, 403)
  assert.equal((await post('/call/read', { project_id: theirs, id: foreign.id }, keys.bob)).status, 200)
})

test('a completion id of several calls means the newest, and the answer states their number', async () => {
  const project_id = newProject()
  const request_id = 'asked-twice'
  const id = `chatcmpl-${request_id}`
  const first = await ask(project_id, { request_id })
  const second = await ask(project_id, { request_id })
  const read = await post('/call/read', { project_id, id })
  assert.deepEqual([read.json.call.id, read.headers['x-heddle-matches']], [second.call, '2'])
  const other = await ask(project_id)
  const queue = await createQueue(post, { project_id })
  const added = await post(`/annotation_queues/${queue}/items`, {
    project_id,
    call_ids: [other.id, id, second.call],
  })
  assert.deepEqual([added.json.added_count, added.json.duplicates], [2, 1])
  assert.equal(added.headers['x-heddle-matches'], '2')
  const said = await post('/feedback/create', {
    project_id,
    svc_ref: refTo(project_id, id),
    feedback_type: 'thumbs',
    payload: {},
  })
  assert.equal(said.headers['x-heddle-matches'], '2')
  await post('/calls/delete', { project_id, call_ids: [id] })
  const left = await post('/call/read', { project_id, id })
  assert.deepEqual([left.json.call.id, left.headers['x-heddle-matches']], [first.call, undefined])
})

test('feedback given by completion id is about the call, and is found by either id', async () => {
  const project_id = newProject()
  const { id, call } = await ask(project_id)
  const about = { project_id, svc_ref: refTo(project_id, id), feedback_type: 'thumbs', payload: { up: true } }
  const one = await post('/feedback/create', {
    ...about,
    feedback_type: 'wandb.runnable.judge',
    payload: { output: 1 },
    runnable_ref: `weave:///${project_id}/op/judge:v0`,
    call_ref: refTo(project_id, id),
  })
  assert.equal(one.status, 200, one.text)
  const batch = await post('/feedback/batch/create', {
    batch: [about, { ...about, svc_ref: refTo(project_id, call) }],
  })
  assert.equal(batch.status, 200, batch.text)
  const replaced = await post('/feedback/replace', { ...about, feedback_id: batch.json.res[0].id })
  assert.equal(replaced.status, 200, replaced.text)
  const stored = await post('/feedback/query', { project_id, fields: ['svc_ref', 'call_ref'] })
  assert.deepEqual(
    stored.json.result.map((row: Record<string, unknown>) => row.svc_ref),
    Array(3).fill(refTo(project_id, call)),
  )
  assert.equal(stored.json.result[0].call_ref, refTo(project_id, call))
  const counted = async ($expr: object) =>
    (await post('/feedback/query', { project_id, query: { $expr } })).json.total_count
  const ref = { $getField: 'svc_ref' }
  for (const named of [id, call]) {
    const value = { $literal: refTo(project_id, named) }
    assert.equal(await counted({ $eq: [ref, value] }), 3)
    assert.equal(await counted({ $eq: [{ $getField: 'weave_ref' }, value] }), 3)
    assert.equal(await counted({ $in: [ref, [value, { $literal: 'x' }]] }), 3)
    assert.equal(await counted({ $not: [{ $or: [{ $eq: [ref, value] }] }] }), 0)
  }
  assert.equal(
    await counted({ $eq: [{ $getField: 'feedback_type' }, { $literal: refTo(project_id, id) }] }),
    0,
  )
  const { text } = await post('/calls/stream_query', { project_id, include_feedback: true })
  assert.equal(JSON.parse(text).summary.weave.feedback.length, 3)
  // An unknown completion id is stored as sent, as for any unknown call.
  const unknown = refTo(project_id, 'chatcmpl-later')
  await post('/feedback/create', { ...about, svc_ref: unknown })
  assert.equal(await counted({ $eq: [ref, { $literal: unknown }] }), 1)
  const other = newProject()
  const foreign = await post('/feedback/create', { ...about, project_id: other })
  assert.equal(foreign.status, 200)
  const kept = await post('/feedback/query', { project_id: other, fields: ['svc_ref'] })
  assert.deepEqual(kept.json.result, [{ svc_ref: refTo(project_id, id) }])
})

test('queues accept and find completion ids, and so does a rule that adds calls by score', async () => {
  const project_id = newProject()
  const { id, call } = await ask(project_id)
  const queue = await createQueue(post, { project_id })
  const path = `/annotation_queues/${queue}`
  const added = await post(`${path}/items`, { project_id, call_ids: [id] })
  assert.deepEqual(added.json, { added_count: 1, duplicates: 0, unknown: 0, unknown_call_ids: [] })
  const found = await post(`${path}/items/query`, { project_id, filter: { call_id: id } })
  assert.deepEqual(
    found.json.items.map((item: Record<string, unknown>) => item.call_id),
    [call],
  )
  const low = await createQueue(post, { project_id })
  const models = ['scripted']
  const rule = {
    project_id,
    pick: { kind: 'scores', below: 0.5 },
    filter: { op_names: ['heddle.chat.completions'], models },
  }
  const made = await post(`/annotation_queues/${low}/rules`, rule)
  assert.equal(made.status, 200, made.text)
  const scored = await post('/feedback/create', {
    project_id,
    svc_ref: refTo(project_id, id),
    feedback_type: 'wandb.runnable.judge',
    payload: { output: 0.1 },
    runnable_ref: `weave:///${project_id}/object/judge:v0`,
  })
  assert.equal(scored.status, 200, scored.text)
  const items = await post(`/annotation_queues/${low}/items/query`, { project_id })
  assert.deepEqual(
    items.json.items.map((item: Record<string, unknown>) => [item.call_id, item.rule_id]),
    [[call, made.json.id]],
  )
})

test('rules of queues apply to answers like to any call that ends', async () => {
  const project_id = newProject()
  const queue = await createQueue(post, { project_id })
  await post(`/annotation_queues/${queue}/rules`, {
    project_id,
    pick: { kind: 'every_nth', n: 2 },
    filter: { op_names: ['heddle.chat.completions'] },
  })
  const asked = [await ask(project_id), await ask(project_id), await ask(project_id)]
  for (const { id } of asked) assert.equal((await post('/call/read', { project_id, id })).status, 200)
  const { json } = await post(`/annotation_queues/${queue}/items/query`, { project_id })
  assert.deepEqual(
    json.items.map((item: Record<string, unknown>) => item.call_id),
    [asked[1]?.call],
  )
})

test('an answer can be a child of the call that a completion id names', async () => {
  const project_id = newProject()
  const parent = await ask(project_id, { request_id: 'the parent' })
  const headers = { 'x-heddle-parent': parent.id }
  const child = await ask(project_id, {}, headers)
  const read = await post('/call/read', { project_id, id: child.id })
  assert.deepEqual([read.json.call.parent_id, read.json.call.trace_id], [parent.call, parent.call])
  assert.equal(child.matches, undefined)
  const newer = await ask(project_id, { request_id: 'the parent' })
  const second = await ask(project_id, {}, { ...headers, 'x-heddle-trace': `${'0'.repeat(31)}1` })
  assert.equal(second.matches, '2')
  const below = await post('/call/read', { project_id, id: second.id })
  assert.deepEqual([below.json.call.parent_id, below.json.call.trace_id], [newer.call, `${'0'.repeat(31)}1`])
  for (const [name, status] of [
    ['chatcmpl-none', 404],
    ['none', 400],
  ] as const) {
    for (const trace of [{}, { 'x-heddle-trace': '1'.repeat(32) }]) {
      const refused = await app.inject({
        method: 'POST',
        url: chatUrl,
        payload: asking(),
        headers: {
          authorization: basic(keys.alice),
          'x-heddle-project': project_id,
          'x-heddle-parent': name,
          ...trace,
        },
      })
      assert.equal(refused.statusCode, status, refused.body)
    }
  }
})

test('ids that resemble paths, escapes and patterns, of any length, name only their own call', async () => {
  const project_id = newProject()
  const plain = completeOf({ project_id })
  await post(`/v2/${project_id}/calls/complete`, { batch: [plain] })
  for (const request_id of [
    'a/b/../c',
    '100%',
    '%2F%00',
    `x${'y'.repeat(255)}`,
    "'; DROP TABLE calls; --",
    '_%*?[a]',
    plain.id,
    'ends with space ',
    '\u{1f9ea}\ud800'.toWellFormed(),
    'chatcmpl-resp_msg_',
  ]) {
    const { id, call } = await ask(project_id, { request_id })
    assert.equal(id, `chatcmpl-${request_id}`)
    const read = await post('/call/read', { project_id, id })
    assert.deepEqual([read.json.call?.id, read.headers['x-heddle-matches']], [call, undefined], request_id)
    const said = await post('/feedback/create', {
      project_id,
      svc_ref: refTo(project_id, id),
      feedback_type: 'thumbs',
      payload: { request_id },
    })
    assert.equal(said.status, 200, said.text)
    const query = { $expr: { $eq: [{ $getField: 'svc_ref' }, { $literal: refTo(project_id, call) }] } }
    assert.equal((await post('/feedback/query', { project_id, query })).json.total_count, 1, request_id)
  }
  const long = `chatcmpl-${'z'.repeat(512)}`
  assert.equal((await post('/call/read', { project_id, id: long })).status, 404)
  assert.equal((await post('/call/read', { project_id, id: `chatcmpl-${'z'.repeat(1024)}` })).status, 422)
  assert.equal((await post('/call/read', { project_id, id: 'chatcmpl-\0' })).status, 422)
})
