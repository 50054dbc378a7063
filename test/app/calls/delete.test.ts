import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idsOf, whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { completeOf, endedRecord, endOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

const remove = (post: TestApp['post'], ...call_ids: string[]) =>
  post('/calls/delete', { project_id: project, call_ids })

async function write(post: TestApp['post'], ...calls: ReturnType<typeof completeOf>[]): Promise<void> {
  const answer = await post('/v2/acme/qa/calls/complete', { batch: calls })
  assert.equal(answer.status, 200, answer.text)
}

const left = async (post: TestApp['post']) =>
  new Set(idsOf(await post('/calls/stream_query', { project_id: project })))

test('calls/delete: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/calls/delete', { project_id: project, call_ids: [startOf().id] })
  const { post } = await openApp(t)
  assert.deepEqual(whole(await post('/calls/delete', { project_id: project, call_ids: ['a', 5] })), {
    status: 422,
    body: {
      reason: 'The body does not fit the schema: call_ids.1: expected string, received number.',
      code: 'invalid_request',
      detail: [
        { loc: ['body', 'call_ids', 1], msg: 'expected string, received number', type: 'invalid_type' },
      ],
    },
  })
  assert.deepEqual(whole(await post('/calls/delete', { project_id: 'globex/qa', call_ids: [] })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  const many = Array.from({ length: 1001 }, (_, n) => String(n))
  assert.deepEqual(whole(await remove(post, ...many)), {
    status: 413,
    body: {
      reason: 'call_ids: 1001 entries; at most 1000 are accepted in one request.',
      code: 'too_many_ids',
    },
  })
  assert.deepEqual(whole(await remove(post, ...many.slice(1))), {
    status: 200,
    body: { num_deleted: 1000 },
  })
})

test('calls/delete: a deleted call is no longer found anywhere', async (t) => {
  const { post } = await openApp(t)
  const [call, other] = [completeOf(), completeOf()]
  await write(post, call, other)
  assert.deepEqual(whole(await remove(post, call.id)), { status: 200, body: { num_deleted: 1 } })
  assert.equal((await post('/call/read', { project_id: project, id: call.id })).status, 404)
  assert.deepEqual(await left(post), new Set([other.id]))
  const stats = await post('/calls/query_stats', { project_id: project, filter: { call_ids: [call.id] } })
  assert.equal(stats.json.count, 0)
})

test('calls/delete: names the feedback and the items of queues that are about deleted calls', async (t) => {
  const { post } = await openApp(t)
  const call = completeOf()
  const [child, other] = [completeOf({ trace_id: call.id, parent_id: call.id }), completeOf()]
  await write(post, call, child, other)
  const note = async (id: string) => {
    const payload = { note: 'x' }
    const weave_ref = `weave:///${project}/call/${id}`
    const body = { project_id: project, weave_ref, feedback_type: 'wandb.note.1', payload }
    return (await post('/feedback/create', body)).json.id as string
  }
  const notes = [await note(call.id), await note(child.id)]
  await note(other.id)
  const queue = (await post('/annotation_queues', { project_id: project, name: 'q', scorer_refs: [] })).json
    .id
  const add = (body: object) =>
    post(`/annotation_queues/${queue}/items`, { project_id: project, display_fields: [], ...body })
  await add({ call_ids: [child.id, other.id] })
  await add({ pairs: [{ call_ids: [other.id, call.id] }] })
  const { items } = (await post(`/annotation_queues/${queue}/items/query`, { project_id: project })).json
  const about = items.filter((item: { call_id: string; other_call_id: string | null }) =>
    [item.call_id, item.other_call_id].some((id) => id === call.id || id === child.id),
  )
  assert.equal(about.length, 2)

  const { num_deleted, left: named } = (await remove(post, call.id)).json
  assert.deepEqual([num_deleted, named.has_more], [2, false])
  assert.deepEqual(named.feedback.toSorted(), notes.toSorted())
  assert.deepEqual(
    new Set(named.queue_items.map(({ id, queue_id }: Record<string, string>) => `${queue_id} ${id}`)),
    new Set(about.map(({ id }: { id: string }) => `${queue} ${id}`)),
  )
})

test('calls/delete: counts each named id once, and the descendants', async (t) => {
  const { post } = await openApp(t)
  const call = completeOf()
  const child = completeOf({ trace_id: call.id, parent_id: call.id })
  const grandchild = completeOf({ trace_id: call.id, parent_id: child.id })
  await write(post, call, child, grandchild)
  const unknown = startOf().id
  const answer = await remove(post, call.id, call.id, unknown, child.id)
  assert.deepEqual(whole(answer), { status: 200, body: { num_deleted: 4 } })
  assert.deepEqual(whole(await remove(post, call.id)), { status: 200, body: { num_deleted: 1 } })
  assert.deepEqual(whole(await remove(post)), { status: 200, body: { num_deleted: 0 } })
})

test('calls/delete: deletes descendants in the same trace, and nothing else', async (t) => {
  const { post } = await openApp(t)
  const root = completeOf()
  const child = completeOf({ trace_id: root.id, parent_id: root.id })
  const grandchild = completeOf({ trace_id: root.id, parent_id: child.id })
  const running = startOf({ trace_id: root.id, parent_id: grandchild.id })
  const sibling = completeOf({ trace_id: root.id, parent_id: root.id })
  const otherTrace = completeOf({ parent_id: child.id })
  const unrelated = completeOf()
  await write(post, root, child, grandchild, sibling, otherTrace, unrelated)
  await post('/call/start', { start: running })
  await post('/v2/acme/other/calls/complete', {
    batch: [
      completeOf({ id: grandchild.id, project_id: 'acme/other', trace_id: root.id, parent_id: child.id }),
    ],
  })
  assert.deepEqual(whole(await remove(post, child.id)), { status: 200, body: { num_deleted: 3 } })
  assert.deepEqual(await left(post), new Set([root.id, sibling.id, otherTrace.id, unrelated.id]))
  const elsewhere = await post('/call/read', { project_id: 'acme/other', id: grandchild.id })
  assert.equal(elsewhere.status, 200)
})

test('calls/delete: ends for calls that are their own ancestors', async (t) => {
  const { post } = await openApp(t)
  const trace_id = '0'.repeat(32)
  const [one, two] = [startOf().id, startOf().id]
  await write(
    post,
    completeOf({ id: one, trace_id, parent_id: two }),
    completeOf({ id: two, trace_id, parent_id: one }),
  )
  assert.deepEqual(whole(await remove(post, one)), { status: 200, body: { num_deleted: 2 } })
  assert.deepEqual(await left(post), new Set())
})

test('calls/delete: deletes deep and broad traces completely', async (t) => {
  const { post } = await openApp(t)
  const root = completeOf()
  const broad = Array.from({ length: 250 }, () => completeOf({ trace_id: root.id, parent_id: root.id }))
  const deep = [root]
  for (let depth = 0; depth < 250; depth++) {
    deep.push(completeOf({ trace_id: root.id, parent_id: deep.at(-1)?.id }))
  }
  await write(post, ...deep, ...broad)
  assert.deepEqual(whole(await remove(post, root.id)), { status: 200, body: { num_deleted: 501 } })
  assert.deepEqual(await left(post), new Set())
})

for (const swept of [false, true]) {
  test(`calls/delete: late parts do not restore a deleted call${swept ? ' whose space was freed' : ''}`, async (t) => {
    const { post, database } = await openApp(t)
    const call = completeOf()
    const child = completeOf({ trace_id: call.id, parent_id: call.id })
    await write(post, call, child)
    const endedOnly = startOf()
    await post('/call/end', { end: endOf(endedOnly.id) })
    await remove(post, call.id, endedOnly.id)
    if (swept)
      await database.write('sweepCalls', { now: Date.now() * 1000, forgetBefore: 0, limit: 100, bytes: 1e9 })
    for (const id of [call.id, child.id, endedOnly.id]) {
      for (const [url, body] of [
        ['/call/start', { start: startOf({ id }) }],
        ['/call/end', { end: endOf(id) }],
        ['/call/update', { project_id: project, call_id: id, display_name: 'x' }],
        ['/call/upsert_batch', { batch: [{ mode: 'start', req: { start: startOf({ id }) } }] }],
        ['/v2/acme/qa/calls/complete', { batch: [completeOf({ id })] }],
      ] as const) {
        assert.equal((await post(url, body)).status, 200)
        assert.equal((await post('/call/read', { project_id: project, id })).status, 404, `${url} ${id}`)
      }
    }
    assert.deepEqual(await left(post), new Set())
  })
}

test('calls/delete: the id of a call in another project, or of another tenant, deletes nothing there', async (t) => {
  const { post } = await openApp(t)
  const foreign = completeOf({ project_id: 'globex/qa' })
  await post('/v2/globex/qa/calls/complete', { batch: [foreign] }, keys.bob)
  const elsewhere = completeOf({ project_id: 'acme/other' })
  await post('/v2/acme/other/calls/complete', { batch: [elsewhere] })
  const answer = await remove(post, foreign.id, elsewhere.id)
  assert.deepEqual(whole(answer), { status: 200, body: { num_deleted: 2 } })
  const here = await post('/call/read', { project_id: 'acme/other', id: elsewhere.id })
  assert.deepEqual(here.json.call, endedRecord(elsewhere.id, { project_id: 'acme/other' }))
  const there = await post('/call/read', { project_id: 'globex/qa', id: foreign.id }, keys.bob)
  const expected = endedRecord(foreign.id, { project_id: 'globex/qa', svc_user_id: 'bob' })
  assert.deepEqual(there.json.call, expected)
})

test('calls/delete: an unknown id can still be used for a call afterwards', async (t) => {
  const { post } = await openApp(t)
  const call = completeOf()
  await remove(post, call.id)
  await write(post, call)
  const read = await post('/call/read', { project_id: project, id: call.id })
  assert.deepEqual(read.json.call, endedRecord(call.id))
})
