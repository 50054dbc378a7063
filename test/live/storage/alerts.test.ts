import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../src/domain/ids.ts'
import { endpointsAtWork } from '../../../src/storage/alerts/deliveries.ts'
import type { Endpoint } from '../../../src/storage/alerts/endpoints.ts'
import { allDrivers } from '../../support/drivers.ts'

const drivers = allDrivers()
before(() => Promise.all(drivers.map((driver) => driver.start())))
after(() => Promise.all(drivers.map((driver) => driver.stop())))

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
      return db.write('takeDeliveries', { ...key, holder: 'me', limit: 1, now, until: 1_000 })
    }
    assert.equal((await taken(0, 10)).length, 1)
    assert.equal((await taken(1, 11)).length, 1)
    assert.deepEqual(await waiting(), ['acme/b 1', 'globex/a 1', 'acme/a 1', 'acme/a 2'])
    assert.deepEqual(await waiting(1), ['acme/b 1', 'globex/a 1'])
    assert.deepEqual(await waiting(100, 1), ['acme/b 1'])
  })
}
