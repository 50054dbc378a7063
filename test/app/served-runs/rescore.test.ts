import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openRecord } from '../../../src/storage/open.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { whole } from '../../support/answers.ts'
import { openApp, type TestApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { evaluationRunsOf, root } from '../../support/evaluation-runs.ts'
import { monitorsOf, scoreSchema } from '../../support/monitors.ts'
import { simulatedBackend } from '../../support/simulated-backend.ts'
import { until } from '../../support/wait.ts'

const refOf = (name: string) => `weave:///${project}/object/${name}:latest`

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
type Json = any

/** A finished run over this many rows, as a client asks for it. */
async function finished(opened: TestApp, count: number, scorers: readonly string[] = []): Promise<string> {
  const { post } = opened
  const rows = Array.from({ length: count }, (_, n) => ({ question: `capital ${n}?`, expected: `city ${n}` }))
  assert.equal((await post(`${root}/datasets`, { name: 'capitals', rows })).status, 200)
  const { status, json, text } = await post(`${root}/evaluation_runs/serve`, {
    ...{ name: 'cities', dataset: refOf('capitals'), prompt: '{question}' },
    settings: [{ name: 'plain', request: { temperature: 0 } }],
    scorers: scorers.map((scorer) => ({ scorer })),
  })
  assert.equal(status, 200, text)
  const [run] = json.evaluation_run_ids as [string]
  await ended(opened, run)
  return run
}

const ended = ({ get }: TestApp, run: string) =>
  until(
    `${run} has ended`,
    async () => (await get(`${root}/evaluation_runs/${run}`)).json.status !== 'running',
  )

async function rescored({ post }: TestApp, source: string, scorer_refs: readonly string[]): Promise<string> {
  const body = { project_id: project, source_evaluation_run_id: source, scorer_refs }
  const { status, json, text } = await post('/evaluations/rescore', body)
  assert.equal(status, 200, text)
  assert.equal(json.call_id, json.evaluation_run_id)
  return json.call_id
}

async function callsIn({ post }: TestApp, run: string): Promise<Json[]> {
  const { text } = await post('/calls/stream_query', { project_id: project, filter: { trace_ids: [run] } })
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

const countsIn = (calls: readonly Json[]) =>
  Object.fromEntries([...Map.groupBy(calls, ({ op_name }) => op_name)].map(([op, all]) => [op, all.length]))

async function resultsOf({ post }: TestApp, ids: readonly string[]): Promise<Json> {
  const { status, json, text } = await post(`${root}/eval_results/query`, {
    ...{ evaluation_call_ids: ids, require_intersection: true },
    ...{ include_summary: true, include_raw_data_rows: true, resolve_row_refs: true },
  })
  assert.equal(status, 200, text)
  return json
}

const judge = { prompt: 'Is {output} the {inputs.expected}?', schema: scoreSchema }
const said = ({ constraint }: { constraint?: unknown }) => (constraint ? '{"score": 0.5}' : 'city 1')

test('rescore: invalid requests are refused by the name of the field', async (t) => {
  const body = { project_id: project, source_evaluation_run_id: 'x', scorer_refs: [refOf('short')] }
  await assertCommonRefusals(t, '/evaluations/rescore', body)
  const opened = await openApp(t, { sweep: true, backend: simulatedBackend(t, 'city') })
  const { post } = opened
  const { scorer } = monitorsOf(opened)
  await scorer('short', { check: { kind: 'length', max: 3 } })
  await scorer('coded', { op_source_code: 'def score(): pass' })
  const running = await evaluationRunsOf(opened).run()
  const bare = await evaluationRunsOf(opened).run()
  assert.equal((await post(`${root}/evaluation_runs/${bare}/finish`, {})).status, 200)
  const source_evaluation_run_id = await finished(opened, 1)
  for (const [wrong, status, code, field] of [
    [{ source_evaluation_run_id: 'x' }, 404, 'evaluation_run_not_found', 'source_evaluation_run_id'],
    [{ source_evaluation_run_id: running }, 400, 'invalid_value', 'source_evaluation_run_id'],
    [{ source_evaluation_run_id: bare }, 400, 'invalid_value', 'source_evaluation_run_id'],
    [{ scorer_refs: [refOf('none')] }, 404, 'object_not_found', 'scorer_refs.0'],
    [{ scorer_refs: [refOf('coded')] }, 400, 'scorer_not_runnable', 'scorer_refs.0'],
    [{ scorer_refs: [refOf('short'), refOf('short')] }, 400, 'invalid_value', 'scorer_refs.1'],
    [{ scorer_refs: [] }, 422, 'invalid_request', 'scorer_refs'],
  ] as const) {
    const {
      status: found,
      json,
      text,
    } = await post('/evaluations/rescore', {
      ...{ ...body, source_evaluation_run_id },
      ...wrong,
    })
    assert.deepEqual([found, json.code], [status, code], text)
    assert.match(text, new RegExp(field.replace('.', '\\.')))
  }
})

test('rescore: a new run has the same predictions and the new scores; the model is not asked, the old run stays', async (t) => {
  const backend = simulatedBackend(t, said)
  const opened = await openApp(t, { sweep: true, backend })
  const { scorer } = monitorsOf(opened)
  const old = await scorer('old', { check: { kind: 'contains', any_of: ['city'] } })
  const source = await finished(opened, 3, [old])
  const before = JSON.stringify(await resultsOf(opened, [source]))
  const [asked, judged] = [backend.asked.length, await scorer('good', { judge })]
  const cheap = await scorer('cheap', { check: { kind: 'tokens', max: 1000 } })
  const run = await rescored(opened, source, [judged, cheap])
  await ended(opened, run)
  assert.equal(backend.asked.length, asked + 3)
  assert.ok(backend.asked.every(({ lane }) => lane === 'background'))
  assert.equal(JSON.stringify(await resultsOf(opened, [source])), before)

  const { json } = await opened.post('/evaluations/status', { project_id: project, call_id: run })
  assert.equal(json.status.code, 'complete')
  assert.deepEqual(json.status.output.good, { score: { mean: 0.5 } })
  const calls = await callsIn(opened, run)
  assert.deepEqual(countsIn(calls), {
    'Evaluation.evaluate': 1,
    'Evaluation.predict_and_score': 3,
    'Evaluation.summarize': 1,
    'cities_plain.predict': 3,
    ...{ 'good.score': 3, 'cheap.score': 3, 'heddle.judge': 3 },
  })
  const sources = new Map((await callsIn(opened, source)).map((call) => [call.id, call]))
  for (const call of calls.filter(({ op_name }) => op_name === 'cities_plain.predict')) {
    const { run: of, call: id } = call.attributes.heddle.rescored
    const first = sources.get(id)
    assert.deepEqual([of, call.output, call.inputs], [source, first.output, first.inputs])
    const tookMs = ({ started_at, ended_at }: Json) => Date.parse(ended_at) - Date.parse(started_at)
    assert.ok(Math.abs(tookMs(call) - tookMs(first)) <= 1)
    // They were spent once.
    assert.equal(call.summary.usage, undefined)
  }
  const both = await resultsOf(opened, [source, run])
  assert.equal(both.total_rows, 3)
  const [, summary] = both.summary.evaluations.toSorted((a: Json) =>
    a.evaluation_call_id === source ? -1 : 1,
  )
  assert.deepEqual(
    [summary.display_name, summary.scorer_stats.map(({ scorer_key }: Json) => scorer_key).toSorted()],
    ['cities: plain, rescored', ['cheap', 'cheap', 'good']],
  )
  const evaluation = await opened.post('/obj/read', {
    ...{ project_id: project, object_id: 'cities', digest: 'latest' },
  })
  assert.equal(evaluation.json.obj.val.scorers.length, 2)
  assert.notEqual(summary.evaluation_ref, both.summary.evaluations[0].evaluation_ref)
})

test('rescore: trials of another program with rows of a table, and those that failed', async (t) => {
  const backend = simulatedBackend(t, said)
  const opened = await openApp(t, { sweep: true, backend })
  const { post } = opened
  const rows = [{ expected: 'city 7' }, { expected: 'city 8' }]
  const { json } = await post('/table/create', { table: { project_id: project, rows } })
  const refs = (json.row_digests as string[]).map(
    (digest) => `weave:///${project}/object/data:${'a'.repeat(43)}/attr/rows/id/${digest}`,
  )
  const evaluate = completeOf({ op_name: 'Evaluation.evaluate', inputs: { self: 'E', model: 'M' } })
  const below = (parent_id: string, call: object) =>
    completeOf({ trace_id: evaluate.trace_id, parent_id, ...call })
  const trials = refs.map((example) =>
    below(evaluate.id, {
      op_name: 'Evaluation.predict_and_score',
      inputs: { self: 'E', model: 'M', example },
    }),
  )
  const [first, second] = trials as [Json, Json]
  const batch = [
    ...[evaluate, { ...first, output: { output: 'Paris', scores: {}, model_latency: 0.5 } }, second],
    below(second.id, { op_name: 'M.predict', inputs: { self: 'M' }, output: null, exception: 'no' }),
  ]
  assert.equal((await post(`/v2/${project}/calls/complete`, { batch })).status, 200)
  const good = await monitorsOf(opened).scorer('good', { judge })
  const run = await rescored(opened, evaluate.id, [good])
  await ended(opened, run)
  assert.deepEqual(countsIn(await callsIn(opened, run)), {
    ...{ 'Evaluation.evaluate': 1, 'Evaluation.predict_and_score': 2, 'Evaluation.summarize': 1 },
    ...{ 'Model.predict': 2, 'good.score': 1, 'heddle.judge': 1 },
  })
  const [call] = (await callsIn(opened, run)).filter(({ op_name }) => op_name === 'heddle.judge')
  assert.equal(call.inputs.messages[0].content, 'Is Paris the city 7?')
  const { total_rows, rows: compared } = await resultsOf(opened, [evaluate.id, run])
  assert.equal(total_rows, 2)
  assert.deepEqual(compared.map(({ raw_data_row }: Json) => raw_data_row.expected).toSorted(), [
    'city 7',
    'city 8',
  ])
})

test('rescore: a server that starts again goes on; no trial is lost, none is judged twice', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-rescored-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const open = () => openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 })
  let judged = 0
  let stopping: (() => void) | undefined
  const stopped = new Promise<void>((resolve) => {
    stopping = resolve
  })
  const first = await openApp(t, {
    sweep: true,
    database: await open(),
    backend: simulatedBackend(t, ({ constraint }) => {
      if (constraint && ++judged === 20) stopping?.()
      return constraint ? '{"score": 0.5}' : 'city'
    }),
  })
  const source = await finished(first, 40)
  const good = await monitorsOf(first).scorer('good', { judge })
  const run = await rescored(first, source, [good])
  await stopped
  await first.app.close()
  await first.database.close()
  const again = simulatedBackend(t, said)
  const second = await openApp(t, { sweep: true, database: await open(), backend: again })
  await ended(second, run)
  const calls = await callsIn(second, run)
  assert.deepEqual(countsIn(calls), {
    'Evaluation.evaluate': 1,
    'Evaluation.predict_and_score': 40,
    'Evaluation.summarize': 1,
    'cities_plain.predict': 40,
    ...{ 'good.score': 40, 'heddle.judge': 40 },
  })
  const from = calls.flatMap(({ attributes }) => attributes.heddle?.rescored?.call ?? [])
  assert.equal(new Set(from).size, 40)
  // Those whose answers were written are not asked again.
  assert.ok(again.asked.length <= 40 - 20 + 4, `${again.asked.length} asked again`)
})

