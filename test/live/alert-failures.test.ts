import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../src/storage/database.ts'
import { openApp } from '../support/app.ts'
import { openAppRecord } from '../support/app-record.ts'
import { project } from '../support/calls.ts'
import { until } from '../support/wait.ts'
import { startReceiver } from './webhook-receiver.ts'

/** Called before a write of the app; what it throws is how the write fails. */
type Before = (name: string, input: { endpoint_id: string; outcome?: { kind: string } }) => Promise<void>

async function openFailing(t: TestContext, haste: number, before: Before) {
  const record = await openAppRecord()
  const write = async (...[name, input, tenant]: Parameters<Database['write']>) => {
    await before(name, input as never)
    return record.write(name, input, tenant)
  }
  const { app, post } = await openApp(t, {
    database: { ...record, write: write as Database['write'] },
    settings: { HEDDLE_WEBHOOK_ALLOW: 'loopback' },
    sweep: true,
    webhooks: { haste, timeoutMs: 600_000 },
  })
  const ok = async (url: string, body: object = {}) => {
    const answer = await post(url, { project_id: project, ...body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  const endpoint = async (url: string): Promise<string> =>
    (await ok('/alert_endpoints', { name: 'e', url })).endpoint.id
  const send = async (id: string): Promise<string> => (await ok(`/alert_endpoints/${id}/test`)).event_id
  return { app, ok, endpoint, send }
}

test('when the outcome of one message cannot be stored, a stop still waits for the others', async (t) => {
  const ends: string[] = []
  let isLost = false
  const { app, endpoint, send } = await openFailing(t, 1_000, async (name, { outcome }) => {
    if (name === 'takeDeliveries') await twoWait
    if (name !== 'settleDelivery') return
    if (outcome?.kind === 'sent') {
      isLost = true
      throw new Error('the record cannot be written')
    }
    await sleep(300)
    ends.push(`${outcome?.kind}`)
  })
  const { promise: twoWait, resolve } = Promise.withResolvers<void>()
  const receiver = await startReceiver(t, (_, response) => {
    if (receiver.received.length === 2) response.end()
  })
  const id = await endpoint(receiver.url)
  await send(id)
  await send(id)
  resolve()
  await until('the outcome of one is lost', () => isLost)
  await app.close()
  ends.push('closed')
  await until('the other is returned', () => ends.includes('returned'))
  assert.deepEqual(ends, ['returned', 'closed'])
})

test('an endpoint whose turn broke off waits, while others are sent to', async (t) => {
  const receiver = await startReceiver(t)
  const turns = new Map<string, number>()
  let broken = ''
  const { endpoint, send } = await openFailing(t, 0.001, async (name, { endpoint_id }) => {
    if (name !== 'takeDeliveries') return
    turns.set(endpoint_id, (turns.get(endpoint_id) ?? 0) + 1)
    if (endpoint_id === broken) throw new Error('the record cannot be written')
  })
  broken = await endpoint(receiver.url)
  const other = await endpoint(receiver.url)
  await send(broken)
  await until('its turn breaks off', () => turns.has(broken))
  for (const count of [1, 2, 3]) {
    await send(other)
    await until(`message ${count} arrives`, () => receiver.received.length === count)
  }
  assert.equal(turns.get(broken), 1)
})

test('after the pause it is tried again', async (t) => {
  const receiver = await startReceiver(t)
  let failures = 0
  const { endpoint, send } = await openFailing(t, 1_000, async (name) => {
    if (name === 'takeDeliveries' && failures++ < 2) throw new Error('the record cannot be written')
  })
  await send(await endpoint(receiver.url))
  await until('it arrives', () => receiver.received.length === 1)
  assert.ok(failures > 2)
})
