import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { agentAttributes, storedCalls } from '../../support/agents.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { giveFeedback } from '../../support/feedback.ts'

const url = '/feedback/aggregate'
const { post } = await openApp({ after })
const after_ms = Date.now() - 60_000
const day = 86_400_000

async function bucketsOf(project_id: string, body: object = {}, key: string = keys.alice) {
  const { status, json, text } = await post(url, { project_id, after_ms, ...body }, key)
  assert.equal(status, 200, text)
  return json.buckets
}

test('feedback/aggregate: refuses invalid requests', async (t) => {
  await assertCommonRefusals(t, url, { project_id: project, after_ms })
  for (const [body, status, code, field] of [
    [{ project_id: 'globex/qa' }, 403, 'entity_forbidden', 'project_id'],
    [{ after_ms: undefined }, 422, 'invalid_request', 'after_ms'],
    [{ before_ms: after_ms }, 422, 'invalid_request', 'before_ms'],
    [{ after_ms: after_ms - 40 * day, tags: ['late'] }, 422, 'invalid_request', 'before_ms'],
    [{ before_ms: after_ms + day, time_bucket_seconds: 60 }, 422, 'invalid_request', 'time_bucket_seconds'],
    [{ rating_min: 2 }, 422, 'invalid_request', 'rating_min'],
    [{ group_by: ['emoji'] }, 422, 'invalid_request', 'group_by'],
    [{ span_types: ['agent_span'] }, 422, 'invalid_request', 'span_types'],
  ] as const) {
    const answer = await post(url, { project_id: project, after_ms, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
    assert.ok(answer.text.includes(field), answer.text)
  }
  const long = await post(url, { project_id: project, after_ms: after_ms - 40 * day })
  assert.equal(long.status, 200, long.text)
})

/** A scorer's feedback on a root of one agent and on a call below it of another. */
async function scored(name: string) {
  const [root, below] = [randomUUID(), randomUUID()]
  const project_id = await storedCalls(post, name, [
    { id: root, attributes: agentAttributes('weaver', '2') },
    {
      id: below,
      trace_id: root,
      parent_id: root,
      attributes: agentAttributes('dyer', '1'),
      exception: 'broke',
    },
  ])
  const give = (call: string, payload: object, fields: object = {}) =>
    giveFeedback(post, { project_id, svc_ref: `weave:///${project_id}/call/${call}`, payload, ...fields })
  const runnable = (scorer: string) => ({
    feedback_type: `wandb.runnable.${scorer}`,
    runnable_ref: `weave:///${project_id}/object/${scorer}:v1`,
    trigger_ref: `weave:///${project_id}/object/watch:v1`,
  })
  await give(root, { output: 0.5, tags: ['late', 'rude'] }, runnable('tone'))
  await give(root, { output: { score: true } }, runnable('tone'))
  await give(below, { output: { brevity: 0.2, tact: 1, words: 40 } }, runnable('style'))
  await give(below, { up: true })
  return project_id
}

test('tags and ratings are counted by group', async () => {
  const project_id = await scored('groups')
  const [all, ...others] = await bucketsOf(project_id)
  assert.deepEqual(others, [])
  assert.deepEqual(all, {
    ...{ time_bucket_start_ms: after_ms, group: {}, total_count: 4, scored_count: 3 },
    tag_counts: { late: 1, rude: 1 },
    reaction_counts: {},
    rating_counts: { _rating_: 2, brevity: 1, tact: 1 },
    rating_sums: { _rating_: 1.5, brevity: 0.2, tact: 1 },
  })
  const groups = await bucketsOf(project_id, { group_by: ['span_agent_name', 'span_status_code'] })
  assert.deepEqual(
    groups.map(({ group, total_count }: { group: object; total_count: number }) => [group, total_count]),
    [
      [{ span_agent_name: 'weaver', span_status_code: 'OK' }, 2],
      [{ span_agent_name: 'dyer', span_status_code: 'ERROR' }, 2],
    ],
  )
  const scorers = await bucketsOf(project_id, { group_by: ['scorer_id', 'span_agent_version'] })
  assert.equal(scorers.length, 3)
})

test('feedback on a call that has expired is of no agent', async () => {
  const [id, expire_at] = [randomUUID(), '2026-01-03T00:00:00Z']
  const project_id = await storedCalls(post, 'expired', [
    { id, expire_at, attributes: agentAttributes('weaver') },
  ])
  await giveFeedback(post, { project_id, svc_ref: `weave:///${project_id}/call/${id}` })
  const [bucket] = await bucketsOf(project_id, { group_by: ['span_agent_name', 'span_status_code'] })
  assert.deepEqual(bucket.group, { span_agent_name: '', span_status_code: 'UNSET' })
  assert.deepEqual(await bucketsOf(project_id, { span_types: ['agent_turn'] }), [])
})

test('every filter leaves out what it does not hold for', async () => {
  const project_id = await scored('filters')
  const ref = (name: string) => `weave:///${project_id}/object/${name}`
  for (const [body, expected] of [
    [{ feedback_types: ['wandb.runnable'] }, 3],
    [{ feedback_types: ['wandb.runnable.style', 'thumbs'] }, 2],
    [{ tags: ['rude', 'kind'] }, 1],
    [{ rating_min: 0.9 }, 2],
    [{ rating_max: 0.2 }, 1],
    [{ rating_min: 0.3, rating_max: 0.6 }, 1],
    [{ monitor_ids: [ref('watch:*')] }, 3],
    [{ monitor_ids: [ref('watch:v2')] }, 0],
    [{ scorer_ids: [ref('tone:v1')] }, 2],
    [{ scorer_ids: [ref('*')] }, 3],
    [{ span_agent_names: ['dyer'] }, 2],
    [{ span_types: ['agent_turn'] }, 2],
  ] as const) {
    const buckets = await bucketsOf(project_id, body)
    const count = buckets.reduce(
      (sum: number, bucket: { total_count: number }) => sum + bucket.total_count,
      0,
    )
    assert.equal(count, expected, JSON.stringify(body))
  }
})

test('buckets begin at multiples of their length after the start; an empty one is left out', async () => {
  const project_id = await scored('buckets')
  const body = { after_ms: after_ms - day, before_ms: after_ms + day, time_bucket_seconds: 43_200 }
  const buckets = await bucketsOf(project_id, body)
  assert.equal(buckets.length, 1)
  assert.equal(buckets[0].time_bucket_start_ms, after_ms)
  assert.deepEqual(await bucketsOf(project_id, { before_ms: after_ms + 1 }), [])
})
