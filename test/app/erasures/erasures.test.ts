import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { hashKey } from '../../../src/domain/keys.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { exportOf, spanOf } from '../../support/otlp.ts'
import { createQueue, setItemState } from '../../support/queues.ts'

const url = '/v2/acme/qa/erasures'
const admin = 'the-secret-key-of-ada'
const ofGrace = { kind: 'end_user', value: 'grace@example.com' }

async function openWithAdmin(t: TestContext) {
  const app = await openApp(t)
  await app.database.write('addUser', {
    user: { name: 'ada', role: 'admin', entities: ['acme'], created_at: 1 },
    key: { id: 'ada', hash: hashKey(admin) },
  })
  const ok = async (path: string, body: object, key?: string) => {
    const { status, json, text } = await app.post(path, body, key)
    assert.equal(status, 200, text)
    return json
  }
  const erase = (subject: object, fields: object = {}) => ok(url, { subject, ...fields }, admin)
  const write = async (calls: ReturnType<typeof completeOf>[], key?: string) =>
    ok('/v2/acme/qa/calls/complete', { batch: calls }, key)
  const ids = async () => {
    const { text } = await app.post('/calls/stream_query', { project_id: project })
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).id as string)
  }
  const note = (call: string, key?: string) =>
    ok(
      '/feedback/create',
      {
        ...{ project_id: project, svc_ref: `weave:///${project}/call/${call}` },
        ...{ feedback_type: 'wandb.note.1', payload: { note: 'about it' } },
      },
      key,
    )
  return { ...app, ok, erase, write, ids, note }
}

/** The kinds of which there are some. */
const some = ({ erased }: { erased: Record<string, number> }) =>
  Object.fromEntries(Object.entries(erased).filter(([, count]) => count > 0))

test('erasures: refuses invalid requests, and whoever is no admin of the project', async (t) => {
  const { app, get, post } = await openWithAdmin(t)
  const headers = { 'content-type': 'application/json' }
  const unknown = await app.inject({ method: 'POST', url, headers, payload: { subject: ofGrace } })
  assert.equal(unknown.statusCode, 401)
  assert.equal((await post(url, '{"subject":', admin)).status, 400)
  for (const [body, field] of [
    [{}, 'subject'],
    [{ subject: { kind: 'call', value: 'x' } }, 'subject.kind'],
    [{ subject: { kind: 'user' } }, 'subject.value'],
    [{ subject: { kind: 'user', value: '' } }, 'subject.value'],
    [{ subject: ofGrace, dry: true }, 'dry'],
  ] as const) {
    const { status, json } = await post(url, body, admin)
    assert.equal(status, 422)
    assert.ok(json.reason.includes(field), json.reason)
  }
  const refused = async (path: string, key: string) => {
    const { status, json } = await post(path, { subject: ofGrace, dry_run: true }, key)
    return [status, json.code]
  }
  assert.deepEqual(await refused(url, keys.alice), [403, 'role_forbidden'])
  assert.deepEqual(await refused('/v2/globex/qa/erasures', admin), [403, 'entity_forbidden'])
  assert.deepEqual(await refused('/v2/globex/none/erasures', admin), [403, 'entity_forbidden'])
  // A project that holds nothing of the subject, and one that does not exist.
  for (const name of ['qa', 'none']) {
    const { status, json } = await post(`/v2/acme/${name}/erasures`, { subject: ofGrace }, admin)
    assert.deepEqual([status, some(json)], [200, {}])
  }
  assert.deepEqual((await get('/projects', admin)).json.projects, [], 'it made none')
})

