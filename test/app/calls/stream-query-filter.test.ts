import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { project, startOf } from '../../support/calls.ts'
import { storeCalls } from '../../support/stored-calls.ts'

const op = (name: string, digest: string) => `weave:///acme/qa/op/${name}:${digest}`
const object = (name: string, digest: string) => `weave:///acme/qa/object/${name}:${digest}`
const trace = '0'.repeat(32)
const parent = '1'.repeat(16)

const calls = {
  plain: { thread_id: 'x', turn_id: 'x1', svc_run_id: 'run-1', inputs: { data: object('set', 'aa') } },
  first: { op_name: op('ask', 'aaa'), trace_id: trace, parent_id: parent, inputs: {} },
  second: { op_name: op('ask', 'bbb'), output: [{ ref: object('set', 'bb') }], thread_id: 'y' },
  third: { op_name: op('ask2', 'aaa'), parent_id: parent, inputs: { text: `see ${object('set', 'aa')}` } },
  fourth: { running: true, trace_id: trace, turn_id: 'x1', svc_run_id: 'run-2', thread_id: 'x' },
}
const all = Object.keys(calls)

/** Shared by all cases, because none of them writes. */
const { post } = await openApp({ after })
const { found, id } = await storeCalls(post, calls)

for (const [filter, expected] of [
  [null, all],
  [{}, all],
  [{ op_names: null, call_ids: null, thread_ids: null, trace_roots_only: null }, all],
  [{ op_names: [], call_ids: [], trace_ids: [], parent_ids: [], input_refs: [], output_refs: [] }, all],
  [{ svc_user_ids: [], svc_run_ids: [], wb_user_ids: [], wb_run_ids: [] }, all],
  [{ op_names: ['answer'] }, ['plain', 'fourth']],
  [{ op_names: ['answ'] }, []],
  [{ op_names: [op('ask', 'aaa')] }, ['first']],
  [{ op_names: [op('ask', '*')] }, ['first', 'second']],
  [{ op_names: [op('ask', '*'), 'answer'] }, ['plain', 'first', 'second', 'fourth']],
  [{ op_names: [op('%', '*'), op('_sk', '*')] }, []],
  [{ op_names: ['op/ask:*', ':*'] }, []],
  [{ input_refs: [object('set', 'aa')] }, ['plain']],
  [{ input_refs: [object('set', '*')] }, ['plain']],
  [{ input_refs: [object('set', 'zz')] }, []],
  [{ output_refs: [object('set', 'bb')] }, ['second']],
  [{ output_refs: [object('set', 'aa'), object('set', '*')] }, ['second']],
  [{ parent_ids: [parent] }, ['first', 'third']],
  [{ trace_ids: [trace] }, ['first', 'fourth']],
  [{ trace_ids: [trace, trace, 'x'] }, ['first', 'fourth']],
  [{ thread_ids: ['x'] }, ['plain', 'fourth']],
  [{ thread_ids: ['x', 'y'] }, ['plain', 'second', 'fourth']],
  [{ thread_ids: [] }, []],
  [{ turn_ids: ['x1'] }, ['plain', 'fourth']],
  [{ turn_ids: [] }, []],
  [{ trace_roots_only: true }, ['plain', 'second', 'fourth']],
  [{ trace_roots_only: false }, all],
  [{ svc_run_ids: ['run-1'] }, ['plain']],
  [{ wb_run_ids: ['run-2'] }, ['fourth']],
  [{ svc_run_ids: ['run-1'], wb_run_ids: ['run-1'] }, ['plain']],
  [{ svc_user_ids: ['alice'] }, all],
  [{ wb_user_ids: ['bob'] }, []],
  [{ thread_ids: ['x'], turn_ids: ['x1'], svc_run_ids: ['run-2'] }, ['fourth']],
  [{ thread_ids: ['x'], parent_ids: [parent] }, []],
] as [object | null, string[]][]) {
  test(`calls/stream_query: the filter ${JSON.stringify(filter)}`, async () => {
    assert.deepEqual(await found({ filter }), expected)
    const stats = await post('/calls/query_stats', { project_id: project, filter })
    assert.equal(stats.json.count, expected.length)
  })
}

test('calls/stream_query: filters by ids', async () => {
  const call_ids = [id('third'), id('first'), id('third'), startOf().id, 'x']
  assert.deepEqual(await found({ filter: { call_ids } }), ['first', 'third'])
  const many = Array.from({ length: 999 }, () => startOf().id)
  assert.deepEqual(await found({ filter: { call_ids: [...many, id('first')] } }), ['first'])
})

test('calls/stream_query: filters by users', async (t) => {
  const { post } = await openApp(t)
  const { found } = await storeCalls(post, { mine: {} })
  const theirs = startOf({ started_at: '2026-02-01' })
  await post('/call/start', { start: theirs }, keys.root)
  assert.deepEqual(await found({ filter: { svc_user_ids: ['root'] } }), [theirs.id])
  assert.deepEqual(await found({ filter: { wb_user_ids: ['alice'] } }), ['mine'])
  assert.deepEqual(await found({ filter: { svc_user_ids: ['alice', 'root'] } }), ['mine', theirs.id])
})

test('calls/stream_query: a filter and a query apply together', async () => {
  const query = { $expr: { $eq: [{ $getField: 'thread_id' }, { $literal: 'x' }] } }
  assert.deepEqual(await found({ query, filter: { svc_run_ids: ['run-1'] } }), ['plain'])
  assert.deepEqual(await found({ query, filter: { op_names: [op('ask', '*')] } }), [])
})
