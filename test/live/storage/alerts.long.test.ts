import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { newId } from '../../../src/domain/ids.ts'
import { now } from '../../../src/domain/time.ts'
import { startWindows } from '../../../src/operations/alerts/windows.ts'
import { endpointsAtWork, type Outcome } from '../../../src/storage/alerts/deliveries.ts'
import type { Endpoint } from '../../../src/storage/alerts/endpoints.ts'
import type { AlertRule } from '../../../src/storage/alerts/rules.ts'
import type { Database } from '../../../src/storage/database.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { allDrivers } from '../../support/drivers.ts'
import { until } from '../../support/wait.ts'
import { alertEndpoint, alertRule, endedNow } from './alert-rows.ts'

const drivers = allDrivers()
before(() => Promise.all(drivers.map((driver) => driver.start())))
after(() => Promise.all(drivers.map((driver) => driver.stop())))

const second = 1_000_000
const minute = 60 * second
const everyMinute = {
  measure: 'calls',
  scorer: null,
  path: null,
  seconds: 60,
  below: 1,
  above: null,
  min_count: 1,
}

/** A rule over windows, which fires: nothing is called in its project. */
const windowRule = (project_id: string, id: string, time: number): AlertRule => ({
  project_id,
  id,
  name: id,
  watches: 'window',
  condition: JSON.stringify({ window: everyMinute }),
  severity: 'error',
  cooldown: 3_600,
  endpoints: null,
  active: 1,
  fired_at: null,
  suppressed: 0,
  firing: 0,
  checked_at: time - 20 * second,
  taken_until: 0,
  created_at: time,
  created_by: 'alice',
  updated_at: time,
})

const endpoint = (project_id: string, id: string): Endpoint => ({
  project_id,
  id,
  name: id,
  format: 'standard',
  shown: '',
  sealed: '',
  types: null,
  active: 1,
  stopped: null,
  runs_as: 'alice',
  failures: 0,
  failing_since: null,
  rests_until: 0,
  taken_at: 0,
  dropped: 0,
  created_at: 0,
  created_by: 'alice',
  updated_at: 0,
})

