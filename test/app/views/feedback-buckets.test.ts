import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { createSpec } from '../../support/feedback.ts'

const url = '/views/feedback_buckets'
const day = 86_400
const id = (index: number) => String(index).padStart(16, '0')
/** Starts yesterday, so that feedback given now is included even if the day changes. */
const range = () => ({
  project_id: project,
  after: new Date(Date.now() - day * 1_000).toISOString(),
  step_seconds: day,
})

type Post = Awaited<ReturnType<typeof openApp>>['post']

async function say(post: Post, call: number, feedback_type: string, payload: object, more: object = {}) {
  const weave_ref = `weave:///${project}/call/${id(call)}`
  const answer = await post('/feedback/create', {
    project_id: project,
    weave_ref,
    feedback_type,
    payload,
    ...more,
  })
  assert.equal(answer.status, 200, answer.text)
}

/** How often each kind of feedback was given, over all buckets. */
async function told(post: Post, more: object = {}): Promise<[string, number][]> {
  const { json, status, text } = await post(url, { ...range(), ...more })
  assert.equal(status, 200, text)
  const sums = new Map<string, number>()
  for (const { kind, count, started_at } of json.buckets) {
    assert.equal(Date.parse(started_at) % (day * 1_000), 0)
    const { feedback_type, value } = json.kinds[kind] ?? { feedback_type: 'others', value: null }
    const name = value === null ? feedback_type : `${feedback_type} ${value}`
    sums.set(name, (sums.get(name) ?? 0) + count)
  }
  return [...sums].toSorted(([, one], [, other]) => other - one)
}

test('views/feedback_buckets: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, url, range())
  const { post } = await openApp(t)
  for (const [body, status, code] of [
    [{ step_seconds: 0 }, 422, 'invalid_request'],
    [{ step_seconds: 1 }, 400, 'invalid_value'],
    [{ before: '2020-01-01T00:00:00Z' }, 400, 'invalid_value'],
    [{ project_id: 'globex/qa' }, 403, 'entity_forbidden'],
  ] as const) {
    const answer = await post(url, { ...range(), ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('feedback is counted by kind, reactions by emoji, and short annotations by value', async (t) => {
  const { post } = await openApp(t)
  const batch = [0, 1].map((index) =>
    completeOf({ id: id(index), op_name: `op${index}`, trace_id: id(index) + id(index) }),
  )
  assert.equal((await post(`/v2/${project}/calls/complete`, { batch })).status, 200)
  assert.deepEqual(await told(post), [])
  for (const call of [0, 0, 1]) await say(post, call, 'wandb.reaction.1', { emoji: '👍' })
  await say(post, 1, 'wandb.reaction.1', { emoji: '👎' })
  for (const call of [0, 1]) await say(post, call, 'wandb.note.1', { note: 'why' })
  const annotation_ref = await createSpec(post, 'tone', { type: 'string' })
  for (const value of ['kind', 'kind', 'x'.repeat(60)]) {
    await say(post, 0, 'wandb.annotation.tone', { value }, { annotation_ref })
  }
  for (let n = 0; n < 4; n++) await say(post, 0, 'mine', { value: 'x'.repeat(100) + n })
  assert.deepEqual(
    new Map(await told(post)),
    new Map([
      ['mine', 4],
      ['wandb.reaction.1 👍', 3],
      ['wandb.note.1', 2],
      ['wandb.annotation.tone "kind"', 2],
      // Longer than a group of its own may be.
      ['wandb.annotation.tone', 1],
      ['wandb.reaction.1 👎', 1],
    ]),
  )
  assert.equal((await told(post))[0]?.[0], 'mine')
  const query = { $expr: { $eq: [{ $getField: 'op_name' }, { $literal: 'op1' }] } }
  assert.deepEqual(
    new Map(await told(post, { query })),
    new Map([
      ['wandb.reaction.1 👍', 1],
      ['wandb.reaction.1 👎', 1],
      ['wandb.note.1', 1],
    ]),
  )
  assert.deepEqual(await told(post, { filter: { op_names: ['none'] } }), [])
  await post('/calls/delete', { project_id: project, call_ids: [id(1)] })
  assert.deepEqual(await told(post, { query }), [])
})

test('the 20 most frequent kinds are counted separately, and the others together', async (t) => {
  const { post } = await openApp(t)
  for (let kind = 0; kind < 23; kind++) {
    for (let n = 0; n < (kind < 20 ? 2 : 1); n++) await say(post, 0, `kind${kind}`, {})
  }
  const found = new Map(await told(post))
  assert.equal(found.size, 21)
  assert.equal(found.get('others'), 3)
})

test('feedback given within the same tick of the clock is counted', async (t) => {
  const { post } = await openApp(t)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  for (let n = 0; n < 3; n++) await say(post, 0, 'mine', {})
  assert.deepEqual(await told(post), [['mine', 3]])
})