test('erases what clients recorded of their own user, with all below it, and nothing else', async (t) => {
  const { write, erase, ids, note, post, ok } = await openWithAdmin(t)
  const root = completeOf({ inputs: { user: ofGrace.value, messages: [] } })
  const child = completeOf({ parent_id: root.id, trace_id: root.id })
  const grandchild = completeOf({ parent_id: child.id, trace_id: root.id, inputs: { user: ofGrace.value } })
  const last = completeOf({ parent_id: grandchild.id, trace_id: root.id })
  const others = [
    completeOf({ inputs: { metadata: { user_id: ofGrace.value } } }),
    completeOf({ inputs: { safety_identifier: ofGrace.value } }),
    completeOf({ attributes: { user_id: ofGrace.value } }),
  ]
  const stays = [
    completeOf({ inputs: { user: 'grace@example.com.org' } }),
    completeOf({ inputs: { user: 'Grace@example.com' } }),
    completeOf({ inputs: { question: ofGrace.value } }),
  ]
  await write([root, child, grandchild, last, ...others, ...stays])
  const named = ['user.id', 'enduser.id', 'langfuse.user.id']
  const spans = named.map((name, n) => spanOf({ [name]: ofGrace.value }, { spanId: `b7ad6b716920333${n}` }))
  await ok('/otel/v1/traces', exportOf(spans))
  await note(last.id)
  await note(stays[0]?.id as string)
  const expected = { calls: 4 + others.length + named.length, feedback: 1 }
  const dry = await erase(ofGrace, { dry_run: true })
  assert.deepEqual(some(dry), expected)
  assert.equal(dry.receipt, null)
  assert.equal((await ids()).length, expected.calls + stays.length)
  const done = await erase(ofGrace)
  assert.deepEqual(some(done), expected)
  assert.deepEqual((await ids()).sort(), stays.map(({ id }) => id).sort())
  assert.equal((await post('/call/read', { project_id: project, id: child.id })).status, 404)
  const { result } = await ok('/feedback/query', { project_id: project })
  assert.equal(result.length, 1)
  assert.deepEqual(some(await erase(ofGrace)), {}, 'nothing is left to erase')
})

test('erases what a user sent and said', async (t) => {
  const { write, erase, ids, note, ok } = await openWithAdmin(t)
  const [own, others] = [completeOf(), completeOf()]
  await write([own])
  await write([others], admin)
  await note(own.id)
  await note(own.id, admin)
  await note(others.id)
  await note(others.id, admin)
  const alice = { kind: 'user', value: 'alice' }
  const expected = { calls: 1, feedback: 3 }
  assert.deepEqual(some(await erase(alice, { dry_run: true })), expected)
  assert.deepEqual(some(await erase(alice)), expected)
  assert.deepEqual(await ids(), [others.id])
  const { result } = await ok('/feedback/query', { project_id: project })
  assert.deepEqual(
    result.map(({ svc_user_id }: { svc_user_id: string }) => svc_user_id),
    ['ada'],
  )
})

test('erases a conversation with the feedback on it', async (t) => {
  const { write, erase, ids, ok } = await openWithAdmin(t)
  const turns = [1, 2].map(() => completeOf({ thread_id: 'talk' }))
  const other = completeOf({ thread_id: 'talks' })
  await write([...turns, other])
  for (const thread of ['talk', 'talks'])
    await ok('/feedback/create', {
      ...{ project_id: project, svc_ref: `weave:///${project}/thread/${thread}` },
      ...{ feedback_type: 'wandb.note.1', payload: { note: 'about it' } },
    })
  const expected = { calls: 2, feedback: 1 }
  const talk = { kind: 'thread_id', value: 'talk' }
  assert.deepEqual(some(await erase(talk, { dry_run: true })), expected)
  assert.deepEqual(some(await erase(talk)), expected)
  assert.deepEqual(await ids(), [other.id])
})

/** A queue of these calls and pairs, with the ids of its items. */
async function queueOfCalls({ post }: TestApp, calls: readonly string[]) {
  const queue = await createQueue(post)
  const added = await post(`/annotation_queues/${queue}/items`, {
    ...{ project_id: project, call_ids: calls, display_fields: [] },
  })
  assert.equal(added.status, 200, added.text)
  const items = async () => {
    const { json } = await post(`/annotation_queues/${queue}/items/query`, { project_id: project })
    return json.items as { id: string; call_id: string }[]
  }
  return { queue, items }
}