for (const driver of drivers) {
  test(`${driver.name}: the endpoint that was written to last comes last, and entities take turns`, async (t) => {
    const db = await driver.open(t)
    const keys = ['acme/a 1', 'acme/a 2', 'acme/b 1', 'globex/a 1'].map((name) => {
      const [project_id, endpoint_id] = name.split(' ') as [string, string]
      return { project_id, endpoint_id }
    })
    for (const key of keys) {
      await db.write('addEndpoint', endpoint(key.project_id, key.endpoint_id))
      for (let i = 0; i < 9; i++) await db.write('testEndpoint', { ...key, id: newId(), now: 1 })
    }
    const waiting = async (entity = 100, all = 100) =>
      (await endpointsAtWork(db, 50, { entity, all })).map((key) => `${key.project_id} ${key.endpoint_id}`)
    assert.deepEqual(await waiting(), ['acme/a 1', 'globex/a 1', 'acme/a 2', 'acme/b 1'])
    const taken = (index: number, now: number) => {
      const key = keys[index] as (typeof keys)[number]
      return db.write('takeDeliveries', {
        ...key,
        holder: 'me',
        limit: 1,
        now,
        until: 1_000,
        holding_after: 0,
      })
    }
    assert.equal((await taken(0, 10)).length, 1)
    assert.equal((await taken(1, 11)).length, 1)
    assert.deepEqual(await waiting(), ['acme/b 1', 'globex/a 1', 'acme/a 1', 'acme/a 2'])
    assert.deepEqual(await waiting(1), ['acme/b 1', 'globex/a 1'])
    assert.deepEqual(await waiting(100, 1), ['acme/b 1'])
  })

  test(`${driver.name}: messages of a rule are taken in their order, and one that fails holds them for a while`, async (t) => {
    const db = await driver.open(t)
    const key = { project_id: 'acme/a', endpoint_id: 'e' }
    await db.write('addEndpoint', alertEndpoint(key.project_id, 'e'))
    for (const op of ['a', 'b']) await db.write('addAlertRule', alertRule(key.project_id, op, op))
    const fire = (...calls: string[]) =>
      db.write(
        'upsertCalls',
        calls.map((call) => endedNow(key.project_id, call, call.charAt(0))),
      )
    const ids = new Map<string, string>()
    const start = now() + minute
    const take = async (holder: string, minutes = 0, limit = 40) => {
      const at = start + minutes * minute
      const times = { now: at, until: at + 25 * second, holding_after: at - 60 * minute }
      const taken = await db.write('takeDeliveries', { ...key, holder, limit, ...times })
      return taken.map(({ event_id, body }) => {
        const call = JSON.parse(body).data.call_id
        ids.set(call, event_id)
        return call
      })
    }
    const settle = async (holder: string, call: string, minutes: number | null) => {
      const next_at = minutes === null ? null : start + minutes * minute
      const outcome = { kind: 'failed' as const, status: 400, error: 'no', next_at, rests_until: null }
      const event_id = ids.get(call) as string
      await db.write('settleDelivery', {
        ...{ ...key, event_id, holder, outcome },
        ...{ failing_before: 0, now: start },
      })
    }
    const giveBack = (holder: string, ...calls: string[]) =>
      db.write('returnDeliveries', {
        ...key,
        holder,
        event_ids: calls.map((call) => ids.get(call) as string),
      })

    await fire('a1', 'a2', 'b1', 'a3')
    assert.deepEqual(await take('one', 0, 3), ['a1', 'b1', 'a2'])
    assert.deepEqual(await take('other'), [])
    await settle('one', 'b1', null)
    await settle('one', 'a1', 1)
    assert.deepEqual(await take('other'), [])
    await giveBack('other', 'a2')
    assert.deepEqual(await take('other'), [])
    await giveBack('one', 'a2')
    assert.deepEqual(await take('other'), [])
    await fire('b2', 'a4')
    assert.deepEqual(await take('other'), ['b2'])
    assert.deepEqual(await take('other', 1), ['a1', 'b2', 'a2', 'a3', 'a4'])
    await giveBack('other', 'a2', 'a3', 'a4')
    await settle('other', 'b2', null)
    await settle('other', 'a1', 120)
    assert.deepEqual(await take('one', 58), [])
    assert.deepEqual(await take('one', 60), ['a2', 'a3', 'a4'])
    // A message that was given up holds back none, sent again or not.
    await giveBack('one', 'a3', 'a4')
    await settle('one', 'a2', null)
    assert.deepEqual(await take('one', 60), ['a3', 'a4'])
    await giveBack('one', 'a3', 'a4')
    const event_ids = [ids.get('a2') as string]
    const range = { after: 0, before: 0, limit: 1 }
    await db.write('replayDeliveries', { ...key, event_ids, ...range, now: start + 60 * minute })
    assert.deepEqual(await take('one', 60), ['a2', 'a3', 'a4'])
    await giveBack('one', 'a3', 'a4')
    await settle('one', 'a2', 120)
    assert.deepEqual(await take('one', 60), ['a3', 'a4'])
    // What is tried again later takes no turn of what its rule may send.
    await giveBack('one', 'a3', 'a4')
    await fire('b3', 'b4')
    assert.deepEqual(await take('one', 60, 3), ['a3', 'b3', 'a4'])
  })

  test(`${driver.name}: what waited for an endpoint goes when it answers again, what was refused keeps its pause`, async (t) => {
    const db = await driver.open(t)
    const key = { project_id: 'acme/a', endpoint_id: 'e' }
    await db.write('addEndpoint', alertEndpoint(key.project_id, 'e'))
    const send = () => db.write('testEndpoint', { ...key, id: newId(), now: 1 })
    const take = async () => {
      const times = { now: 10, until: 1_000, holding_after: 0 }
      return (await db.write('takeDeliveries', { ...key, holder: 'me', limit: 9, ...times })).map(
        ({ event_id }) => event_id,
      )
    }
    const settle = (event_id: string, outcome: Outcome) =>
      db.write('settleDelivery', { ...key, event_id, holder: 'me', outcome, failing_before: 0, now: 10 })
    const fail = (id: string, status: number, rests_until: number | null) =>
      settle(id, { kind: 'failed', status, error: 'no', next_at: 100, rests_until })
    const sent: Outcome = { kind: 'sent', status: 200 }
    const [first, second, third] = [await send(), await send(), await send()]
    assert.deepEqual(await take(), [first, second, third])
    assert.equal(await fail(first, 400, null), true)
    assert.equal(await settle(second, sent), true)
    assert.deepEqual(await take(), [])
    const fourth = await send()
    assert.deepEqual(await take(), [fourth])
    assert.equal(await fail(third, 500, 100), false)
    assert.equal(await settle(fourth, sent), false)
    assert.deepEqual(await take(), [third])
  })

  test(`${driver.name}: windows that cannot be decided delay those of their own entity`, async (t) => {
    const db = await driver.open(t)
    const time = now()
    const slow = ['slow1/a', 'slow2/a', 'slow3/a', 'slow4/a', 'slow4/b']
    for (const project of [...slow, 'broken/a'])
      await db.write('addAlertRule', windowRule(project, '1', time))
    for (const id of ['1', '2', '3']) await db.write('addAlertRule', windowRule('quick/a', id, time))
    const running = new Map<string, number>()
    const counts: number[] = []
    const stream: Database['stream'] = (_query, options) => {
      const tenant = options.tenant as string
      if (tenant === 'quick') return noRows()
      if (tenant === 'broken') throw new Error('no such column')
      return hanging(tenant, options.signal)
    }
    async function* noRows(): AsyncGenerator<never[]> {
      yield []
    }
    async function* hanging(tenant: string, signal: AbortSignal): AsyncGenerator<never[]> {
      const count = (running.get(tenant) ?? 0) + 1
      running.set(tenant, count)
      counts.push(count)
      try {
        if (!signal.aborted) await once(signal, 'abort')
        signal.throwIfAborted()
        yield []
      } finally {
        running.set(tenant, count - 1)
      }
    }
    const errors = new Set<string>()
    const failed = (error: unknown) => {
      const { message } = error as Error
      // On a busy machine a quick one may be late too, and is decided later.
      if (!message.includes('quick/a')) errors.add(message)
    }
    const windows = startWindows({ ...db, stream }, 1, failed, 2_000)
    try {
      const fired = async () =>
        (await db.all(sql`SELECT id FROM alert_events WHERE project_id = 'quick/a' AND type = 'alert.fired'`))
          .length
      await until('all quick rules fire', async () => (await fired()) === 3)
      await until('all others are named', () => errors.size >= 6)
    } finally {
      await windows.stop()
    }
    assert.deepEqual(new Set(counts), new Set([1]))
    assert.ok(errors.has('the alert rule 1 of slow1/a is not decided within 2 s'))
    assert.ok(errors.has('the alert rule 1 of broken/a cannot be decided'))
    assert.equal(errors.size, 6)
  })
}
