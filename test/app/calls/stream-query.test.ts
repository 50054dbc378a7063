import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf, recordsOf, whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, endedRecord, endOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { storeCalls } from '../../support/stored-calls.ts'

const fields =
  'id, project_id, op_name, display_name, trace_id, parent_id, thread_id, turn_id, started_at, ended_at, exception, svc_user_id, svc_run_id, svc_run_step, svc_run_step_end, expire_at, storage_size_bytes, op, agent, agent_version, model, input_tokens, output_tokens, first_token_ms, cost, origin, attributes.…, inputs.…, output.…, summary.…, summary.weave.status, summary.weave.latency_ms, summary.weave.trace_name, feedback.[<type>].payload.…'
const columns =
  'id, project_id, op_name, display_name, trace_id, parent_id, thread_id, turn_id, started_at, ended_at, exception, attributes, inputs, output, summary, svc_user_id, wb_user_id, svc_run_id, wb_run_id, svc_run_step, wb_run_step, svc_run_step_end, wb_run_step_end, expire_at, storage_size_bytes, deleted_at, total_storage_size_bytes'

test('calls/stream_query: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/calls/stream_query', { project_id: project })
  const { post } = await openApp(t)
  for (const [body, status, answer] of [
    [
      { limit: -1 },
      422,
      {
        reason: 'The body does not fit the schema: limit: expected number to be >=0, received -1.',
        code: 'invalid_request',
        detail: [
          { loc: ['body', 'limit'], msg: 'expected number to be >=0, received -1', type: 'too_small' },
        ],
      },
    ],
    [
      { offset: -1 },
      422,
      {
        reason: 'The body does not fit the schema: offset: expected number to be >=0, received -1.',
        code: 'invalid_request',
        detail: [
          { loc: ['body', 'offset'], msg: 'expected number to be >=0, received -1', type: 'too_small' },
        ],
      },
    ],
    [
      { project_id: 'globex/qa' },
      403,
      {
        reason: 'Your key has no access to the entity of project_id: "globex/qa".',
        code: 'entity_forbidden',
      },
    ],
    [
      { expand_columns: ['inputs.a', 'op_name'] },
      422,
      {
        reason:
          'expand_columns.1: there is no field "op_name"; accepted: inputs.…, output, output.…, attributes.…, summary.….',
        code: 'unknown_field',
      },
    ],
    [
      { expand_columns: Array.from('abcdefghi', (_, n) => `inputs${'.x'.repeat(n + 1)}`).reverse() },
      400,
      {
        reason: `expand_columns: "inputs${'.x'.repeat(9)}" is nested in 8 others; accepted: at most 8 levels of nesting.`,
        code: 'invalid_value',
      },
    ],
    [
      {
        expand_columns: ['inputs.a', 'output'],
        return_expanded_column_values: false,
        sort_by: [
          { field: 'inputs.a', direction: 'asc' },
          { field: 'output.score', direction: 'asc' },
        ],
      },
      400,
      {
        reason:
          'sort_by.1.field: "output.score" is below "output" of expand_columns; accepted: fields of the calls themselves; values behind a reference are only returned, not filtered or sorted by.',
        code: 'invalid_value',
      },
    ],
    [
      {
        expand_columns: ['inputs.a'],
        query: { $expr: { $not: [{ $in: [{ $getField: 'inputs.a.name' }, [{ $literal: 'x' }]] }] } },
      },
      400,
      {
        reason:
          'query: "inputs.a.name" is below "inputs.a" of expand_columns; accepted: fields of the calls themselves; values behind a reference are only returned, not filtered or sorted by.',
        code: 'invalid_value',
      },
    ],
    [
      { filter: { call_ids: Array(1001).fill('a') } },
      400,
      { reason: 'filter.call_ids: 1001 entries; accepted: at most 1000.', code: 'invalid_value' },
    ],
    [
      { columns: ['id', 'colour'] },
      422,
      {
        reason: `columns.1: there is no field "colour"; accepted: ${columns}.`,
        code: 'unknown_field',
      },
    ],
    [
      { sort_by: [{ field: 'colour', direction: 'asc' }] },
      422,
      { reason: `sort_by.0.field: there is no field "colour"; accepted: ${fields}.`, code: 'unknown_field' },
    ],
    [
      { query: { $expr: { $eq: [{ $getField: 'summary.weave.costs' }, { $literal: 1 }] } } },
      422,
      {
        reason: `query: there is no field "summary.weave.costs"; accepted: ${fields}.`,
        code: 'unknown_field',
      },
    ],
    [
      { query: {} },
      422,
      { reason: 'query: is an empty object; accepted: {"$expr": …}.', code: 'invalid_expression' },
    ],
  ] as [object, number, object][]) {
    assert.deepEqual(whole(await post('/calls/stream_query', { project_id: project, ...body })), {
      status,
      body: answer,
    })
  }
})

