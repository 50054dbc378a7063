import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openRecord } from '../../../src/storage/open.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { whole } from '../../support/answers.ts'
import { openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { evaluationRunsOf, root } from '../../support/evaluation-runs.ts'
import { monitorsOf, scoreSchema } from '../../support/monitors.ts'
import { simulatedBackend } from '../../support/simulated-backend.ts'
import { until } from '../../support/wait.ts'

const url = `${root}/evaluation_runs/serve`
const dataset = `weave:///${project}/object/capitals:latest`
const settings = [{ name: 'plain' }]

async function makeDataset({ post }: TestApp, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({ question: `capital ${n}?`, expected: `city ${n}` }))
  assert.equal((await post(`${root}/datasets`, { name: 'capitals', rows })).status, 200)
}

async function start({ post }: TestApp, body: object): Promise<string[]> {
  const { status, json, text } = await post(url, { name: 'cities', dataset, settings, ...body })
  assert.equal(status, 200, text)
  return json.evaluation_run_ids
}

const ended = ({ get }: TestApp, run: string) =>
  until(
    `${run} has ended`,
    async () => (await get(`${root}/evaluation_runs/${run}`)).json.status !== 'running',
  )

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
async function callsIn({ post }: TestApp, run: string): Promise<any[]> {
  const { text } = await post('/calls/stream_query', { project_id: project, filter: { trace_ids: [run] } })
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

test('serve: invalid requests are refused before anything is written', async (t) => {
  await assertCommonRefusals(t, url, { name: 'x', dataset, settings })
  const opened = await openApp(t, { backend: simulatedBackend(t, 'city') })
  const { post } = opened
  await makeDataset(opened, 2)
  await monitorsOf(opened).scorer('short', { check: { kind: 'length', max: 3 } })
  for (const [body, field] of [
    [{ dataset: `weave:///${project}/object/short:latest` }, 'dataset'],
    [{ dataset: 'capitals' }, 'dataset'],
    [{ prompt: '{question' }, 'prompt'],
    [{ prompt: '{nothing}' }, 'prompt'],
    [{}, 'dataset'],
    [{ prompt: '{question}', settings: [...settings, ...settings] }, 'settings.1.name'],
    [
      { prompt: '{question}', settings: [{ name: 'a', request: { stream: true } }] },
      'settings.0.request.stream',
    ],
    [{ prompt: '{question}', settings: [{ name: 'a', request: { temperature: -1 } }] }, 'settings.0.request'],
    [{ prompt: '{question}', settings: [{ name: 'a', request: { model: 'none' } }] }, 'settings.0.request'],
    [{ prompt: '{question}', split: { column: 'split', value: 'test' } }, 'split.value'],
    [{ prompt: '{question}', repeats: 1000, settings: Array(10).fill({ name: 'a' }) }, 'settings.1.name'],
  ] as const) {
    const { status, json } = await post(url, { name: 'cities', dataset, settings, ...body })
    assert.deepEqual([status, json.code], [400, 'invalid_value'], JSON.stringify(body))
    assert.ok(json.reason.startsWith(`${field}:`), json.reason)
  }
  const { status, json } = await post(url, {
    name: 'x',
    dataset: `weave:///${project}/object/no:v0`,
    settings,
  })
  assert.deepEqual([status, json.code], [404, 'object_not_found'])
  assert.equal((await post('/views/evaluations', { project_id: project })).json.total, 0)
  assert.equal((await post(`${root}/evaluation_runs/x/stop`, {})).json.code, 'evaluation_run_not_found')
})

test('a run asks about each row, scores each answer, and ends with the means', async (t) => {
  const backend = simulatedBackend(t, ({ constraint }) => (constraint ? '{"score": 0.5}' : 'city 1'))
  const opened = await openApp(t, { sweep: true, backend })
  const { scorer } = monitorsOf(opened)
  await makeDataset(opened, 3)
  const judge = { prompt: 'Is {answer} the {inputs.expected} of {question}?', schema: scoreSchema }
  const scorers = [
    await scorer('right', { check: { kind: 'contains', any_of: ['city'] } }),
    await scorer('good', {
      judge,
      fields: { question: 'inputs.messages.1.content', answer: 'output.choices.0.message.content' },
    }),
    await scorer('lost', { check: { kind: 'length', max: 9, field: 'inputs.nothing' } }),
  ]
  const [plain = '', cold = ''] = await start(opened, {
    prompt: 'Name it: {question}',
    scorers: scorers.map((one) => ({ scorer: one })),
    settings: [
      { name: 'plain', system: 'Be brief.' },
      { name: 'cold', system: 'Be brief.', request: { temperature: 0.25, max_tokens: 9 } },
    ],
    repeats: 2,
  })
  await ended(opened, plain)
  await ended(opened, cold)
  const { status, json } = await opened.post('/evaluations/status', { project_id: project, call_id: cold })
  assert.equal(status, 200)
  assert.deepEqual(json.status.output, { right: { passed: { mean: 1 } }, good: { score: { mean: 0.5 } } })
  const calls = await callsIn(opened, cold)
  const predictions = calls.filter(({ op_name }) => op_name.endsWith('.predict'))
  assert.deepEqual(
    predictions.map(({ inputs }) => inputs.messages[1].content).toSorted(),
    [0, 0, 1, 1, 2, 2].map((n) => `Name it: capital ${n}?`),
  )
  const [first] = predictions
  assert.deepEqual(
    [first.output, first.inputs.temperature, first.inputs.messages[0], Object.keys(first.summary.usage)],
    ['city 1', 0.25, { role: 'system', content: 'Be brief.' }, ['played']],
  )
  // A scorer that cannot score says why in its call.
  const lost = calls.filter(({ op_name }) => op_name === 'lost.score')
  assert.equal(lost.length, 6)
  assert.equal(lost[0].exception, 'the call has no value at inputs.nothing')
  const judged = calls.filter(({ op_name }) => op_name === 'heddle.judge')
  assert.equal(judged.length, 6)
  assert.match(judged[0].inputs.messages[0].content, /^Is city 1 the city \d of Name it: capital \d\?\?$/)
  const list = (await opened.post('/views/evaluations', { project_id: project })).json.evaluations
  assert.deepEqual(
    list.map((one: Record<string, unknown>) => [
      one.display_name,
      one.trial_count,
      one.row_count,
      one.status,
    ]),
    [
      ['cities: cold', 6, 3, 'success'],
      ['cities: plain', 6, 3, 'success'],
    ],
  )
  assert.ok(backend.asked.every(({ lane }) => lane === 'background'))
})

test('a run of a split asks its rows alone, whatever is added to the dataset meanwhile', async (t) => {
  const opened = await openApp(t, { sweep: true, backend: simulatedBackend(t, 'city') })
  const rows = Array.from({ length: 7 }, (_, n) => ({
    question: `capital ${n}?`,
    split: n % 3 ? 'train' : 'test',
  }))
  await opened.post(`${root}/datasets`, { name: 'capitals', rows })
  const body = { prompt: '{question}', repeats: 2, settings: [...settings, { name: 'other' }] }
  const runs = await start(opened, { ...body, split: { column: 'split', value: 'test' } })
  await opened.post(`${root}/datasets`, { name: 'capitals', rows: rows.slice(0, 1) })
  for (const run of runs) {
    await ended(opened, run)
    const asked = (await callsIn(opened, run)).flatMap(({ op_name, inputs }) =>
      op_name.endsWith('.predict') ? [inputs.inputs.question] : [],
    )
    assert.deepEqual(
      asked.sort(),
      [0, 0, 3, 3, 6, 6].map((n) => `capital ${n}?`),
    )
  }
  const whole = await start(opened, {
    prompt: '{question}',
    dataset: `weave:///${project}/object/capitals:v0`,
  })
  await ended(opened, whole[0] ?? '')
  const evaluationOf = async (run: string) =>
    (await opened.get(`${root}/evaluation_runs/${run}`)).json.evaluation
  assert.notEqual(await evaluationOf(whole[0] ?? ''), await evaluationOf(runs[0] ?? ''))
})

test('rows with a conversation are asked as they are; a row without one fails alone', async (t) => {
  const opened = await openApp(t, { sweep: true, backend: simulatedBackend(t, 'yes') })
  const messages = [{ role: 'user', content: 'well?' }]
  const rows = [{ messages }, { question: 'no messages' }]
  await opened.post(`${root}/datasets`, { name: 'capitals', rows })
  const [run = ''] = await start(opened, {})
  await ended(opened, run)
  const predictions = (await callsIn(opened, run)).filter(({ op_name }) => op_name.endsWith('.predict'))
  assert.deepEqual(predictions.map(({ output, exception }) => [output, exception ?? null]).toSorted(), [
    [null, 'the row has no conversation at messages'],
    ['yes', null],
  ])
  const [listed] = (await opened.post('/views/evaluations', { project_id: project })).json.evaluations
  assert.deepEqual([listed.trial_count, listed.failed_trial_count], [2, 1])
})

test('a server that starts again continues a run: every trial once, none lost', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-served-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const open = () => openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 })
  let answered = 0
  let stopping: (() => void) | undefined
  const stopped = new Promise<void>((resolve) => {
    stopping = resolve
  })
  const first = await openApp(t, {
    sweep: true,
    database: await open(),
    backend: simulatedBackend(t, () => {
      if (++answered === 20) stopping?.()
      return 'city'
    }),
  })
  await makeDataset(first, 40)
  const right = await monitorsOf(first).scorer('right', { check: { kind: 'contains', any_of: ['city'] } })
  const [run = ''] = await start(first, { prompt: '{question}', scorers: [{ scorer: right }] })
  await stopped
  await first.app.close()
  await first.database.close()
  const second = await openApp(t, {
    sweep: true,
    database: await open(),
    backend: simulatedBackend(t, 'city'),
  })
  await ended(second, run)
  const calls = await callsIn(second, run)
  const counts = Map.groupBy(calls, ({ op_name }) => op_name)
  assert.deepEqual(Object.fromEntries([...counts].map(([op, all]) => [op, all.length])), {
    'Evaluation.evaluate': 1,
    'Evaluation.predict_and_score': 40,
    'cities_plain.predict': 40,
    'right.score': 40,
    'Evaluation.summarize': 1,
  })
  assert.ok(calls.every(({ ended_at }) => ended_at))
  const asked = calls.flatMap(({ op_name, inputs }) =>
    op_name === 'cities_plain.predict' ? [inputs.inputs.question] : [],
  )
  assert.equal(new Set(asked).size, 40)
})

