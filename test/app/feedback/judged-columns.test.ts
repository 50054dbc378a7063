import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'

const { post } = await openApp({ after })

const judged = {
  scorer_tags: ['late', 'rude'],
  scorer_tag_reasons: { late: 'It took a day.' },
  scorer_tag_confidences: { late: 0.75 },
  scorer_ratings: { tone: 0.25 },
  scorer_rating_reasons: { tone: 'Short.' },
  scorer_rating_confidences: { tone: 1 },
  scorer_trace_id: 'judge-1',
  span_agent_name: 'weaver',
  span_agent_version: '2',
  span_status_code: 'ERROR',
  span_conversation_id: 'c-7',
  span_trace_id: 'turn-1',
}
const about = { project_id: project, svc_ref: 'thread/elsewhere', feedback_type: 'judge' }
const absent = {
  ...{ scorer_tags: [], scorer_tag_reasons: {}, scorer_tag_confidences: {}, scorer_ratings: {} },
  ...{ scorer_rating_reasons: {}, scorer_rating_confidences: {}, scorer_trace_id: '', span_agent_name: '' },
  ...{ span_agent_version: '', span_status_code: 'UNSET', span_conversation_id: '', span_trace_id: '' },
}
const names = Object.keys(judged)

await post('/feedback/create', { ...about, id: 'judged', payload: { note: 'a' }, ...judged })
await post('/feedback/create', { ...about, id: 'plain', payload: { note: 'b' }, ...absent })

async function found(body: object) {
  const { status, json, text } = await post('/feedback/query', { project_id: project, ...body })
  assert.equal(status, 200, text)
  return json.result
}

test('what a scorer judged is stored, shown, and the same when it is sent again', async () => {
  const again = await post('/feedback/create', { ...about, id: 'judged', payload: { note: 'a' }, ...judged })
  assert.equal(again.status, 200, again.text)
  assert.deepEqual(again.json.payload, { note: 'a', ...judged })
  const [whole, plain] = await found({})
  for (const name of names) assert.deepEqual(whole[name], judged[name as keyof typeof judged], name)
  assert.deepEqual(plain.payload, { note: 'b' })
  assert.deepEqual(
    names.filter((name) => name in plain),
    [],
  )
  assert.deepEqual(await found({ fields: names }), [judged, absent])
  assert.deepEqual(await found({ fields: ['scorer_ratings.tone'] }), [
    { 'scorer_ratings.tone': '0.25' },
    { 'scorer_ratings.tone': '' },
  ])
})

test('feedback is found and sorted by what a scorer judged', async () => {
  const query = (expression: object) => ({ query: { $expr: expression }, fields: ['id'] })
  const is = (field: string, value: unknown) => ({ $eq: [{ $getField: field }, { $literal: value }] })
  for (const expression of [
    is('span_agent_name', 'weaver'),
    is('span_conversation_id', 'c-7'),
    is('scorer_ratings.tone', 0.25),
    { $gt: [{ $size: { $getField: 'scorer_tags' } }, { $literal: 1 }] },
  ]) {
    assert.deepEqual(await found(query(expression)), [{ id: 'judged' }], JSON.stringify(expression))
  }
  const sort_by = [{ field: 'span_agent_name', direction: 'desc' }]
  assert.deepEqual(await found({ fields: ['id'], sort_by }), [{ id: 'judged' }, { id: 'plain' }])
})

test('feedback about what is not in the record is added up by the agent that it names', async () => {
  const { json, text, status } = await post('/feedback/aggregate', {
    ...{ project_id: project, after_ms: Date.now() - 3_600_000, before_ms: Date.now() + 3_600_000 },
    ...{ span_agent_names: ['weaver'], tags: ['rude'] },
    group_by: ['span_agent_name', 'span_agent_version', 'span_status_code'],
  })
  assert.equal(status, 200, text)
  assert.deepEqual(
    json.buckets.map(({ time_bucket_start_ms, ...bucket }: Record<string, unknown>) => bucket),
    [
      {
        group: { span_agent_name: 'weaver', span_agent_version: '2', span_status_code: 'ERROR' },
        ...{ total_count: 1, scored_count: 1, tag_counts: { late: 1, rude: 1 }, reaction_counts: {} },
        ...{ rating_counts: { tone: 1 }, rating_sums: { tone: 0.25 } },
      },
    ],
  )
})

test('a field that differs from the member of the payload, or is no judgement, is refused by its name', async () => {
  for (const [fields, status] of [
    [{ payload: { scorer_tags: ['a'] }, scorer_tags: ['b'] }, 400],
    [{ payload: { scorer_tags: ['b'] }, scorer_tags: 'b' }, 422],
    [{ payload: {}, scorer_ratings: { tone: 2 } }, 422],
    [{ payload: {}, span_status_code: 'FINE' }, 422],
  ] as const) {
    const answer = await post('/feedback/create', { ...about, ...fields })
    assert.equal(answer.status, status, answer.text)
    assert.ok(answer.text.includes(Object.keys(fields)[1] as string), answer.text)
  }
})