test('calls/stream_query: returns each call as one line of JSON', async (t) => {
  const { post } = await openApp(t)
  const calls = await storeCalls(post, {
    one: { inputs: { text: 'two\nlines\u2028 \u2029' } },
    two: { running: true },
  })
  const answer = await calls.query({ include_usernames: true })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'application/jsonl')
  assert.equal(linesOf(answer).length, 2)
  for (const [index, name] of ['one', 'two'].entries()) {
    const read = await post('/call/read', { project_id: project, id: calls.id(name) })
    assert.deepEqual(recordsOf(answer)[index], read.json.call)
  }
})

test('calls/stream_query: a call that was written twice is one line, whatever latest_only says', async (t) => {
  const { post } = await openApp(t)
  const calls = await storeCalls(post, { one: {} })
  await post('/call/upsert_batch', {
    batch: [{ mode: 'end', req: { end: endOf(calls.id('one'), { output: 'again' }) } }],
  })
  const asked = await calls.query()
  assert.equal(recordsOf(asked).length, 1)
  for (const latest_only of [false, true, null]) {
    assert.deepEqual(recordsOf(await calls.query({ latest_only })), recordsOf(asked))
  }
})

test('calls/stream_query: no match gives an empty answer', async (t) => {
  const { post } = await openApp(t)
  for (const project_id of [project, 'acme/never-written']) {
    const answer = await post('/calls/stream_query', { project_id })
    assert.deepEqual(whole(answer), { status: 200, body: '' })
    assert.equal(answer.headers['content-type'], 'application/jsonl')
  }
})

test('calls/stream_query: leaves out deleted and expired calls, and ends without a start', async (t) => {
  const { post } = await openApp(t)
  const calls = await storeCalls(post, {
    seen: {},
    deleted: {},
    expired: { expire_at: '2026-01-03T00:00:00Z' },
  })
  await post('/calls/delete', { project_id: project, call_ids: [calls.id('deleted')] })
  await post('/call/end', {
    end: { project_id: project, id: startOf().id, ended_at: '2026-01-02', summary: {} },
  })
  await post('/call/start', { start: startOf({ project_id: 'acme/other' }) })
  await post('/call/start', { start: startOf({ project_id: 'globex/qa' }) }, keys.bob)
  assert.deepEqual(await calls.found(), ['seen'])
})

test('calls/stream_query: pages follow each other without gaps', async (t) => {
  const { post } = await openApp(t)
  const names = ['a', 'b', 'c', 'd', 'e']
  const calls = await storeCalls(post, Object.fromEntries(names.map((name) => [name, {}])))
  for (const [page, expected] of [
    [{}, names],
    [{ limit: null, offset: null }, names],
    [{ limit: 0 }, names],
    [{ limit: 2 }, ['a', 'b']],
    [{ limit: 2, offset: 2 }, ['c', 'd']],
    [{ limit: 2, offset: 4 }, ['e']],
    [{ limit: 2, offset: 5 }, []],
    [{ limit: 0, offset: 3 }, ['d', 'e']],
    [{ offset: 3 }, ['d', 'e']],
    [{ limit: 9007199254740991 }, names],
    [{ offset: 9007199254740991 }, []],
  ] as const) {
    assert.deepEqual(await calls.found(page), expected, JSON.stringify(page))
  }
})

test('calls/stream_query: returns more calls than one read of the record fetches', async (t) => {
  const { post } = await openApp(t)
  const batch = Array.from({ length: 450 }, (_, n) => completeOf({ inputs: { n } }))
  await post('/v2/acme/qa/calls/complete', { batch })
  const sort_by = [{ field: 'inputs.n', direction: 'desc' }]
  assert.deepEqual(
    recordsOf(await post('/calls/stream_query', { project_id: project, sort_by, include_usernames: true })),
    batch.map(({ id }, n) => endedRecord(id, { inputs: { n } })).reverse(),
  )
})

/** Every member that a call can have, so that a member that is left out shows. */
const full = {
  attributes: { a: 1 },
  inputs: { b: 2 },
  output: [3],
  summary: { c: 4, status_counts: { error: 1 } },
  display_name: 'shown',
  thread_id: 'thread',
  turn_id: 'turn',
  svc_run_id: 'run',
  svc_run_step: 1,
  svc_run_step_end: 2,
  expire_at: '2200-01-01T00:00:00.000Z',
}

