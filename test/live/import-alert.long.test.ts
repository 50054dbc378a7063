import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { project } from '../support/calls.ts'
import { newFolder, runHeddle, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { startReceiver } from './webhook-receiver.ts'

test('an import that was read to its end is an event', async (t) => {
  const folder = await newFolder(t)
  const receiver = await startReceiver(t)
  const settings = { HEDDLE_DATA: folder, HEDDLE_WEBHOOK_ALLOW: 'loopback' }
  const server = await startServer(t, settings)
  const made = await server.post('/alert_endpoints', { project_id: project, name: 'e', url: receiver.url })
  assert.equal(made.status, 200, await made.text())
  const answer = await server.post('/calls/export', { project_id: project })
  const file = join(folder, 'export.jsonl')
  await writeFile(file, await answer.text())
  const { code, err } = await runHeddle(['import', file], settings)
  assert.equal(code, 0, err)
  await until('it is told', () => receiver.received.length === 1)
  const { type, data } = JSON.parse(receiver.received[0]?.body as string)
  assert.equal(type, 'import.finished')
  assert.deepEqual(data.import.calls, { added: 0, there: 0, gone: 0 })
})
