import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { completeOf, endOf, startOf } from '../../support/calls.ts'

const project = 'acme/short'
const day = 86_400_000

test('calls expire after the retention of their project, whichever route writes them', async (t) => {
  const { database, post } = await openApp(t, { settings: { HEDDLE_RETENTION_DAYS: '90' } })
  await database.write('changeProjectSettings', { project_id: project, change: { retention_days: 36_000 } })
  const daysOf = async (project_id: string, id: string) => {
    const { call } = (await post('/call/read', { project_id, id })).json
    return call.expire_at && (Date.parse(call.expire_at) - Date.parse(call.started_at)) / day
  }
  const ofBoth = async (write: (project_id: string) => Promise<string>) => [
    await daysOf(project, await write(project)),
    await daysOf('acme/usual', await write('acme/usual')),
  ]
  const started_at = new Date().toISOString()
  const writes: Record<string, (project_id: string) => Promise<string>> = {
    start: async (project_id) =>
      (await post('/call/start', { start: startOf({ project_id, started_at }) })).json.id,
    batch: async (project_id) => {
      const start = startOf({ project_id, started_at })
      const batch = [
        { mode: 'start', req: { start } },
        { mode: 'end', req: { end: endOf(start.id, { project_id }) } },
      ]
      return (await post('/call/upsert_batch', { batch })).json.res[0].id
    },
    complete: async (project_id) => {
      const call = completeOf({ project_id, started_at })
      assert.equal((await post(`/v2/${project_id}/calls/complete`, { batch: [call] })).status, 200)
      return call.id
    },
    run: async (project_id) => {
      const body = {
        evaluation: `weave:///${project_id}/object/e:d`,
        model: `weave:///${project_id}/object/m:d`,
      }
      return (await post(`/v2/${project_id}/evaluation_runs`, body)).json.evaluation_run_id
    },
  }
  for (const [name, write] of Object.entries(writes))
    assert.deepEqual(await ofBoth(write), [36_000, 90], name)
})

test('an expiry sent with a call overrides the retention of the project', async (t) => {
  const { database, post } = await openApp(t)
  await database.write('changeProjectSettings', { project_id: project, change: { retention_days: 1 } })
  const start = startOf({ project_id: project, id: randomUUID(), expire_at: '2099-01-01T00:00:00Z' })
  assert.equal((await post('/call/start', { start })).status, 200)
  const { call } = (await post('/call/read', { project_id: project, id: start.id })).json
  assert.equal(call.expire_at, '2099-01-01T00:00:00Z')
})
