import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parseTime } from '../../../src/domain/time.ts'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { annotatorFields, createQueue, fillQueue, setItemState } from '../../support/queues.ts'

/** Shared by all tests; each uses data of its own. */
const { post, send } = await openApp({ after })

const nowhere = '/annotation_queues/q/items/i/progress'
const valid = { project_id: project, annotation_state: 'completed' }

test('progress: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, nowhere, valid)
  for (const [body, what, detail] of [
    [
      { project_id: project },
      'annotation_state: expected one of "in_progress"|"completed"|"skipped", received nothing',
      { loc: ['body', 'annotation_state'], type: 'invalid_value' },
    ],
    [
      { ...valid, annotation_state: 'done' },
      'annotation_state: expected one of "in_progress"|"completed"|"skipped", received "done"',
      { loc: ['body', 'annotation_state'], type: 'invalid_value' },
    ],
    [
      { ...valid, annotation_state: 'unstarted' },
      'annotation_state: expected one of "in_progress"|"completed"|"skipped", received "unstarted"',
      { loc: ['body', 'annotation_state'], type: 'invalid_value' },
    ],
    [
      { ...valid, svc_user_id: 'bob' },
      'svc_user_id: is set by the server from the credentials; leave it out or send null, received "bob"',
      { loc: ['body', 'svc_user_id'], type: 'invalid_type' },
    ],
    [
      { ...valid, wb_user_id: 'bob' },
      'wb_user_id: is set by the server from the credentials; leave it out or send null, received "bob"',
      { loc: ['body', 'wb_user_id'], type: 'invalid_type' },
    ],
    [
      { ...valid, annotator_user_id: 'bob' },
      'annotator_user_id: is set by the server from the credentials; leave it out or send null, received "bob"',
      { loc: ['body', 'annotator_user_id'], type: 'invalid_type' },
    ],
  ] as const) {
    const msg = what.slice(what.indexOf(': ') + 2)
    assert.deepEqual(whole(await post(nowhere, body)), {
      status: 422,
      body: {
        reason: `The body does not fit the schema: ${what}.`,
        code: 'invalid_request',
        detail: [{ loc: detail.loc, msg, type: detail.type }],
      },
    })
  }
  assert.deepEqual(whole(await post(nowhere, { ...valid, project_id: 'globex/qa' })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  assert.deepEqual(whole(await post(nowhere, valid)), {
    status: 404,
    body: {
      reason: 'queue_id: there is no annotation queue "q" in project "acme/qa".',
      code: 'annotation_queue_not_found',
    },
  })
  const { queueId, itemIds } = await fillQueue(post, 1)
  assert.deepEqual(whole(await setItemState(post, queueId, 'i', 'completed')), {
    status: 404,
    body: {
      reason: `item_id: there is no item "i" in annotation queue "${queueId}".`,
      code: 'queue_item_not_found',
    },
  })
  await setItemState(post, queueId, itemIds[0], 'completed')
  assert.deepEqual(whole(await setItemState(post, queueId, itemIds[0], 'skipped')), {
    status: 409,
    body: {
      reason: 'annotation_state: skipped cannot follow your state completed; accepted after it: completed.',
      code: 'annotation_state_conflict',
    },
  })
})

test('progress: returns the whole item', async () => {
  const call = completeOf()
  await post('/v2/acme/qa/calls/complete', { batch: [call] })
  const queueId = await createQueue(post)
  const path = `/annotation_queues/${queueId}/items`
  await post(path, { project_id: project, call_ids: [call.id], display_fields: ['inputs.question'] })
  const [before] = (await post(`${path}/query`, { project_id: project })).json.items
  const answer = await setItemState(post, queueId, before.id, 'completed')
  assert.deepEqual(whole(answer), {
    status: 200,
    body: {
      item: {
        id: before.id,
        queue_id: queueId,
        project_id: project,
        call_id: call.id,
        other_call_id: null,
        display: null,
        call_op_name: 'answer',
        call_started_at: '2026-01-02T03:04:05.123456Z',
        call_ended_at: '2026-01-02T03:04:06.500Z',
        call_trace_id: call.id,
        created_at: before.created_at,
        created_by: 'alice',
        updated_at: answer.json.item.annotation_state_changed_at,
        deleted_at: null,
        added_by: 'alice',
        rule_id: null,
        annotation_state: 'completed',
        annotation_state_changed_at: answer.json.item.annotation_state_changed_at,
        annotator_user_id: 'alice',
        own_annotation_state: 'completed',
        display_fields: ['inputs.question'],
        position_in_queue: 1,
        lease: null,
        review: { finished: 1, needed: 1, outcome: 'closed', adjudicated_by: null },
      },
    },
  })
})

/** Not as texts: a time without microseconds ends earlier. */
const isAfter = (time: string, other = '') => Number(parseTime(time)) > Number(parseTime(other))

test('progress: updated_at moves with each change of a state, by anybody, and items are sorted by it', async () => {
  const { queueId, itemIds } = await fillQueue(post, 3)
  const path = `/annotation_queues/${queueId}`
  const itemsBy = async (direction: string) => {
    const body = { project_id: project, sort_by: [{ field: 'updated_at', direction }] }
    const { items } = (await post(`${path}/items/query`, body)).json
    return items as { id: string; created_at: string; updated_at: string }[]
  }
  const times = async () => new Map((await itemsBy('asc')).map(({ id, updated_at }) => [id, updated_at]))
  const [first = '', second = '', third = ''] = itemIds
  for (const { created_at, updated_at } of await itemsBy('asc')) assert.equal(updated_at, created_at)
  let before = await times()
  for (const [id, state, key] of [
    [second, 'in_progress', keys.alice],
    [first, 'completed', keys.alice],
    [first, 'in_progress', keys.root],
    [first, 'skipped', keys.root],
  ] as const) {
    const { json } = await setItemState(post, queueId, id, state, key)
    assert.ok(isAfter(json.item.updated_at, before.get(id)), `${state} moves it`)
    const after = await times()
    assert.deepEqual(after, new Map(before).set(id, json.item.updated_at), 'and that of no other item')
    before = after
  }
  const reopened = await post(`${path}/items/${first}/reopen`, { project_id: project })
  assert.ok(isAfter(reopened.json.item.updated_at, before.get(first)))
  before = await times()
  await setItemState(post, queueId, first, 'in_progress')
  await post(`${path}/next`, { project_id: project })
  await post(`${path}/items/${first}/release`, { project_id: project })
  assert.deepEqual(await times(), before, 'neither a repeated state nor a lease moves it')
  const order = [third, second, first]
  assert.deepEqual(
    (await itemsBy('asc')).map(({ id }) => id),
    order,
  )
  assert.deepEqual(
    (await itemsBy('desc')).map(({ id }) => id),
    order.toReversed(),
  )
})

test('progress: an item shows when its state last changed, and repeating a state is no change', async () => {
  const { queueId, itemIds } = await fillQueue(post, 1)
  const path = `/annotation_queues/${queueId}/items/query`
  const shown = async (key?: string) => {
    const [item] = (await post(path, { project_id: project }, key)).json.items
    return [item.annotation_state, item.annotation_state_changed_at]
  }
  assert.deepEqual(await shown(), ['unstarted', null])
  const before = new Date(Date.now() - 1).toISOString()
  const begun = (await setItemState(post, queueId, itemIds[0], 'in_progress')).json.item
    .annotation_state_changed_at
  assert.ok(isAfter(begun, before), begun)
  assert.deepEqual(await shown(), ['in_progress', begun])
  await setItemState(post, queueId, itemIds[0], 'in_progress')
  assert.deepEqual(await shown(), ['in_progress', begun])
  const done = (await setItemState(post, queueId, itemIds[0], 'completed', keys.root)).json.item
  assert.ok(isAfter(done.annotation_state_changed_at, begun))
  assert.deepEqual(await shown(), ['completed', done.annotation_state_changed_at])
  assert.deepEqual(await shown(keys.root), ['completed', done.annotation_state_changed_at])
})

const conflicts = {
  completed: 'completed',
  skipped: 'skipped',
}

for (const from of ['unstarted', 'in_progress', 'completed', 'skipped'] as const) {
  for (const to of ['in_progress', 'completed', 'skipped'] as const) {
    test(`progress: from ${from} to ${to}`, async () => {
      const { queueId, itemIds } = await fillQueue(post, 1)
      if (from !== 'unstarted')
        assert.equal((await setItemState(post, queueId, itemIds[0], from)).status, 200)
      const answer = await setItemState(post, queueId, itemIds[0], to)
      const only = conflicts[from as keyof typeof conflicts]
      if (only !== undefined && only !== to) {
        assert.deepEqual(whole(answer), {
          status: 409,
          body: {
            reason: `annotation_state: ${to} cannot follow your state ${from}; accepted after it: ${only}.`,
            code: 'annotation_state_conflict',
          },
        })
      } else {
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(annotatorFields(answer), [to, 'alice', to, to === 'in_progress' ? 'alice' : null])
      }
    })
  }
}

test('progress: a second annotator begins at unstarted, and the item shows the latest state', async () => {
  const { queueId, itemIds } = await fillQueue(post, 1)
  const said = async (state: string, key?: string) =>
    annotatorFields(await setItemState(post, queueId, itemIds[0], state, key))
  assert.deepEqual(await said('completed'), ['completed', 'alice', 'completed', null])
  assert.deepEqual(await said('in_progress', keys.root), ['in_progress', 'root', 'in_progress', 'root'])
  // Repeating a state changes nothing, so the later state of the other annotator stays.
  assert.deepEqual(await said('completed'), ['in_progress', 'root', 'completed', 'root'])
  assert.deepEqual(await said('skipped', keys.root), ['skipped', 'root', 'skipped', null])
  assert.equal((await setItemState(post, queueId, itemIds[0], 'in_progress')).status, 409)
  assert.equal((await setItemState(post, queueId, itemIds[0], 'completed', keys.root)).status, 409)
})

test('progress: an item of another queue is not found in this one', async () => {
  const [one, other] = [await fillQueue(post, 1), await fillQueue(post, 1)]
  const answer = await setItemState(post, one.queueId, other.itemIds[0], 'completed')
  assert.deepEqual([answer.status, answer.json.code], [404, 'queue_item_not_found'])
})

test('progress: the items of a deleted queue are deleted with it', async () => {
  const { queueId, itemIds } = await fillQueue(post, 1)
  await send('DELETE', `/annotation_queues/${queueId}?project_id=acme/qa`)
  const answer = await setItemState(post, queueId, itemIds[0], 'completed')
  assert.deepEqual([answer.status, answer.json.code], [404, 'annotation_queue_not_found'])
})

test('P6: progress: the queue and the item of another tenant are not found', async () => {
  const theirs = await fillQueue(post, 1, { project_id: 'globex/qa', key: keys.bob })
  const missing = await setItemState(post, 'nothing', 'nothing', 'completed')
  const foreign = await setItemState(post, theirs.queueId, theirs.itemIds[0], 'completed')
  assert.equal(foreign.status, 404)
  assert.deepEqual(foreign.json, {
    reason: missing.json.reason.replace('nothing', theirs.queueId),
    code: missing.json.code,
  })
})

test('progress: deleting the call keeps the item', async () => {
  const { queueId, callIds, itemIds } = await fillQueue(post, 1)
  await post('/calls/delete', { project_id: project, call_ids: callIds })
  assert.equal((await setItemState(post, queueId, itemIds[0], 'completed')).status, 200)
})