test('calls/stream_query: what columns do not name is null or empty', async (t) => {
  const { post } = await openApp(t)
  const calls = await storeCalls(post, { one: { ...full, parent_id: '0123456789abcdef' } })
  const [whole] = recordsOf(await calls.query())
  const weave = { status: 'descendant_error', latency_ms: 1000, display_name: 'shown' }
  const always = ['id', 'project_id', 'trace_id', 'op_name', 'started_at']
  const withSummary = ['summary', 'ended_at', 'exception', 'display_name']
  const empty: Record<string, unknown> = {
    ...Object.fromEntries(Object.keys(whole ?? {}).map((name) => [name, null])),
    attributes: {},
    inputs: {},
    summary: { weave },
  }
  for (const [columns, shown] of [
    [null, Object.keys(empty)],
    [[], Object.keys(empty)],
    [['id'], []],
    [['inputs'], ['inputs']],
    [
      ['inputs.b', 'thread_id'],
      ['inputs', 'thread_id'],
    ],
    [['ended_at'], ['ended_at']],
    [['summary'], withSummary],
    [['summary.c'], withSummary],
    [['summary_dump'], withSummary],
    [
      ['attributes_dump', 'inputs_dump', 'output_dump.0'],
      ['attributes', 'inputs', 'output'],
    ],
    [
      ['output', 'attributes.a.x', 'wb_run_id', 'svc_user_id'],
      ['output', 'attributes', 'svc_run_id', 'wb_run_id', 'svc_user_id', 'wb_user_id'],
    ],
    [
      ['parent_id', 'expire_at'],
      ['parent_id', 'expire_at'],
    ],
  ] as [string[] | null, string[]][]) {
    const named = Object.fromEntries([...always, ...shown].map((name) => [name, whole?.[name]]))
    assert.deepEqual(recordsOf(await calls.query({ columns })), [{ ...empty, ...named }], String(columns))
  }
  const [sized] = recordsOf(
    await calls.query({ columns: ['id'], include_usernames: true, include_storage_size: true }),
  )
  assert.deepEqual([sized?.svc_username, sized?.wb_user_id, sized?.exception], ['alice', 'alice', null])
  assert.ok((sized?.storage_size_bytes as number) > 0)
})

test('calls/stream_query: include flags add the named values', async (t) => {
  const { post } = await openApp(t)
  const prices = { m: { prompt_token_cost: 0.5, completion_token_cost: 1, effective_date: '2026-01-01' } }
  await post('/cost/create', { project_id: project, costs: prices })
  const calls = await storeCalls(post, { root: { summary: { usage: { m: { prompt_tokens: 4 } } } } })
  const root = calls.id('root')
  await post('/call/start', { start: startOf({ trace_id: root, parent_id: root }) })
  const shown = async (flags: object) =>
    recordsOf(await calls.query({ filter: { call_ids: [root] }, ...flags }))[0] as ReturnType<
      typeof endedRecord
    >

  const plain = await shown({})
  for (const flag of [false, null]) {
    const flags = Object.fromEntries(
      'costs feedback storage_size total_storage_size usernames'
        .split(' ')
        .map((name) => [`include_${name}`, flag]),
    )
    assert.deepEqual(await shown(flags), plain)
  }
  const size = (await shown({ include_storage_size: true })).storage_size_bytes as unknown as number
  assert.ok(size > 0)
  assert.deepEqual(await shown({ include_storage_size: true }), { ...plain, storage_size_bytes: size })
  const childSize = Buffer.byteLength('{}{"question":"capital of Chad"}')
  assert.deepEqual(await shown({ include_total_storage_size: true }), {
    ...plain,
    total_storage_size_bytes: size + childSize,
  })
  assert.deepEqual(await shown({ include_usernames: true }), {
    ...plain,
    svc_username: 'alice',
    wb_username: 'alice',
  })
  const { costs } = (await shown({ include_costs: true })).summary.weave as unknown as {
    costs: Record<string, Record<string, unknown>>
  }
  assert.deepEqual(Object.keys(costs), ['m'])
  assert.equal(costs.m?.prompt_tokens_total_cost, 2)
})

test('calls/stream_query: costs bring the summary that they are shown in', async (t) => {
  const { post } = await openApp(t)
  const prices = { m: { prompt_token_cost: 0.5, completion_token_cost: 1, effective_date: '2026-01-01' } }
  await post('/cost/create', { project_id: project, costs: prices })
  const calls = await storeCalls(post, { root: { summary: { usage: { m: { prompt_tokens: 4 } } } } })
  const summaries = await Promise.all(
    [['id'], ['inputs'], ['summary'], ['id', 'summary_dump'], ['summary.weave.costs']].map(
      async (columns) => {
        const [record] = recordsOf(await calls.query({ columns, include_costs: true }))
        return { summary: record?.summary, ended_at: record?.ended_at }
      },
    ),
  )
  const [whole] = recordsOf(await calls.query({ include_costs: true }))
  for (const one of summaries) assert.deepEqual(one, { summary: whole?.summary, ended_at: whole?.ended_at })
  const summary = whole?.summary as { weave: { costs: object } } | undefined
  assert.deepEqual(Object.keys(summary?.weave.costs ?? {}), ['m'])
})

test('calls/query: the same records as one object', async (t) => {
  const { post } = await openApp(t)
  const calls = await storeCalls(post, { one: {}, two: {}, three: { running: true } })
  for (const body of [
    {},
    { limit: 2, offset: 1 },
    { columns: ['id'] },
    { filter: { call_ids: [calls.id('x')] } },
  ]) {
    assert.deepEqual(whole(await post('/calls/query', { project_id: project, ...body })), {
      status: 200,
      body: { calls: recordsOf(await calls.query(body)) },
    })
  }
  await assertCommonRefusals(t, '/calls/query', { project_id: project })
  const refused = await post('/calls/query', { project_id: project, columns: ['colour'] })
  assert.deepEqual([refused.status, refused.json.code], [422, 'unknown_field'])
})
