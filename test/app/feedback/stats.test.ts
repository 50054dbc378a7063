import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { feedbackOf, giveFeedback } from '../../support/feedback.ts'

const { post } = await openApp({ after })
const start = new Date(Date.now() - 60_000).toISOString()
const range = { start, granularity: 86_400 * 31 }

const trigger = (version: string, name = 'watch') => `weave:///acme/qa/object/${name}:${version}`

async function stored(name: string, payloads: object[], fields: object = {}): Promise<string> {
  const project_id = `acme/${name}`
  for (const payload of payloads) await giveFeedback(post, { project_id, payload, ...fields })
  return project_id
}

async function answerOf(url: string, body: object, key: string = keys.alice) {
  const { status, json, text } = await post(url, body, key)
  assert.equal(status, 200, text)
  return json
}

const statsOf = (project_id: string, body: object) =>
  answerOf('/feedback/stats', { project_id, ...range, ...body })

const pathsOf = async (project_id: string, body: object = {}) =>
  (await answerOf('/feedback/payload_schema', { project_id, start, ...body })).paths

test('feedback/stats and feedback/payload_schema: refuse invalid requests', async (t) => {
  await assertCommonRefusals(t, '/feedback/stats', { project_id: project, ...range })
  await assertCommonRefusals(t, '/feedback/payload_schema', { project_id: project, start })
  for (const [url, body, status, code] of [
    ['/feedback/stats', { project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    ['/feedback/stats', { start: '2020-01-01T00:00:00Z' }, 422, 'invalid_request'],
    ['/feedback/stats', { end: start }, 422, 'invalid_request'],
    ['/feedback/stats', { timezone: 'nowhere' }, 422, 'invalid_request'],
    ['/feedback/stats', { metrics: [{ json_path: '' }] }, 422, 'invalid_request'],
    ['/feedback/stats', { metrics: [{ json_path: 'a', value_type: 'text' }] }, 422, 'invalid_request'],
    ['/feedback/stats', { metrics: Array(11).fill({ json_path: 'a' }) }, 422, 'invalid_request'],
    ['/feedback/stats', { metrics: [{ json_path: 'a.b' }, { json_path: 'a_b' }] }, 400, 'invalid_value'],
    [
      '/feedback/stats',
      {
        metrics: [
          { json_path: 'true_x', aggregations: ['count'] },
          { json_path: 'x', aggregations: ['count_true'] },
        ],
      },
      400,
      'invalid_value',
    ],
    ['/feedback/stats', { metrics: [{ json_path: 'a.'.repeat(40) }] }, 400, 'invalid_value'],
    ['/feedback/payload_schema', { project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    ['/feedback/payload_schema', { sample_limit: 5_001 }, 422, 'invalid_request'],
    ['/feedback/payload_schema', { sample_limit: 0 }, 422, 'invalid_request'],
    ['/feedback/payload_schema', { start: null }, 422, 'invalid_request'],
  ] as const) {
    const given = { project_id: project, start, ...body }
    const answer = await post(url, given)
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('numbers, booleans and categories have figures in buckets and over the whole range', async () => {
  const project_id = await stored('figures', [
    { output: { score: 0.5, ok: true }, label: 'good' },
    { output: { score: 1, ok: false }, label: 'bad' },
    { output: { score: 'none', ok: true } },
    { output: { score: 0 }, label: null },
    {},
  ])
  const json = await statsOf(project_id, {
    metrics: [
      { json_path: 'output.score', percentiles: [50], aggregations: ['avg', 'min', 'max', 'sum', 'count'] },
      { json_path: 'output.ok', value_type: 'boolean' },
      { json_path: 'label', value_type: 'categorical' },
      { json_path: 'nothing.there' },
    ],
  })
  const score = { avg: 0.5, min: 0, max: 1, sum: 1.5, count: 3, p50: 0.5 }
  assert.deepEqual(json.window_stats, {
    output_score: score,
    output_ok: { count_true: 2, count_false: 1 },
    label: { count: 2 },
    nothing_there: { avg: null, min: null, max: null },
  })
  const sums = json.buckets.reduce(
    (sum: number[], bucket: Record<string, number>) =>
      ['count', 'sum_output_score', 'count_true_output_ok', 'count_label'].map(
        (name, index) => (sum[index] ?? 0) + (bucket[name] ?? 0),
      ),
    [],
  )
  assert.deepEqual(sums, [5, 1.5, 2, 2])
})

test('feedback is selected by its type, and by its trigger with one version or all', async () => {
  const project_id = await stored('selected', [{ n: 1 }], { trigger_ref: trigger('v1') })
  await stored('selected', [{ n: 2 }], { trigger_ref: trigger('v2') })
  await stored('selected', [{ n: 4 }], { trigger_ref: trigger('v1', 'watches') })
  await stored('selected', [{ n: 8 }], { feedback_type: 'stars' })
  const sumOf = async (body: object) => {
    const metrics = [{ json_path: 'n', aggregations: ['sum'] }]
    return (await statsOf(project_id, { ...body, metrics })).window_stats.n.sum
  }
  for (const [body, sum] of [
    [{}, 15],
    [{ feedback_type: 'stars' }, 8],
    [{ trigger_ref: trigger('v1') }, 1],
    [{ trigger_ref: trigger('*') }, 3],
    [{ trigger_ref: trigger('').slice(0, -1) }, 3],
    [{ trigger_ref: trigger('v1'), feedback_type: 'stars' }, null],
    [{ trigger_ref: '%' }, null],
  ] as const) {
    assert.equal(await sumOf(body), sum, JSON.stringify(body))
  }
})

test('the paths of payloads are found with their types, from one payload of each type and trigger', async () => {
  const deep = JSON.parse(`${'{"a":'.repeat(20)}1${'}'.repeat(20)}`)
  const project_id = await stored('paths', [
    { old: 1 },
    { output: { score: 1, 'a.b': 'x' }, ok: true, list: [1], none: null },
  ])
  await stored('paths', [{ output: { score: 'high' } }], { feedback_type: 'stars' })
  await stored('paths', [{ deep, long: 'x'.repeat(70_000) }], { trigger_ref: trigger('v1') })
  assert.deepEqual(await pathsOf(project_id), [
    { json_path: 'ok', value_type: 'boolean' },
    { json_path: 'output.a\\.b', value_type: 'categorical' },
    { json_path: 'output.score', value_type: 'categorical' },
  ])
  assert.deepEqual(await pathsOf(project_id, { feedback_type: 'stars' }), [
    { json_path: 'output.score', value_type: 'categorical' },
  ])
  assert.deepEqual(await pathsOf(await stored('deep', [deep])), [])
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n]))
  assert.equal((await pathsOf(await stored('many', [many]))).length, 100)
})

test('nothing of other tenants is in the figures and paths', async () => {
  const theirs = feedbackOf({ project_id: 'globex/qa', payload: { secret: 5 } })
  assert.equal((await post('/feedback/create', theirs, keys.bob)).status, 200)
  const metrics = [{ json_path: 'secret', aggregations: ['count'] }]
  assert.deepEqual((await statsOf('acme/empty', { metrics })).window_stats, { secret: { count: 0 } })
  assert.deepEqual(await pathsOf('acme/empty'), [])
  const own = { project_id: 'globex/qa', ...range, metrics }
  const { window_stats } = await answerOf('/feedback/stats', own, keys.bob)
  assert.deepEqual(window_stats, { secret: { count: 1 } })
})
