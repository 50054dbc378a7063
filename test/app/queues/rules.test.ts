import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, endOf, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { createQueue } from '../../support/queues.ts'

const { post, get, send } = await openApp({ after })

/** A queue in a project of its own, and what is done with it. */
async function openQueue(entity = 'acme', key: string = keys.alice) {
  const project_id = `${entity}/${randomUUID()}`
  const queueId = await createQueue(post, { project_id }, key)
  const path = `/annotation_queues/${queueId}/rules`
  const asked = `?project_id=${encodeURIComponent(project_id)}`
  const items = async (filter?: object): Promise<Record<string, unknown>[]> => {
    const body = { project_id, filter, include_position: true }
    return (await post(`/annotation_queues/${queueId}/items/query`, body, key)).json.items
  }
  return {
    project_id,
    queueId,
    path,
    items,
    async addRule(fields: object) {
      const answer = await post(path, { project_id, ...fields }, key)
      assert.equal(answer.status, 200, answer.text)
      return answer.json.id as string
    },
    rules: async () => (await get(`${path}${asked}`, key)).json.rules as Record<string, unknown>[],
    remove: (id: string) => send('DELETE', `${path}/${id}${asked}`, undefined, key),
    pause: (id: string, paused: boolean) => send('PUT', `${path}/${id}`, { project_id, paused }, key),
    async complete(...calls: object[]) {
      const batch = calls.map((fields) => completeOf({ project_id, ...fields }))
      const answer = await post(`/v2/${project_id}/calls/complete`, { batch }, key)
      assert.equal(answer.status, 200, answer.text)
      return batch.map(({ id }) => id)
    },
    async score(callId: string, output: unknown, scorer = 'judge') {
      const answer = await post(
        '/feedback/create',
        {
          project_id,
          svc_ref: `weave:///${project_id}/call/${callId}`,
          feedback_type: `wandb.runnable.${scorer}`,
          payload: { output },
          runnable_ref: `weave:///${project_id}/object/${scorer}:v0`,
        },
        key,
      )
      assert.equal(answer.status, 200, answer.text)
    },
    async queued(): Promise<unknown[]> {
      return (await items()).map(({ call_id }) => call_id)
    },
  }
}

test('rules of a queue: refusals in order', async (t) => {
  const path = '/annotation_queues/q/rules'
  const body = { project_id: 'acme/qa', pick: { kind: 'all' } }
  await assertCommonRefusals(t, path, body)
  for (const [fields, what] of [
    [{ pick: undefined }, 'pick: '],
    [{ pick: { kind: 'some' } }, 'pick.kind: '],
    [{ pick: { kind: 'all', n: 2 } }, 'pick.n: unknown field'],
    [{ pick: { kind: 'every_nth' } }, 'pick.n: '],
    [{ pick: { kind: 'every_nth', n: 0 } }, 'pick.n: '],
    [{ pick: { kind: 'every_nth', n: 1.5 } }, 'pick.n: '],
    [{ pick: { kind: 'scores' } }, 'pick: expected either below or above'],
    [{ pick: { kind: 'scores', below: 1, above: 0 } }, 'pick: expected either below or above'],
    [{ pick: { kind: 'scores', below: '1' } }, 'pick.below: '],
    [{ filter: { op_name: 'x' } }, 'filter.op_name: unknown field'],
    [{ filter: { op_names: [] } }, 'filter.op_names: '],
    [{ paused: 1 }, 'paused: '],
  ] as [object, string][]) {
    const { status, json } = await post(path, { ...body, ...fields })
    assert.deepEqual([status, json.code], [422, 'invalid_request'], JSON.stringify(fields))
    assert.ok(json.reason.includes(what), json.reason)
  }
  assert.equal((await post(path, { ...body, project_id: 'globex/qa' })).status, 403)
  const deep = { kind: 'scores', below: 1, path: 'a.'.repeat(40) }
  const tooDeep = await post(path, { ...body, pick: deep })
  assert.deepEqual([tooDeep.status, tooDeep.json.code], [400, 'invalid_value'])
  assert.match(tooDeep.json.reason, /^pick\.path: /)
  assert.deepEqual(whole(await post(path, body)), {
    status: 404,
    body: {
      reason: 'queue_id: there is no annotation queue "q" in project "acme/qa".',
      code: 'annotation_queue_not_found',
    },
  })
  assert.equal((await get(`${path}?project_id=acme%2Fqa`)).status, 404)
  assert.equal((await get(`${path}?project_id=globex%2Fqa`)).status, 403)
  assert.equal((await get(path)).status, 422)
})