test('stop: no further trial begins, and the run ends with those that exist', async (t) => {
  const opened = await openApp(t, { sweep: true, backend: simulatedBackend(t, 'city') })
  await makeDataset(opened, 2)
  const [run = ''] = await start(opened, { prompt: '{question}', repeats: 1000 })
  await until('a trial', async () => (await callsIn(opened, run)).length > 2)
  assert.deepEqual(whole(await opened.post(`${root}/evaluation_runs/${run}/stop`, {})), {
    status: 200,
    body: { success: true },
  })
  await ended(opened, run)
  const { json } = await opened.get(`${root}/evaluation_runs/${run}`)
  assert.deepEqual(json.summary, { stopped: true })
  const trials = (await callsIn(opened, run)).filter(({ op_name }) => op_name.endsWith('predict_and_score'))
  assert.ok(trials.length > 0 && trials.length < 2000)
  // Stopping what is over changes nothing.
  assert.equal((await opened.post(`${root}/evaluation_runs/${run}/stop`, {})).status, 200)
})

/** Rows that no process holds, as the command stores them. */
const waiting = (run_id: string, runs_as: string, turn_at: number) => ({
  ...{ project_id: project, run_id, runs_as, turn_at, plan: '{}', trials: 1, position: 0, stopped: 0 },
  ...{ held_by: null, held_until: 0 },
})

test('users take turns, however many runs one of them has', async (t) => {
  const { database } = await openApp(t)
  const ofAlice = ['a1', 'a2', 'a3'].map((id, index) => waiting(id, 'alice', index))
  await database.write('addServedRuns', { calls: [], runs: [...ofAlice, waiting('b1', 'bob', 10)] })
  const taken: (string | undefined)[] = []
  for (let now = 20; now < 24; now++) {
    const run = await database.write('takeServedRun', { holder: 'process', now, until: now })
    taken.push(run?.run_id)
  }
  assert.deepEqual(taken, ['a1', 'b1', 'a2', 'b1'])
})

test('a run ends when its user has no access to the project any more', async (t) => {
  const backend = simulatedBackend(t, 'city')
  const opened = await openApp(t, { backend, sweep: true })
  const run_id = await evaluationRunsOf(opened).run()
  await opened.database.write('addServedRuns', { calls: [], runs: [waiting(run_id, 'bob', 1)] })
  await until('the run is dropped', async () => {
    return (await opened.database.get(sql`SELECT run_id FROM served_runs`)) === undefined
  })
  assert.equal(backend.asked.length, 0)
})