test('evaluate_model: an evaluation runs with the settings of a model; others are refused', async (t) => {
  const body = { project_id: project, evaluation_ref: refOf('cities'), model_ref: refOf('cities_plain') }
  await assertCommonRefusals(t, '/evaluations/evaluate_model', body)
  const backend = simulatedBackend(t, said)
  const opened = await openApp(t, { sweep: true, backend })
  const { post } = opened
  const old = await monitorsOf(opened).scorer('old', { check: { kind: 'contains', any_of: ['city'] } })
  await finished(opened, 2, [old])
  const { status, json, text } = await post('/evaluations/evaluate_model', body)
  assert.equal(status, 200, text)
  await ended(opened, json.call_id)
  const calls = await callsIn(opened, json.call_id)
  assert.equal(countsIn(calls)['cities_plain.predict'], 2)
  assert.equal(countsIn(calls)['old.score'], 2)
  assert.equal(calls.find(({ op_name }) => op_name === 'cities_plain.predict').inputs.temperature, 0)
  await post(`${root}/models`, { name: 'coded', source_code: 'x', attributes: {} })
  await post(`${root}/models`, {
    ...{ name: 'foreign', source_code: '' },
    attributes: { prompt: '{question}', request: { model: 'none' } },
  })
  const none = `weave:///${project}/object/capitals:latest`
  await post(`${root}/evaluations`, { name: 'broken', dataset: 'nothing' })
  for (const [wrong, code, field] of [
    [{ model_ref: refOf('coded') }, 400, 'model_ref'],
    [{ model_ref: refOf('foreign') }, 400, 'model_ref'],
    [{ model_ref: none }, 400, 'model_ref'],
    [{ model_ref: 'M' }, 400, 'model_ref'],
    [{ model_ref: refOf('gone') }, 404, 'model_ref'],
    [{ evaluation_ref: none }, 400, 'evaluation_ref'],
    [{ evaluation_ref: refOf('broken') }, 400, 'evaluation_ref'],
    [{ evaluation_ref: refOf('gone') }, 404, 'evaluation_ref'],
  ] as const) {
    const answer = await post('/evaluations/evaluate_model', { ...body, ...wrong })
    assert.equal(answer.status, code, answer.text)
    assert.ok(answer.json.reason.startsWith(`${field}:`), answer.text)
  }
})

