import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { refuse } from '../../../src/domain/refusals.ts'
import { keys, openApp, type TestApp, type TestParts } from '../../support/app.ts'
import { completeOf } from '../../support/calls.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { openMemoryRecord } from '../../support/memory-record.ts'
import { pricesOf } from '../../support/prices.ts'
import { prefilled, scriptedBackend, scriptOf, tokens } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'
import { deciding } from '../decisions/deciding.ts'

const project = 'acme/default'
const price = { prompt_token_cost: 0.001, completion_token_cost: 0.002 }

interface State {
  id: string
  scope: string
  spent: string
  reserved: string
  left: string
  opens_at: string
}

/** An app whose model has a price in the project of alice. */
async function openPriced(t: TestContext, parts: TestParts = {}) {
  const app = await openApp(t, { backend: scriptedBackend(), ...parts })
  await app.post('/cost/create', pricesOf({ scripted: price }, project))
  return {
    ...app,
    async budget(fields: object): Promise<string> {
      const { status, json, text } = await app.post('/budgets', { window: 'day', ...fields }, keys.root)
      assert.equal(status, 200, text)
      return json.budget.id
    },
    async states(): Promise<State[]> {
      return (await app.get('/budgets', keys.root)).json.budgets
    },
  }
}

type PricedApp = Awaited<ReturnType<typeof openPriced>>

/** The model says `Hello`: five tokens. */
const asked = (fields: object = {}) => asking({ max_tokens: 5, ...fields })

/** In thousandths, at the price above. */
async function costOfOne({ post }: TestApp): Promise<number> {
  const { usage } = (await post(chatUrl, asked())).json
  return usage.prompt_tokens + 2 * usage.completion_tokens
}

const money = (thousandths: number) => String(thousandths / 1000)

async function settled({ states }: PricedApp): Promise<State> {
  let found: State | undefined
  await until('nothing is reserved', async () => {
    const all = await states()
    found = all[0]
    return all.every(({ reserved }) => reserved === '0')
  })
  return found as State
}

test('a budget closes at exactly its sum, and the refusal says when it opens again', async (t) => {
  const app = await openPriced(t)
  const { post, budget } = app
  const cost = await costOfOne(app)
  await budget({ scope: 'user', subject: 'alice', amount: money(3 * cost) })
  const answers = await Promise.all(Array.from({ length: 16 }, () => post(chatUrl, asked())))
  assert.equal(answers.filter(({ status }) => status === 200).length, 3)
  const refused = await post(chatUrl, asked())
  assert.equal(refused.status, 429)
  const { error } = refused.json
  assert.deepEqual([error.type, error.code, error.param], ['insufficient_quota', 'budget_exceeded', null])
  assert.equal(refused.headers['x-should-retry'], 'false')
  const { spent, left, opens_at } = await settled(app)
  assert.deepEqual([spent, left], [money(3 * cost), '0'])
  const seconds = (Date.parse(opens_at) - Date.now()) / 1000
  assert.ok(Math.abs(Number(refused.headers['retry-after']) - seconds) < 60)
  assert.ok(error.message.includes(`the user alice has 0 of ${money(3 * cost)} left for this day`))
  assert.equal((await post(chatUrl, asked(), keys.bob)).status, 200, 'others are not concerned')
  assert.equal((await app.get('/usage')).json.usage[0].refused, 14)
})