test('rules of a queue: made, listed, paused, deleted', async () => {
  const { project_id, queueId, path, addRule, rules, pause, remove } = await openQueue()
  assert.deepEqual(await rules(), [])
  const pick = { kind: 'scores', scorer: 'judge', path: 'a.b', below: 0.5 }
  const one = await addRule({ pick: { kind: 'all' } })
  const other = await addRule({
    pick,
    filter: { op_names: ['answer'] },
    display_fields: ['inputs.question'],
    paused: true,
  })
  const [first, second] = await rules()
  assert.deepEqual(second, {
    id: other,
    queue_id: queueId,
    project_id,
    pick: { ...pick, above: null },
    filter: { op_names: ['answer'], models: null },
    display_fields: ['inputs.question'],
    paused: true,
    counted: 0,
    created_at: second?.created_at,
    created_by: 'alice',
    updated_at: second?.created_at,
  })
  assert.deepEqual([first?.id, first?.paused, first?.filter], [one, false, { op_names: null, models: null }])
  const paused = await pause(one, true)
  assert.deepEqual([paused.status, paused.json.rule.paused], [200, true])
  assert.deepEqual((await pause(one, true)).json, paused.json)
  const changed = await send('PUT', `${path}/${one}`, { project_id, paused: false, pick })
  assert.deepEqual([changed.status, changed.json.code], [422, 'invalid_request'])
  assert.deepEqual((await remove(one)).json.rule, paused.json.rule)
  assert.deepEqual(
    (await rules()).map(({ id }) => id),
    [other],
  )
  const gone = {
    status: 404,
    body: {
      reason: `rule_id: there is no rule "${one}" of annotation queue "${queueId}".`,
      code: 'queue_rule_not_found',
    },
  }
  assert.deepEqual(whole(await remove(one)), gone)
  assert.deepEqual(whole(await pause(one, false)), gone)
})

test('rules of a queue: a project has a bounded number, and those of a deleted queue do not count', async () => {
  const { project_id, path, addRule } = await openQueue()
  const elsewhere = await createQueue(post, { project_id })
  const body = { project_id, pick: { kind: 'all' } }
  for (let n = 0; n < 20; n++) await post(`/annotation_queues/${elsewhere}/rules`, body)
  for (let n = 0; n < 30; n++) await addRule({ pick: { kind: 'all' } })
  const refused = await post(path, body)
  assert.deepEqual([refused.status, refused.json.code], [409, 'too_many_queue_rules'])
  await send('DELETE', `/annotation_queues/${elsewhere}?project_id=${encodeURIComponent(project_id)}`)
  await addRule({ pick: { kind: 'all' } })
})

test('rules of a queue: a call goes in when it has ended, once, and its item says by which rule', async () => {
  const { project_id, queueId, addRule, items, queued, complete } = await openQueue()
  const [before = ''] = await complete({})
  const rule = await addRule({ pick: { kind: 'all' }, display_fields: ['output'] })
  const call = startOf({ project_id })
  await post('/call/start', { start: call })
  assert.deepEqual(await queued(), [])
  await post('/call/end', { end: endOf(call.id, { project_id }) })
  const late = startOf({ project_id })
  await post('/call/end', { end: endOf(late.id, { project_id }) })
  assert.deepEqual(await queued(), [call.id])
  await post('/call/start', { start: late })
  assert.deepEqual(await queued(), [call.id, late.id])
  const [item] = await items()
  assert.deepEqual(
    [item?.rule_id, item?.added_by, item?.display_fields, item?.call_ended_at !== null],
    [rule, 'alice', ['output'], true],
  )
  for (const id of [before, call.id]) {
    await post('/call/end', { end: endOf(id, { project_id }) })
    await complete({ id })
  }
  assert.deepEqual(await queued(), [call.id, late.id])
  const [whole = '', gone = ''] = await complete({}, { expire_at: '2026-01-03T00:00:00Z' })
  assert.deepEqual(await queued(), [call.id, late.id, whole])
  assert.ok(gone)
  // What a person adds has no rule.
  await post(`/annotation_queues/${queueId}/items`, { project_id, call_ids: [before] })
  const byHand = (await items()).find(({ call_id }) => call_id === before)
  assert.equal(byHand?.rule_id, null)
  assert.equal((await items({ rule_id: rule })).length, 3)
  assert.equal((await items({ rule_id: 'none' })).length, 0)
})

