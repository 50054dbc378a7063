import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { linesOf } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { completeOf } from '../../support/calls.ts'
import { storeCalls } from '../../support/stored-calls.ts'

const field = (name: string) => ({ $getField: name })
const literal = (value: unknown) => ({ $literal: value })
const eq = (name: string, value: unknown) => ({ $eq: [field(name), literal(value)] })
const gt = (name: string, value: unknown) => ({ $gt: [field(name), literal(value)] })
const op = 'weave:///acme/qa/op/ask:aaa'

const calls = {
  a: { inputs: { n: 1, text: 'Alpha', 'a.b': 1 }, output: { score: 0.5, ok: true }, display_name: 'first' },
  b: { inputs: { n: 10, text: 'beta', list: [5, { x: 'y' }] }, output: 'done', exception: 'Error: no' },
  c: { inputs: { n: 9 }, attributes: { env: 'prod' }, summary: { status_counts: { error: 1 } }, op_name: op },
  d: { inputs: { n: '9', text: null }, svc_run_step: 3, svc_run_id: 'run', running: true },
}

/** Shared by all cases, because none of them writes. */
const { where } = await storeCalls((await openApp({ after })).post, calls)

for (const [expression, expected] of [
  [eq('display_name', 'first'), ['a']],
  [eq('op_name', op), ['c']],
  [eq('exception', 'Error: no'), ['b']],
  [eq('exception', null), ['a', 'c', 'd']],
  [eq('svc_run_id', 'run'), ['d']],
  [eq('wb_run_id', 'run'), ['d']],
  [eq('svc_run_step', 3), ['d']],
  [eq('wb_run_step', 3), ['d']],
  [eq('svc_user_id', 'alice'), ['a', 'b', 'c', 'd']],
  [eq('wb_user_id', 'bob'), []],
  [eq('project_id', 'acme/qa'), ['a', 'b', 'c', 'd']],
  [eq('ended_at', null), ['d']],
  [eq('started_at', '2026-01-02T03:01:00Z'), ['b']],
  [eq('started_at', '2026-01-02T05:01:00+02:00'), ['b']],
  [gt('started_at', Date.UTC(2026, 0, 2, 3, 1) / 1000), ['c', 'd']],
  [{ $not: [gt('started_at', '2026-01-02T03:01:00Z')] }, ['a', 'b']],
  [eq('inputs.n', 9), ['c', 'd']],
  [eq('inputs.n', 10), ['b']],
  [gt('inputs.n', 9), ['b']],
  [{ $gte: [field('inputs.n'), literal(9)] }, ['b', 'c', 'd']],
  [{ $lt: [field('inputs.n'), literal(9)] }, ['a']],
  [{ $lte: [field('inputs.n'), literal(9)] }, ['a', 'c', 'd']],
  [gt('output.score', 0.4), ['a']],
  [eq('output.ok', true), ['a']],
  [eq('output', 'done'), ['b']],
  [eq('attributes.env', 'prod'), ['c']],
  [eq('inputs.a\\.b', 1), ['a']],
  [eq('inputs.list.0', 5), ['b']],
  [eq('inputs.list.1.x', 'y'), ['b']],
  [{ $eq: [{ $size: field('inputs.list') }, literal(2)] }, ['b']],
  [{ $gte: [{ $size: field('inputs.list.1') }, literal(0)] }, []],
  [{ $gt: [{ $size: field('inputs.list') }, field('inputs.n')] }, []],
  [{ $convert: { input: { $size: field('inputs.list') }, to: 'exists' } }, ['b']],
  [{ $eq: [{ $size: field('op_name') }, literal(6)] }, []],
  [{ $eq: [{ $size: literal('[1]') }, literal(1)] }, []],
  [eq('inputs.text', null), ['c', 'd']],
  [{ $contains: { input: field('inputs.text'), substr: literal('ta') } }, ['b']],
  [{ $contains: { input: field('inputs.text'), substr: literal('al') } }, []],
  [{ $contains: { input: field('inputs.text'), substr: literal('AL'), case_insensitive: true } }, ['a']],
  [{ $contains: { input: field('op_name'), substr: literal('/op/ask') } }, ['c']],
  [{ $in: [field('inputs.n'), [literal(1), literal(10), literal(77)]] }, ['a', 'b']],
  [{ $in: [field('display_name'), []] }, []],
  [{ $and: [gt('inputs.n', 1), eq('exception', null)] }, ['c', 'd']],
  [{ $or: [eq('display_name', 'first'), eq('exception', 'Error: no')] }, ['a', 'b']],
  [{ $not: [{ $or: [eq('inputs.n', 1), eq('inputs.n', 10)] }] }, ['c', 'd']],
  [{ $eq: [{ $convert: { input: field('inputs.text'), to: 'exists' } }, literal(true)] }, ['a', 'b']],
  [{ $eq: [field('trace_id'), field('id')] }, ['a', 'b', 'c', 'd']],
  [eq('summary.weave.status', 'success'), ['a']],
  [eq('summary.weave.status', 'error'), ['b']],
  [eq('summary.weave.status', 'descendant_error'), ['c']],
  [eq('summary.weave.status', 'running'), ['d']],
  [eq('summary.weave.latency_ms', 1000), ['a', 'b', 'c']],
  [gt('summary.weave.latency_ms', 1000), []],
  [eq('summary.weave.trace_name', 'first'), ['a']],
  [eq('summary.weave.trace_name', 'ask'), ['c']],
  [eq('summary.weave.trace_name', 'answer'), ['b', 'd']],
  [eq('summary.status_counts.error', 1), ['c']],
  [gt('storage_size_bytes', 0), ['a', 'b', 'c', 'd']],
] as [unknown, string[]][]) {
  test(`calls/stream_query: where ${JSON.stringify(expression)}`, async () => {
    assert.deepEqual(await where(expression), expected)
  })
}

test('calls/stream_query: numbers in a query keep their digits', async (t) => {
  const { post } = await openApp(t)
  const numbers = ['9007199254740992', '9007199254740993', '9223372036854775807']
  const batch = numbers.map((n, i) =>
    JSON.stringify(completeOf({ started_at: `2026-01-0${i + 1}`, inputs: { n: 0 } })).replace(
      '"n":0',
      `"n":${n}`,
    ),
  )
  await post('/v2/acme/qa/calls/complete', `{"batch":[${batch.join()}]}`)
  for (const [index, n] of numbers.entries()) {
    const ask = (by: string) =>
      post(
        '/calls/stream_query',
        `{"project_id":"acme/qa","query":{"$expr":{"${by}":[{"$getField":"inputs.n"},{"$literal":${n}}]}}}`,
      )
    const found = linesOf(await ask('$eq'))
    assert.equal(found.length, 1, n)
    assert.ok(found[0]?.includes(`"inputs":{"n":${n}}`))
    assert.equal(linesOf(await ask('$gt')).length, 2 - index, n)
  }
})
