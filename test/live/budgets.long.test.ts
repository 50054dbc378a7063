import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { openPostgres } from '../../src/storage/engines/postgres/database.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { beginStream, startFakeUpstream } from '../support/fake-upstream.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import type { RunningServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import {
  addBudget,
  budgetIn,
  closeBudgetAtItsSum,
  startPricedServers,
  writeSmallModel,
} from './priced-servers.ts'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

test('64 parallel answers on two servers close a budget at exactly its sum', async (t) => {
  const model = await writeSmallModel(t)
  const { servers } = await startPricedServers(t, { url: await postgres.createDatabase(), model })
  await closeBudgetAtItsSum(servers, (server, url, body) => server.post(url, body))
})

test('what a killed server had reserved is free again after a while', async (t) => {
  // Neither begins to answer nor ends.
  const upstream = await startFakeUpstream(t, beginStream, { models: [{ id: 'small', object: 'model' }] })
  const url = await postgres.createDatabase()
  const { servers } = await startPricedServers(t, { url, model: upstream.url })
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
