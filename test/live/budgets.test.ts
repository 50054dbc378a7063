import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { openPostgres } from '../../src/storage/engines/postgres/database.ts'
import { keys } from '../support/app.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { beginStream, startFakeUpstream } from '../support/fake-upstream.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { pricesOf } from '../support/prices.ts'
import { writeRandomModel } from '../support/random-model.ts'
import { newFolder, type RunningServer, startOne, type TestScope } from '../support/server.ts'
import { until } from '../support/wait.ts'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

const project = 'acme/default'
const asked = (fields: object = {}) => asking({ max_tokens: 4, ignore_eos: true, ...fields })

/** Two servers on one record, with the same model, which has a price. */
async function startTwo(
  t: TestScope,
  model: string,
): Promise<{ servers: [RunningServer, RunningServer]; url: string }> {
  const url = await postgres.createDatabase()
  const settings = {
    HEDDLE_DATABASE_URL: url,
    HEDDLE_MODEL: model,
    HEDDLE_MODEL_NAME: 'small',
    HEDDLE_THREADS: '1',
  }
  const start = async () =>
    startOne(t, { ...settings, HEDDLE_DATA: await newFolder(t), HEDDLE_PARALLEL: '8', HEDDLE_QUEUE: '64' })
  const servers: [RunningServer, RunningServer] = [await start(), await start()]
  for (const server of servers) {
    await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  }
  assert.equal((await servers[0].post('/cost/create', pricesOf({ small: {} }, project))).status, 200)
  return { servers, url }
}

async function budgetIn(server: RunningServer): Promise<{ spent: string; reserved: string; left: string }> {
  const { budgets } = (await (await server.get('/budgets', keys.alice)).json()) as {
    budgets: { spent: string; reserved: string; left: string }[]
  }
  return budgets[0] as { spent: string; reserved: string; left: string }
}

async function addBudget(server: RunningServer, amount: string): Promise<void> {
  const body = { scope: 'entity', subject: 'acme', window: 'month', amount }
  assert.equal((await server.post('/budgets', body, { key: keys.root })).status, 200)
}

test('64 parallel answers on two servers close a budget at exactly its sum', async (t) => {
  const model = join(await newFolder(t), 'random.gguf')
  await writeRandomModel(model, { weights: 'q8_0', hidden: 64, context: 1024 })
  const { servers } = await startTwo(t, model)
  const [one, other] = servers
  const first = (await (await one.post(chatUrl, asked())).json()) as { usage: Record<string, number> }
  const { prompt_tokens = 0, completion_tokens = 0 } = first.usage
  assert.equal(completion_tokens, 4)
  const cost = prompt_tokens + 2 * completion_tokens
  const amount = ((21 * cost) / 1000).toFixed(3)
  await addBudget(one, amount)
  const answers = await Promise.all(
    Array.from({ length: 64 }, async (_, n) => {
      const answer = await (n % 2 ? one : other).post(chatUrl, asked({ stream: n % 4 > 1, store: n % 8 > 3 }))
      return { status: answer.status, text: await answer.text() }
    }),
  )
  const refused = answers.filter(({ status }) => status !== 200)
  assert.equal(refused.length, 43)
  for (const { status, text } of refused) {
    assert.deepEqual([status, JSON.parse(text).error.code], [429, 'budget_exceeded'])
  }
  await until('all are settled', async () => (await budgetIn(one)).reserved === '0')
  assert.deepEqual(
    [Number((await budgetIn(other)).spent), (await budgetIn(other)).left],
    [Number(amount), '0'],
  )
})

test('what a killed server had reserved is free again after a while', async (t) => {
  // Neither begins to answer nor ends.
  const upstream = await startFakeUpstream(t, beginStream, { models: [{ id: 'small', object: 'model' }] })
  const { servers, url } = await startTwo(t, upstream.url)
  const [one, other] = servers
  await addBudget(other, '100')
  const ask = (server: RunningServer) => server.post(chatUrl, asking({ max_tokens: 30_000, stream: true }))
  const running = ask(one).then((answer) => answer.text())
  const broken = assert.rejects(running)
  await until('the answer is running', () => upstream.asked.length === 1)
  assert.ok(Number((await budgetIn(other)).reserved) > 60)
  await one.end('SIGKILL')
  await broken
  assert.equal((await ask(other)).status, 429)
  // Time passes.
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('UPDATE budget_holds SET held_until = held_until - 60000000')
  await client.end()
  const { reserved, spent } = await budgetIn(other)
  assert.deepEqual([reserved, spent], ['0', '0'])
  const leaving = new AbortController()
  const next = other.post(chatUrl, asking({ max_tokens: 30_000 }), { signal: leaving.signal })
  const left = assert.rejects(next, { name: 'AbortError' })
  await until('it is asked', () => upstream.asked.length === 2)
  leaving.abort()
  await left
  await until('it is settled when its client has left', async () => (await budgetIn(other)).reserved === '0')
})

test('what ends in any order is settled in the order in which it is renewed', async (t) => {
  const url = await postgres.createDatabase()
  const db = await openPostgres(url)
  t.after(() => db.close())
  const budget = {
    id: 'b1',
    scope: 'server',
    subject: '',
    period: 'day',
    currency: 'USD',
    amount: 100,
  } as const
  const others = { warn_at: null, block_unpriced: 0, prices_of: null, created_at: 0, created_by: 'root' }
  await db.write('addBudget', { budget: { ...budget, ...others }, max: 1 })
  const shares = [{ budget_id: 'b1', starts_at: 0, amount: 1 }]
  for (const id of ['a', 'b']) await db.write('reserveSpend', { id, shares, now: 0, until: 1 })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.after(() => client.end())
  await client.query("BEGIN; SELECT 1 FROM budget_holds WHERE id = 'a' FOR UPDATE")
  const settled = db.write('settleSpend', [
    { id: 'b', shares },
    { id: 'a', shares },
  ])
  await until('it waits', async () => {
    const { rowCount } = await client.query('SELECT 1 FROM pg_locks WHERE NOT granted')
    return rowCount !== 0
  })
  await client.query("SELECT 1 FROM budget_holds WHERE id = 'b' FOR UPDATE NOWAIT")
  await client.query('COMMIT')
  await settled
  const { rows } = await client.query('SELECT CAST(spent AS integer) FROM budget_windows')
  assert.deepEqual(rows, [{ spent: 2 }])
})