test('calls/score: every scorer scores every call once, in the background', async (t) => {
  const backend = simulatedBackend(t, said)
  const opened = await openApp(t, { sweep: true, backend })
  const { post } = opened
  const { scorer, calls, scores, judgeCalls } = monitorsOf(opened)
  const good = await scorer('good', { judge: { prompt: '{output}', schema: scoreSchema } })
  const short = await scorer('short', { check: { kind: 'length', max: 3 } })
  const ids = await calls({ output: 'yes' }, { output: 'no, not at all' })
  const body = { project_id: project, call_ids: ids, scorer_refs: [good, short] }
  await assertCommonRefusals(t, '/calls/score', body)
  for (const [wrong, code, field] of [
    [{ call_ids: [...ids, 'gone'] }, 'call_not_found', 'call_ids.2'],
    [{ scorer_refs: [refOf('none')] }, 'object_not_found', 'scorer_refs.0'],
  ] as const) {
    const { status, json } = await post('/calls/score', { ...body, ...wrong })
    assert.deepEqual([status, json.code], [404, code])
    assert.ok(json.reason.startsWith(`${field}:`), json.reason)
  }
  assert.deepEqual(whole(await post('/calls/score', { ...body, call_ids: [...ids, ...ids] })), {
    status: 200,
    body: {},
  })
  await until('nothing is left to do', async () => {
    return (await opened.database.get(sql`SELECT run_id FROM served_runs`)) === undefined
  })
  const [first = '', second = ''] = ids
  assert.deepEqual(await scores(first, 2), { good: { score: 0.5 }, short: { passed: true, length: 3 } })
  assert.deepEqual(await scores(second, 2), { good: { score: 0.5 }, short: { passed: false, length: 14 } })
  assert.equal((await judgeCalls()).length, 2)
  assert.ok(backend.asked.every(({ lane }) => lane === 'background'))
})

