import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { newId } from '../../../src/domain/ids.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import { openRecord } from '../../../src/storage/open.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { evaluationRunsOf, root } from '../../support/evaluation-runs.ts'
import { monitorsOf, scoreSchema } from '../../support/monitors.ts'
import { type SimulatedBackend, simulatedBackend } from '../../support/simulated-backend.ts'
import { until } from '../../support/wait.ts'
import { holdAnswers } from '../slow-answers.ts'

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
    [{ prompt: '{question}', settings: [{ name: 'a', request: { temprature: 0 } }] }, 'settings.0.request'],
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
  // A model may break its lines: what is read as JSON Lines has none of them.
  const backend = simulatedBackend(t, ({ constraint }) => (constraint ? '{"score": 0.5\n }' : 'city 1'))
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
  const scores = await opened.get(`${root}/scores?evaluation_run_id=${cold}`)
  const values = scores.text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).value)
  assert.equal(values.filter((value) => value?.score === 0.5).length, 6)
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

test('resume: a run that was stopped, resumed and cut off by a crash has every row once', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-served-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const open = () => openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 })
  const backend = simulatedBackend(t, 'city')
  const held = heldAfter(backend, 10)
  const first = await openApp(t, { sweep: true, database: await open(), backend })
  await makeDataset(first, 40)
  const right = await monitorsOf(first).scorer('right', { check: { kind: 'contains', any_of: ['city'] } })
  const [run = ''] = await start(first, { prompt: '{question}', scorers: [{ scorer: right }] })
  await until('answers are in flight', () => held.asked() === 14)
  await first.post(`${root}/evaluation_runs/${run}/stop`, {})
  await first.app.close()
  // The answers in flight are lost with the process.
  await first.database.close()
  const cut = simulatedBackend(t, 'city')
  const heldAgain = heldAfter(cut, 10)
  const second = await openApp(t, { sweep: true, database: await open(), backend: cut })
  await ended(second, run)
  assert.equal(cut.asked.length, 0)
  assert.equal((await resume(second, run)).status, 200)
  await until('answers are in flight', () => heldAgain.asked() === 14)
  await second.app.close()
  await second.database.close()
  const third = await openApp(t, {
    sweep: true,
    database: await open(),
    backend: simulatedBackend(t, 'city'),
  })
  await ended(third, run)
  assert.deepEqual(countsIn(await callsIn(third, run)), allOnce)
})

test('a run asks as many rows at the same time as it says, also after a restart and when it is resumed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-served-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const open = async () => {
    const backend = simulatedBackend(t, 'city')
    const held = heldAfter(backend, 0)
    const database = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 })
    return { held, ...(await openApp(t, { sweep: true, database, backend })), database }
  }
  const first = await open()
  await makeDataset(first, 20)
  const tooMany = await first.post(url, {
    name: 'cities',
    dataset,
    settings,
    prompt: '{question}',
    concurrency: 17,
  })
  assert.equal(tooMany.status, 422)
  assert.match(tooMany.text, /concurrency/)
  const [run = ''] = await start(first, { prompt: '{question}', concurrency: 7 })
  await until('answers are in flight', () => first.held.asked() === 7)
  await first.app.close()
  await first.database.close()
  const second = await open()
  await until('answers are in flight', () => second.held.asked() === 7)
  assert.equal((await second.post(`${root}/evaluation_runs/${run}/stop`, {})).status, 200)
  second.held.goOn()
  await ended(second, run)
  assert.equal(second.held.asked(), 7)
  await second.app.close()
  await second.database.close()
  const third = await open()
  assert.equal((await resume(third, run)).status, 200)
  await until('answers are in flight', () => third.held.asked() === 7)
  third.held.goOn()
  await ended(third, run)
  assert.equal(
    (await callsIn(third, run)).filter(({ op_name }) => op_name === 'cities_plain.predict').length,
    20,
  )
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

const resume = ({ post }: TestApp, run: string, key?: string) =>
  post(`${root}/evaluation_runs/${run}/resume`, {}, key)

/** The model answers this many times at once, and then waits until it may go on. */
function heldAfter(backend: SimulatedBackend, count: number) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { generate } = backend
  let asked = 0
  backend.generate = async (request, signal) => {
    if (++asked > count) await Promise.race([promise, once(signal, 'abort')])
    return generate(request, signal)
  }
  return { asked: () => asked, goOn: () => resolve() }
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
const countsIn = (calls: readonly any[]) =>
  Object.fromEntries([...Map.groupBy(calls, ({ op_name }) => op_name)].map(([op, all]) => [op, all.length]))