test('rules of a queue: every nth of the calls that pass the filter, also after a pause', async () => {
  const { project_id, addRule, rules, pause, queued, complete } = await openQueue()
  const rule = await addRule({ pick: { kind: 'every_nth', n: 3 }, filter: { op_names: ['answer'] } })
  const ids = await complete(...Array.from({ length: 7 }, () => ({})))
  assert.deepEqual(await queued(), [ids[2], ids[5]])
  await complete({ op_name: 'other' }, ...ids.map((id) => ({ id })))
  assert.equal((await rules())[0]?.counted, 7)
  await pause(rule, true)
  await complete({}, {}, {})
  await pause(rule, false)
  const [eighth, ninth] = await complete({}, {})
  assert.ok(eighth)
  assert.deepEqual(await queued(), [ids[2], ids[5], ninth])
  // The same call twice in one batch is one call.
  const id = randomUUID()
  const batch = [startOf({ project_id, id }), startOf({ project_id, id })].map((start) => ({
    mode: 'start',
    req: { start },
  }))
  const end = { mode: 'end', req: { end: endOf(id, { project_id }) } }
  await post('/call/upsert_batch', { batch: [...batch, end, end] })
  assert.equal((await rules())[0]?.counted, 10)
})

test('rules of a queue: calls that failed, by op and by model', async () => {
  const failures = await openQueue()
  await failures.addRule({ pick: { kind: 'errors' } })
  const [failed] = await failures.complete({ exception: 'no' }, {}, { exception: '' })
  assert.deepEqual(await failures.queued(), [failed])

  const ops = await openQueue()
  const ref = `weave:///${ops.project_id}/op/answer:4f5`
  await ops.addRule({ pick: { kind: 'all' }, filter: { op_names: ['answer', 'weave:///acme/x/op/other:*'] } })
  const given = await ops.complete(
    { op_name: 'answer' },
    { op_name: ref },
    { op_name: 'answers' },
    { op_name: 'weave:///acme/x/op/other:1' },
    { op_name: 'weave:///acme/x/op/others:1' },
  )
  assert.deepEqual(await ops.queued(), [given[0], given[1], given[3]])

  const models = await openQueue()
  await models.addRule({ pick: { kind: 'all' }, filter: { models: ['small', 'a.b"c'] } })
  const used = await models.complete(
    { summary: { usage: { small: { requests: 1 } } } },
    { summary: { usage: { large: {} } } },
    { summary: { usage: { large: {} } }, inputs: { model: 'small' } },
    { summary: { usage: 5 }, inputs: { model: { small: 1 } } },
    { summary: { usage: { 'a.b"c': {} } } },
  )
  assert.deepEqual(await models.queued(), [used[0], used[2], used[4]])
})