test('a judge whose answer was written is not asked again when its score was not', async (t) => {
  const { database } = await openApp(t)
  let isLost = false
  const write = (async (name: string, given: Json) => {
    if (name === 'addFeedback' && !isLost) {
      isLost = true
      throw new Error('the server is killed here')
    }
    return database.write(name as 'addFeedback', given)
  }) as typeof database.write
  const backend = simulatedBackend(t, said)
  const opened = await openApp(t, { sweep: true, backend, database: { ...database, write } })
  const { scorer, calls, scores, judgeCalls } = monitorsOf(opened)
  const good = await scorer('good', { judge: { prompt: '{output}', schema: scoreSchema } })
  const [call = ''] = await calls({ output: 'yes' })
  const body = { project_id: project, call_ids: [call], scorer_refs: [good] }
  assert.equal((await opened.post('/calls/score', body)).status, 200)
  await until('the score is lost', async () => isLost)
  const rows = sql`SELECT project_id, run_id, held_by AS holder FROM served_runs`
  const [run] = await database.all<{ project_id: string; run_id: string; holder: string }>(rows)
  assert.ok(run)
  // Its hold ends, as it does some time after a kill.
  await database.write('holdServedRun', { ...run, until: 0 })
  assert.deepEqual(await scores(call, 1), { good: { score: 0.5 } })
  assert.equal(backend.asked.length, 1)
  assert.equal((await judgeCalls()).length, 1)
})

test('a server without a model runs checks, and refuses judges', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, calls, scores } = monitorsOf(opened)
  const good = await scorer('good', { judge: { prompt: '{output}', schema: scoreSchema } })
  const short = await scorer('short', { check: { kind: 'length', max: 3 } })
  const [call = ''] = await calls({ output: 'yes' })
  const body = { project_id: project, call_ids: [call] }
  const refused = await opened.post('/calls/score', { ...body, scorer_refs: [good] })
  assert.deepEqual([refused.status, refused.json.code], [503, 'model_not_ready'])
  // What only a process with a model can do is left to it.
  const judged = JSON.stringify({ calls: [call], scorers: [{ name: 'good', ref: good, kind: 'judge' }] })
  const waiting = {
    ...{ project_id: project, run_id: 'judged', runs_as: 'alice', plan: judged, trials: 1, position: 0 },
    ...{ stopped: 0, held_by: null, held_until: 0, turn_at: 0 },
  }
  await opened.database.write('addServedRuns', { calls: [], runs: [waiting] })
  assert.equal((await opened.post('/calls/score', { ...body, scorer_refs: [short] })).status, 200)
  assert.deepEqual(await scores(call, 1), { short: { passed: true, length: 3 } })
  const left = await opened.database.all<{ position: number }>(
    sql`SELECT position FROM served_runs WHERE run_id = ${'judged'}`,
  )
  assert.deepEqual(
    left.map(({ position }) => position),
    [0],
  )
})