const allOnce = {
  'Evaluation.evaluate': 1,
  'Evaluation.predict_and_score': 40,
  'cities_plain.predict': 40,
  'right.score': 40,
  'Evaluation.summarize': 1,
}

test('resume: a stopped run goes on, every row is asked and scored once, and it ends with the means of all', async (t) => {
  const backend = simulatedBackend(t, 'city')
  const held = heldAfter(backend, 10)
  const opened = await openApp(t, { sweep: true, backend })
  await makeDataset(opened, 20)
  const right = await monitorsOf(opened).scorer('right', { check: { kind: 'contains', any_of: ['city'] } })
  const [run = ''] = await start(opened, { prompt: '{question}', scorers: [{ scorer: right }], repeats: 2 })
  await until('answers are in flight', () => held.asked() === 14)
  assert.equal((await resume(opened, run)).status, 200)
  assert.equal((await opened.post(`${root}/evaluation_runs/${run}/stop`, {})).status, 200)
  const early = await resume(opened, run)
  assert.deepEqual([early.status, early.json.code], [409, 'evaluation_run_not_resumable'])
  assert.match(early.json.reason, /still being stopped/)
  held.goOn()
  await ended(opened, run)
  // What was in flight is finished.
  assert.equal(countsIn(await callsIn(opened, run))['cities_plain.predict'], 14)
  const both = await Promise.all([resume(opened, run), resume(opened, run)])
  assert.deepEqual(both.map(whole), Array(2).fill({ status: 200, body: { success: true } }))
  await ended(opened, run)
  const { json } = await opened.get(`${root}/evaluation_runs/${run}`)
  assert.deepEqual(
    [json.status, json.summary, json.output],
    ['completed', {}, { right: { passed: { mean: 1 } } }],
  )
  assert.deepEqual(countsIn(await callsIn(opened, run)), allOnce)
  assert.equal(backend.asked.length, 40)
  const list = (await opened.post('/views/evaluations', { project_id: project })).json.evaluations
  assert.deepEqual([list[0].trial_count, list[0].row_count, list[0].status], [40, 20, 'success'])
  const over = await resume(opened, run)
  assert.deepEqual([over.status, over.json.code], [409, 'evaluation_run_not_resumable'])
})

test('resume: the failed rows of a finished run are asked again, and the later answer counts', async (t) => {
  const backend = simulatedBackend(t, 'city')
  const { generate } = backend
  let refused = 0
  backend.generate = async (...request) => {
    if (refused++ % 3 === 0) throw refuse('invalid_value', { field: 'x', received: 'y', accepted: 'z' })
    return generate(...request)
  }
  const opened = await openApp(t, { sweep: true, backend })
  await makeDataset(opened, 40)
  const right = await monitorsOf(opened).scorer('right', { check: { kind: 'contains', any_of: ['city'] } })
  const [run = ''] = await start(opened, { prompt: '{question}', scorers: [{ scorer: right }] })
  const countFailed = async () => {
    await ended(opened, run)
    const [listed] = (await opened.post('/views/evaluations', { project_id: project })).json.evaluations
    assert.deepEqual([listed.trial_count, listed.row_count], [40, 40])
    return listed.failed_trial_count
  }
  for (const failed of [14, 5, 2, 1]) {
    assert.equal(await countFailed(), failed)
    refused = 0
    assert.equal((await resume(opened, run)).status, 200)
  }
  // The last row that failed is the first that is asked again.
  assert.equal(await countFailed(), 1)
  backend.generate = generate
  assert.equal((await resume(opened, run)).status, 200)
  assert.equal(await countFailed(), 0)
  const calls = await callsIn(opened, run)
  assert.deepEqual(countsIn(calls), allOnce)
  const predictions = calls.filter(({ op_name }) => op_name === 'cities_plain.predict')
  assert.equal(new Set(predictions.map(({ inputs }) => inputs.inputs.question)).size, 40)
  assert.ok(predictions.every(({ output, exception }) => output === 'city' && !exception))
})

test('resume: only for those who may ask models there, and only for runs of the server', async (t) => {
  const opened = await openApp(t, { sweep: true, backend: simulatedBackend(t, 'city') })
  await makeDataset(opened, 1)
  const [run = ''] = await start(opened, { prompt: '{question}' })
  await ended(opened, run)
  assert.equal((await resume(opened, run, keys.bob)).status, 403)
  assert.equal((await resume(opened, 'x')).json.code, 'evaluation_run_not_found')
  const own = evaluationRunsOf(opened)
  const recorded = await own.run()
  assert.match((await resume(opened, recorded)).json.reason, /does not carry it out/)
  await own.finishRun(recorded)
  assert.match((await resume(opened, recorded)).json.reason, /did not carry it out/)
})