test('every way to ask a model counts, and refuses in the form of its clients', async (t) => {
  const decides = deciding(() => ({ y: 0.5, n: 0.5, Y: 0.5, N: 0.5, '1': 0.5, A: 0.5, B: 0.5 }))
  const says = scriptOf('Hel', 'lo')
  const judges = scriptOf('true')
  const backend = scriptedBackend((request, signal) => {
    if (request.constraint !== undefined) return judges(request, signal)
    return (request.logprobTokens === undefined ? says : decides)(request, signal)
  })
  const app = await openPriced(t, { backend })
  const { post, budget, states, send } = app
  const id = await budget({ scope: 'entity', subject: 'acme', amount: '100000' })
  const call = completeOf({ project_id: project })
  await post(`/v2/${project}/calls/complete`, { batch: [call] })
  const messages = [{ role: 'user', content: 'Hi' }]
  const model = 'scripted'
  const openAi = ['insufficient_quota', 'budget_exceeded']
  const ollama = ['string', 'budget_exceeded']
  const ways: [url: string, body: object, form: string[]][] = [
    [chatUrl, asked(), openAi],
    ['/v1/completions', { prompt: 'Hi', max_tokens: 5 }, openAi],
    ['/v1/responses', { input: 'Hi', max_output_tokens: 16 }, openAi],
    ['/v1/messages', { model, messages, max_tokens: 5 }, ['rate_limit_error', 'budget_exceeded']],
    ['/api/chat', { model, messages }, ollama],
    ['/api/generate', { model, prompt: 'Hi', stream: false }, ollama],
    ['/api/embed', { model, input: 'Hi' }, ollama],
    ['/v1/embeddings', { model, input: 'Hi' }, openAi],
    ['/v2/embed', { model, texts: ['Hi'] }, openAi],
    ['/v1/rerank', { model, query: 'Hi', documents: ['Ho'] }, openAi],
    ['/v1/score', { model, text_1: 'Hi', text_2: 'Ho' }, openAi],
    ['/v1/decisions', { input: 'Hi', questions: [{ type: 'predicate', instructions: 'Good?' }] }, openAi],
    [
      `/v2/${project}/scorers/try`,
      { call_ids: [call.id], judge: { prompt: 'Good? {output}', schema: { type: 'boolean' } } },
      ['record', 'budget_exceeded'],
    ],
  ]
  let before = 0
  for (const [url, body] of ways) {
    const { status, text } = await post(url, body)
    assert.equal(status, 200, `${url}: ${text}`)
    const spent = Number((await settled(app)).spent)
    assert.ok(spent > before, url)
    before = spent
  }
  await send('PUT', `/budgets/${id}`, { amount: '0.000000001' }, keys.root)
  for (const [url, body, form] of ways) {
    const { status, headers, json } = await post(url, body)
    assert.equal(status, 429, url)
    assert.ok(Number(headers['retry-after']) > 0, url)
    assert.equal(headers['x-should-retry'], 'false', url)
    const { error, code = error?.code ?? error?.details.error_code } = json
    const type = typeof error === 'string' ? 'string' : (error?.type ?? 'record')
    assert.deepEqual([type, code], form, url)
  }
  assert.equal(Number((await states())[0]?.spent), before, 'what is refused costs nothing')
})

test('a recorded answer is settled with its call, others by themselves, to the same sum', async (t) => {
  const app = await openPriced(t)
  const { post, budget } = app
  const cost = await costOfOne(app)
  await budget({ scope: 'project', subject: project, amount: '10' })
  for (const fields of [{}, { store: false }, { stream: true }, { stream: true, store: false }]) {
    assert.equal((await post(chatUrl, asked(fields))).status, 200)
  }
  assert.equal((await post('/v1/responses', { input: 'Hi', max_output_tokens: 16 })).status, 200)
  const { spent } = await settled(app)
  const calls = await post('/calls/query', { project_id: project, include_costs: true })
  const costs = calls.json.calls.map(
    (call: { summary: { weave: { costs: object } } }) => call.summary.weave.costs,
  )
  const sum = costs
    .flatMap((of: object) => Object.values(of))
    .reduce(
      (all: number, each: Record<string, number>) =>
        all + (each.prompt_tokens_total_cost ?? 0) + (each.completion_tokens_total_cost ?? 0),
      0,
    )
  // One call was before the budget, two answers are no calls.
  assert.equal(Number(spent).toFixed(6), (sum - cost / 1000 + (2 * cost) / 1000).toFixed(6))
})

