import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TraceColumns } from '../../../src/operations/views/trace-contract.ts'
import { traceReader } from '../../../ui/server/trace-columns.ts'
import { codexTurn } from '../../fixtures/codex-turn.ts'
import { conventions } from '../../fixtures/conventions.ts'
import { recordsOf } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { completeOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { giveFeedback } from '../../support/feedback.ts'
import { attributesOf, exportOf, otlpTraceId, spanOf } from '../../support/otlp.ts'
import { pricesOf } from '../../support/prices.ts'

const url = '/views/trace'
const trace_id = 'a'.repeat(32)
const id = (index: number) => String(index).padStart(16, '0')

test('views/trace: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, url, { project_id: project, trace_id })
  const { post } = await openApp(t)
  for (const [body, status, code] of [
    [{ limit: 0 }, 422, 'invalid_request'],
    [{ layout: 'tree' }, 422, 'invalid_request'],
    [{ limit: 50_001 }, 422, 'invalid_request'],
    [{ trace_id: 'a\0' }, 422, 'invalid_request'],
    [{ project_id: 'globex/qa' }, 403, 'entity_forbidden'],
  ] as const) {
    const answer = await post(url, { project_id: project, trace_id, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('the calls of a trace are listed by start, without inputs and output', async (t) => {
  const { post } = await openApp(t)
  const call = (index: number, more: object = {}) =>
    completeOf({
      id: id(index),
      trace_id,
      parent_id: index === 0 ? null : id(0),
      started_at: `2026-01-02T03:04:0${index}Z`,
      ended_at: `2026-01-02T03:04:0${index}.5Z`,
      ...more,
    })
  const usage = { small: { prompt_tokens: 10, completion_tokens: 5 } }
  await post('/cost/create', pricesOf({ small: { prompt_token_cost: 0.1, completion_token_cost: 0.2 } }))
  const batch = [
    call(2, { summary: { usage } }),
    call(1, {
      exception: 'Error: too slow',
      display_name: 'Look it up',
      attributes: { gen_ai: { operation: { name: 'execute_tool' } } },
    }),
    call(0, { summary: { status_counts: { error: 1 } } }),
    call(3, { id: id(9), trace_id: 'b'.repeat(32) }),
  ]
  const written = await post(`/v2/${project}/calls/complete`, { batch })
  assert.equal(written.status, 200, written.text)
  const reaction = { feedback_type: 'wandb.reaction.1', payload: { emoji: '👎' } }
  const said = await post('/feedback/create', {
    project_id: project,
    weave_ref: `weave:///${project}/call/${id(1)}`,
    ...reaction,
  })
  assert.equal(said.status, 200, said.text)

  const rows = recordsOf(await post(url, { project_id: project, trace_id }))
  assert.deepEqual(
    rows.map((row) => [row.id, row.parent_id, row.status, row.display_name, row.cost, row.feedback]),
    [
      [id(0), null, 'descendant_error', null, null, 0],
      [id(1), id(0), 'error', 'Look it up', null, 1],
      [id(2), id(0), 'success', null, 2, 0],
    ],
  )
  assert.deepEqual(
    rows.map((row) => [row.kind, row.input_tokens, row.output_tokens]),
    [
      [null, null, null],
      ['tool', null, null],
      ['model', 10, 5],
    ],
  )
  assert.deepEqual(
    [rows[1]?.started_at, rows[1]?.ended_at],
    ['2026-01-02T03:04:01Z', '2026-01-02T03:04:01.500Z'],
  )
  assert.ok(Number(rows[0]?.storage_size_bytes) > 0)
  for (const row of rows) assert.ok(!('inputs' in row) && !('summary' in row))
  assert.equal(recordsOf(await post(url, { project_id: project, trace_id, limit: 1 })).length, 1)

  await post('/calls/delete', { project_id: project, call_ids: [id(2)] })
  assert.equal(recordsOf(await post(url, { project_id: project, trace_id })).length, 2)
  assert.deepEqual(recordsOf(await post(url, { project_id: project, trace_id: 'none' })), [])
})

test('the columns of a trace equal its rows, over several lines and for calls in any order', async (t) => {
  const { post } = await openApp(t)
  const count = 2_500
  const batch = Array.from({ length: count }, (_, index) =>
    completeOf({
      id: id(index),
      trace_id,
      // Some have a parent that starts later, and some a parent that does not exist.
      parent_id: index % 5 === 0 ? id(count - index) : index % 7 === 0 ? 'f'.repeat(16) : id(index >> 1),
      op_name: `op${index % 3}`,
      display_name: [null, '', '=', `call ${index % 11}`][index % 4],
      // Clocks differ, and one is before 1970.
      started_at: new Date(index === 0 ? -1_000 : Date.UTC(2026, 0, 2) + (index >> 2)).toISOString(),
      ended_at: new Date(Date.UTC(2026, 0, 2) + (index >> 2) + (index % 9) - 1).toISOString(),
      exception: index % 13 === 0 ? 'Error: no' : null,
      attributes: index % 19 === 0 ? { weave: { kind: 'agent' } } : {},
      summary: index % 17 === 0 ? { usage: { small: { prompt_tokens: index } } } : {},
    }),
  )
  await post('/cost/create', pricesOf({ small: { prompt_token_cost: 0.1, completion_token_cost: 0.2 } }))
  for (let from = 0; from < count; from += 1_000) {
    const part = { batch: batch.slice(from, from + 1_000) }
    const written = await post(`/v2/${project}/calls/complete`, part)
    assert.equal(written.status, 200, written.text)
  }
  const running = startOf({
    id: id(count),
    trace_id,
    op_name: 'op0',
    started_at: '2026-02-02T00:00:00.000001Z',
  })
  await post('/call/start', { start: running })
  await giveFeedback(post, { svc_ref: `weave:///${project}/call/${id(2_000)}` })

  const rows = recordsOf(await post(url, { project_id: project, trace_id }))
  const lines = recordsOf(await post(url, { project_id: project, trace_id, layout: 'columns' }))
  const { rows: shown, read } = traceReader()
  for (const line of lines) read(TraceColumns.parse(line))
  assert.equal(rows.length, count + 1)
  assert.deepEqual(
    shown.map(({ start, end, ...row }) => ({
      ...row,
      started_at: Math.floor(start),
      ended_at: end === null ? null : Math.floor(end),
    })),
    rows.map(({ started_at, ended_at, ...row }) => ({
      ...row,
      started_at: Date.parse(String(started_at)),
      ended_at: ended_at === null ? null : Date.parse(String(ended_at)),
    })),
  )
  assert.equal(shown.at(-1)?.start, Date.UTC(2026, 1, 2) + 0.001)
})

test('spans that say nothing are inner steps, of whatever convention; calls of Weave never are', async (t) => {
  const { post } = await openApp(t)
  const bare = spanOf({ 'http.request.method': 'GET' }, { name: 'GET /', spanId: id(99) })
  const spoken = conventions.map(({ attributes, events = [] }, index) =>
    spanOf(attributes, {
      spanId: id(index + 1),
      name: `span ${index}`,
      events: events.map((event) => ({ name: event.name, attributes: attributesOf(event.attributes) })),
    }),
  )
  for (const spans of [[bare, ...spoken], codexTurn(trace_id, 400)]) {
    const sent = await post('/otel/v1/traces', exportOf(spans))
    assert.deepEqual([sent.status, sent.text], [200, '{}'])
  }
  const call = completeOf({ id: id(98), trace_id: otlpTraceId, inputs: {}, output: null })
  assert.equal((await post(`/v2/${project}/calls/complete`, { batch: [call] })).status, 200)

  const innerOf = async (trace: string) =>
    recordsOf(await post(url, { project_id: project, trace_id: trace })).filter((row) => row.is_inner_step)
  const ofCodex = conventions.findIndex(({ of }) => of === 'Codex') + 1
  assert.deepEqual((await innerOf(otlpTraceId)).map((row) => row.id).toSorted(), [id(ofCodex), id(99)])
  const inner = await innerOf(trace_id)
  // One of the steps only stays because it failed.
  assert.equal(inner.length, 401)
  const columns = await post(url, { project_id: project, trace_id, layout: 'columns' })
  const { rows, read } = traceReader()
  for (const line of recordsOf(columns)) read(TraceColumns.parse(line))
  assert.equal(rows.filter(({ is_inner_step }) => is_inner_step).length, 401)
  assert.deepEqual(
    rows.flatMap(({ kind, op_name }) => (kind === null ? [] : [`${kind} ${op_name}`])),
    ['model handle_responses', 'tool exec_command'],
  )
})
