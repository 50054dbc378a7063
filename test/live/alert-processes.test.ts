import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { findExcess } from '../../src/storage/alerts/trimming.ts'
import { openRecord } from '../../src/storage/open.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { openApp } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { until } from '../support/wait.ts'
import { startReceiver } from './webhook-receiver.ts'

let postgres: TestPostgres

before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

test('two servers on one PostgreSQL fire once for each call and once for a window, each message after the one before', async (t) => {
  const onTheirWay = new Set<string>()
  let haveOvertaken = false
  const receiver = await startReceiver(t, ({ body }, response) => {
    const rule = JSON.parse(body).data.rule.id
    if (onTheirWay.has(rule)) haveOvertaken = true
    onTheirWay.add(rule)
    setTimeout(() => {
      onTheirWay.delete(rule)
      response.end()
    }, 5)
  })
  const databaseUrl = await postgres.createDatabase()
  const open = async () =>
    openApp(t, {
      database: await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 }),
      settings: { HEDDLE_WEBHOOK_ALLOW: 'loopback' },
      sweep: true,
      webhooks: { haste: 100 },
    })
  const servers = [await open(), await open()] as const
  const [one, other] = servers
  const ok = async (url: string, body: object, at = one) => {
    const answer = await at.post(url, { project_id: project, ...body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  // Both servers have read that the project has no rules.
  for (const server of servers) await write(server, completeOf())
  await ok('/alert_endpoints', { name: 'e', url: receiver.url })
  const failed = { $expr: { $eq: [{ $getField: 'summary.weave.status' }, { $literal: 'error' }] } }
  const each = (await ok('/alert_rules', { name: 'each', on: 'call', query: failed })).rule.id
  const window = { measure: 'errors', seconds: 3_600, above: 9 }
  const rate = (await ok('/alert_rules', { name: 'rate', on: 'window', window })).rule.id
  await until('the other server knows the rule', async () => {
    await write(other, failedCall())
    return (await ok('/alert_events/query', { rule_id: each }, other)).events.length > 0
  })
  const before = (await ok('/alert_events/query', { rule_id: each })).events.length
  const calls = Array.from({ length: 20 }, failedCall)
  await Promise.all(calls.flatMap((call) => servers.map((server) => write(server, call))))
  const { events } = await ok('/alert_events/query', { rule_id: each, limit: 1_000 }, other)
  assert.equal(events.length, before + calls.length)
  await until(
    'the window fires',
    async () => (await ok('/alert_events/query', { rule_id: rate })).events.length > 0,
  )
  const rule = async () => (await one.get(`/alert_rules?project_id=${project}`)).json.rules
  await until('it is known to fire', async () =>
    (await rule()).some(({ id, firing }: { id: string; firing: boolean }) => id === rate && firing),
  )
  // Both decide windows all the time; with its cool-down of an hour the rule has one event, whoever made it.
  const all = before + calls.length + 1
  await until('all arrive', () => receiver.received.length >= all)
  await until('all are known to be sent', async () => {
    const { endpoints } = (await other.get(`/alert_endpoints?project_id=${project}`)).json
    return endpoints[0].sent === all && endpoints[0].pending === 0
  })
  assert.equal((await ok('/alert_events/query', { rule_id: rate })).events.length, 1)
  assert.equal(receiver.received.length, all)
  const { replayed } = await ok(`/alert_endpoints/${events[0].deliveries[0].endpoint_id}/replay`, {
    event_ids: [events[0].id],
  })
  assert.equal(replayed, 1)
  await until('it arrives again', () => receiver.received.length === all + 1)
  for (let turn = 0; turn < 10; turn++) for (const server of servers) await write(server, failedCall())
  await until('the next arrive', () => receiver.received.length === all + 21)
  const arrived = receiver.received.slice(all + 1).map(({ headers }) => headers['webhook-id'] as string)
  assert.deepEqual(arrived, arrived.toSorted())
  assert.equal(haveOvertaken, false)
  for (const { database } of servers) {
    const excess = await findExcess(boundTo(database, AbortSignal.timeout(60_000)), Date.now() * 1_000)
    assert.deepEqual([excess.endpoints, excess.events], [[], []])
  }

  async function write(server: typeof one, call: object) {
    const answer = await server.post('/v2/acme/qa/calls/complete', { batch: [call] })
    assert.equal(answer.status, 200, answer.text)
  }
})

function failedCall() {
  const at = new Date().toISOString()
  return completeOf({ started_at: at, ended_at: at, exception: 'Boom' })
}
