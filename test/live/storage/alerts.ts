import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { now } from '../../../src/domain/time.ts'
import { requireEndpoint } from '../../../src/storage/alerts/endpoints.ts'
import { countDeliveries, readEvents } from '../../../src/storage/alerts/events.ts'
import { requireRule } from '../../../src/storage/alerts/rules.ts'
import { findExcess } from '../../../src/storage/alerts/trimming.ts'
import type { Database } from '../../../src/storage/database.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { newProject } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { alertEndpoint, alertRule, endedNow } from './alert-rows.ts'

export function alerts({ shared, open }: Driver): void {
  describe('alerts', () => {
    test('a write of many calls fires each rule once for all of them', async () => {
      const db = await shared()
      const project = newProject()
      await db.write('addAlertRule', alertRule(project, 'each', 'answer'))
      await db.write('addAlertRule', alertRule(project, 'rarely', 'answer', { cooldown: 3_600 }))
      const calls = Array.from({ length: 250 }, (_, n) => endedNow(project, `call ${n}`, 'answer'))
      await db.write('upsertCalls', calls)
      assert.equal((await eventsOf(db, project, 'each')).length, 250)
      const [event, ...others] = await eventsOf(db, project, 'rarely')
      assert.equal(others.length, 0)
      assert.equal(JSON.parse(event?.body as string).data.call_id, 'call 0')
      const rarely = () => requireRule(db, { project_id: project, rule_id: 'rarely' })
      const { suppressed, fired_at } = await rarely()
      assert.equal(Number(suppressed), 249)
      // What has fired is sent again.
      await db.write('upsertCalls', calls.slice(0, 1))
      assert.deepEqual(await rarely(), { ...(await rarely()), suppressed, fired_at })
      assert.equal((await eventsOf(db, project, 'each')).length, 250)
    })

    test('what is beyond the bounds is found by a read, and is removed if it still is', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('addEndpoint', alertEndpoint(project, 'e'))
      await db.write('addAlertRule', alertRule(project, 'each', 'answer'))
      const calls = Array.from({ length: 6 }, (_, n) => endedNow(project, `call ${n}`, 'answer'))
      await db.write('upsertCalls', calls)
      const excess = (deliveries: number, events: number) =>
        findExcess(boundTo(db, AbortSignal.timeout(60_000)), now(), { deliveries, events })
      const none = { endpoints: [], events: [], hasMore: false }
      assert.deepEqual(await excess(6, 6), { ...none, maxDeliveries: 6 })
      // Events that are on their way are not too many.
      const found = await excess(4, 4)
      const key = { project_id: project, endpoint_id: 'e' }
      assert.deepEqual(found, { ...none, endpoints: [key], maxDeliveries: 4 })
      assert.equal(await db.writeInBackground('trimAlerts', found), false)
      assert.deepEqual((await countDeliveries(db, project)).get('e'), { pending: 4 })
      assert.equal(Number((await requireEndpoint(db, key)).dropped), 2)
      // What was found is no longer so: nothing else goes.
      await db.writeInBackground('trimAlerts', found)
      assert.deepEqual((await countDeliveries(db, project)).get('e'), { pending: 4 })

      const ids = (await eventsOf(db, project, 'each')).map(({ id }) => id).reverse()
      const done = await excess(4, 4)
      assert.deepEqual(
        done.events,
        ids.slice(0, 2).map((id) => ({ project_id: project, id })),
      )
      const pending = { project_id: project, id: ids[5] as string }
      await db.writeInBackground('trimAlerts', { ...done, events: [...done.events, pending] })
      assert.deepEqual((await eventsOf(db, project, 'each')).map(({ id }) => id).reverse(), ids.slice(2))
    })

    test('deliveries to an endpoint that is gone are removed', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('addAlertRule', alertRule(project, 'each', 'answer'))
      await db.write('upsertCalls', [endedNow(project, 'call', 'answer')])
      const event_ids = (await eventsOf(db, project, 'each')).map(({ id }) => id)
      // As a write leaves it that has read of the endpoint before it was deleted.
      const range = { event_ids, after: 0, before: 0, limit: 1, now: now() }
      await db.write('replayDeliveries', { project_id: project, endpoint_id: 'gone', ...range })
      assert.deepEqual((await countDeliveries(db, project)).get('gone'), { pending: 1 })
      await db.writeInBackground(
        'trimAlerts',
        await findExcess(boundTo(db, AbortSignal.timeout(60_000)), now()),
      )
      assert.equal((await countDeliveries(db, project)).size, 0)
      assert.equal((await eventsOf(db, project, 'each')).length, 1)
    })
  })
}

const eventsOf = (db: Database, project: string, rule: string) =>
  readEvents(db, {
    project,
    rule,
    endpoint: undefined,
    type: undefined,
    state: undefined,
    before: undefined,
    limit: 1_000,
  })
