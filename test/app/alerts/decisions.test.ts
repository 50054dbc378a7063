import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { modelsOfUpstream, startFakeUpstream } from '../../support/fake-upstream.ts'
import { until } from '../../support/wait.ts'

const project_id = 'acme/default'
const rude = { type: 'predicate', name: 'rude', instructions: 'Is it rude?' }
const topic = {
  ...{ type: 'choice', name: 'topic', instructions: 'What is it about?' },
  choices: [{ value: 'billing' }, { value: 'other' }],
}
const level = {
  ...{ type: 'score', name: 'level', instructions: 'How good is it?' },
  levels: [{ label: 'bad' }, { label: 'good' }],
}
const answers = [
  { type: 'predicate', name: 'rude', probability: 0.25 },
  { type: 'choice', name: 'topic', probabilities: [{ probability: 0.75 }, { probability: 0.25 }] },
  { type: 'score', name: 'level', probabilities: [{ probability: 0.125 }, { probability: 0.875 }] },
]
const usage = {
  ...{ input_tokens: 4, input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 } },
  ...{ output_tokens: 0, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 4 },
}

test('rules on decisions fire for an answer or its probability, whichever API was asked', async (t) => {
  const models = [{ id: 'far', object: 'model', owned_by: 'vllm', max_model_len: 4_096 }]
  const upstream = await startFakeUpstream(
    t,
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ model: 'far', answers, usage }))
    },
    { models },
  )
  const { post } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
  const conditions = {
    unlikely: { question: 'rude', below: 0.3 },
    rude: { question: 'rude', answer: 'true' },
    polite: { question: 'rude', answer: 'false' },
    billing: { question: 'topic', answer: 'billing', above: 0.7 },
    unsure: { question: 'topic', below: 0.8 },
    other: { answer: 'other' },
    good: { answer: 'good' },
    sure: { above: 0.8 },
    none: { question: 'tone', above: 0 },
  }
  for (const [name, decision] of Object.entries(conditions)) {
    const made = await post('/alert_rules', { project_id, name, on: 'decision', decision })
    assert.equal(made.status, 200, made.text)
  }
  const fired = async () => {
    const { events } = (await post('/alert_events/query', { project_id, limit: 1_000 })).json
    return events.map(({ data }: { data: { rule: { name: string }; call_id: string } }) => data).reverse()
  }
  const expected = [
    ['unlikely', 'rude', 'true', 0.25],
    ['polite', 'rude', 'false', 0.75],
    ['billing', 'topic', 'billing', 0.75],
    ['unsure', 'topic', 'billing', 0.75],
    ['good', 'level', 'good', 0.875],
    ['sure', 'level', 'good', 0.875],
  ]
  const seen: string[] = []
  for (const [url, body] of [
    ['/v1/decisions', { model: 'far', input: 'Hi', questions: [rude, topic, level] }],
    [
      '/v1/systemone',
      {
        ...{ model: 'far', state: 'Hi' },
        questions: {
          rude: { type: 'noul' },
          topic: { type: 'choice', criteria: { billing: null, other: null } },
          level: { type: 'score', criteria: ['bad', 'good'] },
        },
      },
    ],
  ] as const) {
    const answer = await post(url, body)
    assert.equal(answer.status, 200, answer.text)
    const call_id = answer.headers['x-heddle-call-id'] as string
    seen.push(call_id)
    await until('it is recorded', async () => (await fired()).length === seen.length * expected.length)
    const own = (await fired()).filter((data: { call_id: string }) => data.call_id === call_id)
    assert.deepEqual(
      own.map(({ rule, decision }: Record<string, Record<string, unknown>>) => [
        ...[rule?.name, decision?.question, decision?.answer, decision?.probability],
      ]),
      expected,
      url,
    )
  }
  const tried = await post('/alert_rules/try', { project_id, on: 'decision', decision: { above: 0.7 } })
  assert.deepEqual(
    tried.json.examples.map(({ subject, value }: Record<string, unknown>) => [subject, value]),
    seen.map((id) => [`call ${id}`, 0.75]).reverse(),
  )
})
