import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readEvents } from '../../../src/storage/alerts/events.ts'
import { requireRule } from '../../../src/storage/alerts/rules.ts'
import type { Database } from '../../../src/storage/database.ts'
import { alertRule, endedNow } from '../../support/alerts.ts'
import { newProject } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

export function alerts(shared: Driver['shared']): void {
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