test('resume: attributes that a client wrote are checked', async (t) => {
  const opened = await openApp(t, { sweep: true, backend: simulatedBackend(t, 'city') })
  await makeDataset(opened, 3)
  const [run = ''] = await start(opened, { prompt: '{question}' })
  await ended(opened, run)
  const [root] = (await callsIn(opened, run)).filter(({ id }) => id === run)
  const written = async (heddle: object) => {
    const id = newId()
    const { op_name, started_at, ended_at, inputs, attributes } = root as Record<string, unknown>
    const call = { project_id: project, id, trace_id: id, op_name, started_at, inputs }
    const own = { ...(attributes as object), heddle }
    assert.equal((await opened.post('/call/start', { start: { ...call, attributes: own } })).status, 200)
    const end = { project_id: project, id, ended_at, summary: { stopped: true } }
    assert.equal((await opened.post('/call/end', { end })).status, 200)
    const { status, json } = await resume(opened, id)
    assert.equal(status, 409, JSON.stringify(json))
    return json.reason
  }
  for (const retries of [1e9, -1, 'x']) {
    assert.match(await written({ served_run: { scorers: [], retries } }), /at most 100 times/)
  }
  assert.match(await written({ served_run: { scorers: [], pinned: 'x' } }), /rows or its prompt are others/)
  const rescored = { run: newId() }
  assert.match(await written({ rescored, served_run: { scorers: [] } }), /scores again is gone/)
  assert.match(await written({ rescored: { run }, served_run: { scorers: 'x' } }), /scorers are not known/)
})

test('resume: a rescoring that was stopped goes on; a run whose rows were deleted does not', async (t) => {
  const backend = simulatedBackend(t, ({ constraint }) => (constraint ? '{"score": 0.5}' : 'city'))
  const opened = await openApp(t, { sweep: true, backend })
  await makeDataset(opened, 20)
  const judge = await monitorsOf(opened).scorer('good', {
    judge: { prompt: 'Is {output} right?', schema: scoreSchema },
  })
  const [source = ''] = await start(opened, { prompt: '{question}' })
  await ended(opened, source)
  const held = heldAfter(backend, 3)
  const body = { project_id: project, source_evaluation_run_id: source, scorer_refs: [judge] }
  const run = (await opened.post('/evaluations/rescore', body)).json.call_id
  await until('judgements are in flight', () => held.asked() > 3)
  await opened.post(`${root}/evaluation_runs/${run}/stop`, {})
  held.goOn()
  await ended(opened, run)
  assert.equal((await resume(opened, run)).status, 200)
  await ended(opened, run)
  const counts = countsIn(await callsIn(opened, run))
  assert.deepEqual(
    [counts['Evaluation.predict_and_score'], counts['good.score'], counts['heddle.judge']],
    [20, 20, 20],
  )

  const again = heldAfter(backend, 3)
  const [lost = ''] = await start(opened, { prompt: '{question}' })
  await until('answers are in flight', () => again.asked() > 3)
  await opened.post(`${root}/evaluation_runs/${lost}/stop`, {})
  again.goOn()
  await ended(opened, lost)
  assert.equal((await opened.send('DELETE', `${root}/datasets/capitals`)).status, 200)
  const { status, json } = await resume(opened, lost)
  assert.deepEqual([status, json.code], [409, 'evaluation_run_not_resumable'])
  assert.equal((await opened.get(`${root}/evaluation_runs/${lost}`)).json.summary.stopped, true)
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

test('runs of a user whose model is slow leave room for those of others', async (t) => {
  const backend = simulatedBackend(t, 'city')
  const held = holdAnswers(backend, 'slow')
  const opened = await openApp(t, { sweep: true, backend })
  await makeDataset(opened, 1)
  const names = ['a', 'b', 'c'].map((name) => ({ name }))
  const slow = await start(opened, { prompt: 'slow {question}', settings: names })
  await until('two of the three are asked', async () => held.count === 2)
  const own = { ...opened, post: (url: string, body?: unknown) => opened.post(url, body, keys.root) }
  const [quick = ''] = await start(own, { prompt: 'quick {question}' })
  await ended(opened, quick)
  assert.equal(held.count, 2)
  held.resolve()
  for (const run of slow) await ended(opened, run)
  assert.equal(held.count, 3)
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