test('items of queues go with their reviews, and the queue goes on with the others', async (t) => {
  const app = await openWithAdmin(t)
  const { write, erase, ok, post } = app
  const [first, second, third] = ['a', 'grace@example.com', 'c'].map((user) =>
    completeOf({ inputs: { user } }),
  )
  assert.ok(first && second && third)
  await write([first, second, third])
  const { queue, items } = await queueOfCalls(app, [first.id, second.id, third.id])
  for (const { id } of await items())
    assert.equal((await setItemState(post, queue, id, 'completed')).status, 200)
  const expected = { calls: 1, queue_items: 1, reviews: 1 }
  assert.deepEqual(some(await erase(ofGrace, { dry_run: true })), expected)
  assert.deepEqual(some(await erase(ofGrace)), expected)
  assert.deepEqual(
    (await items()).map(({ call_id }) => call_id),
    [first.id, third.id],
  )
  const next = () => ok(`/annotation_queues/${queue}/next`, { project_id: project })
  assert.equal((await next()).item, null, 'all that are left are finished')
  const late = completeOf()
  await write([late])
  await ok(`/annotation_queues/${queue}/items`, {
    ...{ project_id: project, call_ids: [late.id], display_fields: [] },
  })
  assert.equal((await next()).item.call_id, late.id)
  const { stats } = await ok('/annotation_queues/stats', { project_id: project, queue_ids: [queue] })
  assert.deepEqual([stats[0].total_items, stats[0].completed_items], [3, 2])
})

test('the receipt is in the audit log, and neither says who it was', async (t) => {
  const { write, erase, ok } = await openWithAdmin(t)
  await write([completeOf({ inputs: { user: ofGrace.value } })])
  const done = await erase(ofGrace)
  const { receipt, subject, not_covered } = done
  assert.ok(!JSON.stringify(done).includes('grace'))
  assert.match(subject.hash, /^[0-9a-f]{64}$/)
  assert.equal(receipt.by, 'ada')
  assert.ok(Date.parse(receipt.begun_at) <= Date.parse(receipt.ended_at))
  assert.ok(not_covered.backups && not_covered.exports && not_covered.log && not_covered.upstream)
  const { json } = { json: await ok('/audit/query', { action: 'erasure.' }, keys.root) }
  const lines = json.entries ?? json.deeds ?? json.result
  assert.ok(!JSON.stringify(lines).includes('grace'))
  const [end, begin] = lines
  assert.deepEqual([end.action, begin.action], ['erasure.end', 'erasure.begin'])
  assert.deepEqual([end.actor, end.project_id, end.count], ['ada', project, 1])
  assert.equal(end.details.erasure, receipt.erasure)
  assert.deepEqual(end.details.subject, subject)
  assert.deepEqual(end.details.erased, done.erased)
  assert.deepEqual(end.details.storage, receipt.storage)
  assert.deepEqual(begin.details, { erasure: receipt.erasure, subject })
  const again = await erase(ofGrace)
  assert.equal(again.subject.hash, subject.hash, 'the same subject can be recognised')
  assert.notEqual((await erase({ ...ofGrace, kind: 'user' })).subject.hash, subject.hash)
})

test('of two erasures of one subject at once each call is in one receipt', async (t) => {
  const { write, post, ids } = await openWithAdmin(t)
  await write(Array.from({ length: 120 }, () => completeOf({ inputs: { user: ofGrace.value } })))
  const answers = await Promise.all([1, 2, 3].map(() => post(url, { subject: ofGrace }, admin)))
  const receipts = answers.filter(({ status }) => status === 200)
  for (const { status, json } of answers.filter((answer) => !receipts.includes(answer)))
    assert.deepEqual([status, json.code], [409, 'erasure_ended'])
  assert.ok(receipts.length > 0)
  assert.equal(
    receipts.reduce((sum, { json }) => sum + json.erased.calls, 0),
    120,
  )
  assert.deepEqual(await ids(), [])
})

test('more calls than one step looks at, and a part that comes late', async (t) => {
  const { write, erase, ids, ok } = await openWithAdmin(t)
  const calls = Array.from({ length: 1_100 }, (_, n) =>
    completeOf({ inputs: { user: n % 2 === 0 ? ofGrace.value : 'other' } }),
  )
  await write(calls)
  assert.deepEqual(some(await erase(ofGrace, { dry_run: true })), { calls: 550 })
  assert.deepEqual(some(await erase(ofGrace)), { calls: 550 })
  assert.equal((await ids()).length, 550)
  const { id } = calls[0] as { id: string }
  await ok('/call/end', { end: { project_id: project, id, ended_at: '2026-01-02T03:04:06Z', summary: {} } })
  assert.ok(!(await ids()).includes(id))
})