test('rules of a queue: calls with a score below or above a number, whichever of the two comes first', async () => {
  const low = await openQueue()
  const rule = await low.addRule({
    pick: { kind: 'scores', scorer: 'judge', path: 'correct.score', below: 0.5 },
  })
  const [a = '', b = '', c = '', d = ''] = await low.complete({}, {}, {}, {})
  await low.score(a, { correct: { score: 0.5 } })
  await low.score(b, { correct: { score: 0.49 } })
  await low.score(c, { correct: { score: '0' } })
  await low.score(d, { correct: { score: 0 } }, 'judge_strict')
  await low.score(d, 0)
  assert.deepEqual(await low.queued(), [b])
  await low.score(b, { correct: { score: 0.1 } })
  const early = randomUUID()
  await low.score(early, { correct: { score: -1 } })
  await low.score(early, { correct: { score: -2 } })
  await post('/call/start', { start: startOf({ project_id: low.project_id, id: early }) })
  assert.deepEqual(await low.queued(), [b])
  await post('/call/end', { end: endOf(early, { project_id: low.project_id }) })
  assert.deepEqual(await low.queued(), [b, early])
  assert.equal((await low.items())[1]?.rule_id, rule)

  const high = await openQueue()
  await high.addRule({ pick: { kind: 'scores', above: 0.5 }, filter: { op_names: ['answer'] } })
  const [e = '', f = '', g = '', h = '', i = ''] = await high.complete({}, {}, { op_name: 'x' }, {}, {})
  await high.score(e, true)
  await high.score(f, false)
  await high.score(g, true)
  await high.score(h, { pass: true })
  await high.score(i, 2 ** 60)
  assert.deepEqual(await high.queued(), [e, i])
  const unfit = randomUUID()
  await high.score(unfit, 1)
  await high.complete({ id: unfit, op_name: 'x' })
  assert.deepEqual(await high.queued(), [e, i])
})

test('rules of a queue: a score that is refused, or is none, queues nothing', async () => {
  const { project_id, addRule, queued, complete } = await openQueue()
  await addRule({ pick: { kind: 'scores', below: 1 } })
  const [id = ''] = await complete({})
  const about = { project_id, svc_ref: `weave:///${project_id}/call/${id}` }
  const scored = {
    ...about,
    feedback_type: 'wandb.runnable.judge',
    payload: { output: 0 },
    runnable_ref: `weave:///${project_id}/object/judge:v0`,
  }
  const other = { ...scored, runnable_ref: `weave:///${project_id}/object/other:v0` }
  assert.equal((await post('/feedback/create', other)).status, 400)
  assert.equal((await post('/feedback/batch/create', { batch: [scored, other] })).status, 400)
  assert.equal(
    (await post('/feedback/create', { ...about, feedback_type: 'thumbs', payload: { output: 0 } })).status,
    200,
  )
  assert.deepEqual(await queued(), [])
  assert.equal((await post('/feedback/batch/create', { batch: [scored, scored] })).status, 200)
  assert.deepEqual(await queued(), [id])
})

test('rules of a queue: what they pick in one project is nothing to another', async () => {
  const ours = await openQueue()
  const theirs = await openQueue('globex', keys.bob)
  await ours.addRule({ pick: { kind: 'all' } })
  const rule = await theirs.addRule({ pick: { kind: 'all' } })
  const id = randomUUID()
  await theirs.complete({ id })
  assert.deepEqual([await ours.queued(), await theirs.queued()], [[], [id]])
  await ours.complete({ id })
  assert.deepEqual([await ours.queued(), await theirs.queued()], [[id], [id]])
  const inOurs = await ours.remove(rule)
  assert.deepEqual([inOurs.status, inOurs.json.code], [404, 'queue_rule_not_found'])
  const foreign = await send(
    'DELETE',
    `${theirs.path}/${rule}?project_id=${encodeURIComponent(ours.project_id)}`,
  )
  assert.deepEqual([foreign.status, foreign.json.code], [404, 'annotation_queue_not_found'])
  assert.equal((await theirs.rules()).length, 1)
})

test('rules of a queue: they end with their queue, and calls are written on', async () => {
  const { project_id, queueId, addRule, complete } = await openQueue()
  await addRule({ pick: { kind: 'all' } })
  await addRule({ pick: { kind: 'scores', below: 1 } })
  await send('DELETE', `/annotation_queues/${queueId}?project_id=${encodeURIComponent(project_id)}`)
  const [id = ''] = await complete({})
  assert.equal((await post('/call/read', { project_id, id })).status, 200)
})
