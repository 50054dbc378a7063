import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { ruleLock } from '../../src/storage/alerts/rules.ts'
import { openRecord } from '../../src/storage/open.ts'
import { newProject } from '../support/call-parts.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { until } from '../support/wait.ts'
import { alertRule, endedNow } from './storage/alert-rows.ts'

let postgres: TestPostgres

before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

/** As the store names its locks in PostgreSQL. */
const keyOf = (project_id: string, rule_id: string) =>
  [ruleLock({ project_id, rule_id }), 0x6865_646c] as const

test('a write that waits for a rule holds none that comes later, whatever the order of its calls', async (t) => {
  const databaseUrl = await postgres.createDatabase()
  const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
  t.after(() => db.close())
  const other = new pg.Client(databaseUrl)
  await other.connect()
  t.after(() => other.end())
  const project = newProject()
  for (const id of ['a', 'b']) await db.write('addAlertRule', alertRule(project, id, id, { cooldown: 60 }))
  await other.query('SELECT pg_advisory_lock(hashtextextended($1, $2))', [...keyOf(project, 'a')])
  const calls = Array.from({ length: 200 }, (_, n) => endedNow(project, `call ${n}`, n < 199 ? 'b' : 'a'))
  const written = db.write('upsertCalls', calls)
  await until('it waits for the first rule', async () => {
    const waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    return (await other.query(waiting)).rowCount === 1
  })
  const free = 'SELECT pg_try_advisory_lock(hashtextextended($1, $2)) AS free'
  const { rows } = await other.query(free, [...keyOf(project, 'b')])
  await other.query('SELECT pg_advisory_unlock_all()')
  await written
  assert.deepEqual(rows, [{ free: true }])
})