test('an answer whose client leaves, or whose engine dies, costs what there was of it', async (t) => {
  let fails = false
  const backend = scriptedBackend(async function* (request, signal) {
    yield prefilled(request)
    yield tokens('Hel', request)
    if (fails) throw new Error('the engine died')
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const app = await openPriced(t, { backend })
  await app.budget({ scope: 'server', amount: '1000' })
  const address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const leave = async (fields: object) => {
    const leaving = new AbortController()
    const response = await fetch(`${address}${chatUrl}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.alice}`, 'content-type': 'application/json' },
      body: JSON.stringify(asked({ stream: true, ...fields })),
      signal: leaving.signal,
    })
    const reader = response.body?.getReader()
    await reader?.read()
    assert.notEqual((await app.states())[0]?.reserved, '0')
    leaving.abort()
  }
  const costs: number[] = []
  let before = 0
  const noteCost = async () => {
    const spent = Math.round(Number((await settled(app)).spent) * 1000)
    costs.push(spent - before)
    before = spent
  }
  for (const fields of [{}, { store: false }]) {
    await leave(fields)
    await noteCost()
  }
  fails = true
  for (const fields of [{}, { store: false }]) {
    assert.equal((await app.post(chatUrl, asked(fields))).status, 500)
    await noteCost()
  }
  const [cost] = costs
  assert.ok((cost as number) > 6)
  assert.deepEqual(costs, [cost, cost, cost, cost])
})

test('an answer counts in the window in which it began', async (t) => {
  let ahead = 0
  const [wall, steady] = [Date.now, performance.now.bind(performance)]
  t.mock.method(Date, 'now', () => wall() + ahead)
  t.mock.method(performance, 'now', () => steady() + ahead)
  let finish = () => {}
  const isFinished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const backend = scriptedBackend(async function* (request) {
    yield prefilled(request)
    yield tokens('Hello', request)
    if (backend.asked.length === 2) await isFinished
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  })
  const app = await openPriced(t, { backend })
  const cost = await costOfOne(app)
  await app.budget({ scope: 'user', subject: 'alice', amount: money(cost) })
  const running = app.post(chatUrl, asked({ stream: true }))
  await until('it is running', async () => (await app.states())[0]?.reserved !== '0')
  assert.equal((await app.post(chatUrl, asked())).status, 429)
  ahead = 86_400_000
  assert.equal((await app.states())[0]?.reserved, '0', 'the next day begins with the whole amount')
  finish()
  assert.equal((await running).status, 200)
  assert.deepEqual([(await settled(app)).spent], ['0'])
  assert.equal((await app.post(chatUrl, asked())).status, 200)
  assert.equal((await settled(app)).spent, money(cost))
})

test('a price that is added later changes nothing that was spent, and a running answer keeps its own', async (t) => {
  let finish = () => {}
  const isFinished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const backend = scriptedBackend(async function* (request) {
    yield prefilled(request)
    yield tokens('Hello', request)
    if (backend.asked.length === 3) await isFinished
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  })
  const app = await openPriced(t, { backend })
  const cost = await costOfOne(app)
  await app.budget({ scope: 'user', subject: 'alice', amount: '100' })
  await app.post(chatUrl, asked())
  const running = app.post(chatUrl, asked({ stream: true }))
  await until('both are known', async () => {
    const [state] = await app.states()
    return state?.spent === money(cost) && state.reserved === money(cost)
  })
  const dearer = { prompt_token_cost: 0.1, completion_token_cost: 0.2 }
  await app.post('/cost/create', pricesOf({ scripted: dearer }, project))
  finish()
  await running
  assert.equal((await settled(app)).spent, money(2 * cost))
  await app.post(chatUrl, asked())
  assert.equal((await settled(app)).spent, money(102 * cost))
})

test('vectors whose record refuses writes while they are made give back what they reserved', async (t) => {
  const backend = scriptedBackend()
  const database = openMemoryRecord()
  const begun = Promise.withResolvers<void>()
  backend.pool = async (_, each, signal) => {
    each({ input: 0, values: Float32Array.of(1), tokens: 2 })
    begun.resolve()
    // The engine hears later than the client that nothing is needed any more.
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    await new Promise(setImmediate)
    throw signal.reason
  }
  const probe = async () => {
    await begun.promise
    throw refuse('storage_failed')
  }
  const app = await openPriced(t, { backend, database: { ...database, probe } })
  await app.budget({ scope: 'user', subject: 'alice', amount: '10' })
  const { status, json } = await app.post('/v1/embeddings', { input: ['Hi', 'there'] })
  assert.deepEqual([status, json.error.code], [503, 'record_refuses_writes'])
  assert.equal((await settled(app)).spent, money(2), 'what was read is charged')
})
