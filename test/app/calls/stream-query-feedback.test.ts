import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf, recordsOf } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { giveFeedback } from '../../support/feedback.ts'
import { storeCalls } from '../../support/stored-calls.ts'

const refOf = (id: string, of = project) => `weave:///${of}/call/${id}`

test('calls/stream_query: include_feedback shows the feedback about a call', async (t) => {
  const { post } = await openApp(t)
  const runnable_ref = 'weave:///acme/qa/object/judge:abc'
  // Clients may send the feedback before the call.
  const before = '01234567-89ab-7def-8123-456789abcdef'
  const first = await giveFeedback(post, {
    svc_ref: refOf(before),
    feedback_type: 'wandb.runnable.judge',
    runnable_ref,
    payload: { output: { score: 0.5, why: 'a "quote", é and 👋\n' } },
    creator: 'J"udge',
  })
  const { id, query } = await storeCalls(post, { a: { id: before }, b: {}, c: { running: true } })
  assert.equal(id('a'), before)
  const second = await giveFeedback(post, { svc_ref: `other:///${project}/call/${before}` }, keys.root)
  await giveFeedback(post, { svc_ref: refOf(id('b')), payload: { of: 'b' } })
  // Not about the call itself, or in another project.
  await giveFeedback(post, { svc_ref: `${refOf(before)}/attr/output` })
  await giveFeedback(post, { svc_ref: refOf(before, 'acme/other') })
  await giveFeedback(post, { svc_ref: refOf(before), project_id: 'acme/other' })
  await giveFeedback(post, { svc_ref: refOf(before), project_id: 'globex/qa' }, keys.bob)

  const records = recordsOf(await query({ include_feedback: true }))
  const shown = records.map(({ summary }) => (summary as { weave: Record<string, unknown> }).weave)
  const said = shown.map(({ feedback }) => feedback as Record<string, unknown>[])
  const time = (n: number) => said[0]?.[n]?.created_at
  const none = { annotation_ref: null, call_ref: null, trigger_ref: null, queue_id: null }
  assert.match(String(time(0)), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3,6})?Z$/)
  assert.deepEqual(said[0], [
    {
      id: first,
      feedback_type: 'wandb.runnable.judge',
      svc_ref: refOf(before),
      payload: { output: { score: 0.5, why: 'a "quote", é and 👋\n' } },
      creator: 'J"udge',
      created_at: time(0),
      svc_user_id: 'alice',
      ...none,
      runnable_ref,
    },
    {
      id: second,
      feedback_type: 'thumbs',
      svc_ref: `other:///${project}/call/${before}`,
      payload: { up: true },
      creator: null,
      created_at: time(1),
      svc_user_id: 'root',
      ...none,
      runnable_ref: null,
    },
  ])
  assert.deepEqual(
    said[1]?.map(({ payload }) => payload),
    [{ of: 'b' }],
  )
  assert.deepEqual(said[2], [])
  for (const weave of shown) assert.ok(!('feedback_left_out' in weave))
  for (const { summary } of recordsOf(await query())) {
    assert.ok(!('feedback' in (summary as { weave: object }).weave))
  }
})

test('P9: feedback that is shown with a call has its digits', async (t) => {
  const { post } = await openApp(t)
  const { id, query } = await storeCalls(post, { a: {} })
  const payload = '{"n":9223372036854775807,"d":1.0,"s":"\\u00e9\\u0000\\ud800"}'
  const body = `{"project_id":"${project}","svc_ref":"${refOf(id('a'))}","feedback_type":"x","payload":${payload}}`
  assert.equal((await post('/feedback/create', body)).status, 200)
  const [line = ''] = linesOf(await query({ include_feedback: true }))
  assert.ok(line.includes(`"payload":${payload},`), line)
})

test('calls/stream_query: filters and sorts by feedback', async (t) => {
  const { post } = await openApp(t)
  const { id, where, found } = await storeCalls(post, { a: {}, b: {}, c: {}, d: {} })
  const judge = 'wandb.runnable.judge'
  const judged = (name: string, score: unknown) =>
    giveFeedback(post, {
      svc_ref: refOf(id(name)),
      feedback_type: judge,
      runnable_ref: 'weave:///acme/qa/object/judge:abc',
      payload: { output: { score } },
    })
  await judged('a', 0.9)
  await judged('a', 0.2)
  await judged('a', null)
  await judged('b', 0.7)
  await giveFeedback(post, {
    svc_ref: refOf(id('c')),
    feedback_type: 'wandb.note.1',
    payload: { note: 'Too long' },
  })
  await giveFeedback(post, { svc_ref: refOf(id('d')), project_id: 'acme/other', payload: { output: 5 } })

  const field = (path: string, type = judge) => ({ $getField: `feedback.[${type}].payload${path}` })
  const score = field('.output.score')
  for (const [expression, expected] of [
    [{ $gt: [score, { $literal: 0.5 }] }, ['b']],
    // The latest feedback that has a value counts.
    [{ $eq: [score, { $literal: 0.2 }] }, ['a']],
    [{ $lt: [score, { $literal: 1 }] }, ['a', 'b']],
    [{ $gt: [field('.output.score', '*'), { $literal: 0.5 }] }, ['b']],
    [{ $eq: [field('.note', '*'), { $literal: 'Too long' }] }, ['c']],
    [{ $eq: [field('.note'), { $literal: 'Too long' }] }, []],
    [{ $and: [{ $convert: { input: field('', '*'), to: 'exists' } }] }, ['a', 'b', 'c']],
    [{ $not: [{ $convert: { input: score, to: 'exists' } }] }, ['c', 'd']],
    [{ $eq: [score, { $literal: null }] }, ['c', 'd']],
    [
      {
        $contains: {
          input: field('.note', 'wandb.note.1'),
          substr: { $literal: 'LONG' },
          case_insensitive: true,
        },
      },
      ['c'],
    ],
  ] as [unknown, string[]][]) {
    assert.deepEqual(await where(expression), expected, JSON.stringify(expression))
  }
  const by = (direction: string) => ({ sort_by: [{ field: score.$getField, direction }] })
  assert.deepEqual((await found(by('asc'))).slice(0, 2), ['a', 'b'])
  assert.deepEqual((await found(by('desc'))).slice(0, 2), ['b', 'a'])
  const { json } = await post('/calls/query_stats', {
    project_id: project,
    query: { $expr: { $gt: [score, { $literal: 0.5 }] } },
  })
  assert.equal(json.count, 1)
})

for (const field of [
  'feedback',
  'feedback.payload.x',
  'feedback.[].payload.x',
  'feedback.[x].creator',
  'feedback.[x]payload',
  'feedback.[x].payloads',
]) {
  test(`calls/stream_query: there is no field ${field}`, async (t) => {
    const { post } = await openApp(t)
    const query = { $expr: { $eq: [{ $getField: field }, { $literal: 1 }] } }
    const { status, json } = await post('/calls/stream_query', { project_id: project, query })
    assert.deepEqual([status, json.code], [422, 'unknown_field'])
    assert.ok(json.reason.startsWith(`query: there is no field ${JSON.stringify(field)}; accepted: `))
  })
}
