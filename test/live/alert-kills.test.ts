import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { completeOf, project } from '../support/calls.ts'
import { sized } from '../support/campaign-share.ts'
import { newFolder, type RunningServer, runHeddle, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { failingCondition, failingScore } from './failing-score.ts'
import { startReceiver } from './webhook-receiver.ts'

const kills = sized(3, 50)
const writers = 4
const scoresBeforeKill = 12

const ask = async (server: RunningServer, url: string, body: object) => {
  const answer = await server.post(url, { project_id: project, ...body })
  assert.equal(answer.status, 200, await answer.clone().text())
  return answer.json() as Promise<Record<string, never>>
}

test(`no failing score goes untold in ${kills} kills between its write and its message`, async (t) => {
  const folder = await newFolder(t)
  // Slow enough that a kill meets messages on their way.
  const receiver = await startReceiver(t, (_, response) => void setTimeout(() => response.end(), 15))
  const settings = { HEDDLE_DATA: folder, HEDDLE_WEBHOOK_ALLOW: 'loopback' }
  const acknowledged = new Set<string>()
  const call = completeOf()
  for (let kill = 0; kill < kills; kill++) {
    const server = await startServer(t, settings)
    if (kill === 0) {
      await server.post('/v2/acme/qa/calls/complete', { batch: [call] })
      await ask(server, '/alert_endpoints', { name: 'e', url: receiver.url })
      await ask(server, '/alert_rules', { name: 'low', ...failingCondition })
    }
    const target = acknowledged.size + scoresBeforeKill
    let ended: Promise<unknown> | undefined
    const write = async () => {
      while (ended === undefined) {
        const id = randomUUID()
        try {
          const made = await server.post('/feedback/create', {
            project_id: project,
            id,
            ...failingScore(project, call.id),
          })
          if (made.status === 200) acknowledged.add(id)
        } catch (error) {
          if (ended === undefined) throw error
        }
        if (acknowledged.size >= target) ended ??= server.end('SIGKILL')
      }
    }
    await Promise.all(Array.from({ length: writers }, write))
    await ended
  }
  const server = await startServer(t, settings)
  const told = () => {
    const bodies = receiver.received.map(({ body }) => JSON.parse(body) as { data: { feedback_id: string } })
    return new Set(bodies.map(({ data }) => data.feedback_id))
  }
  await until('every score is told', () => [...acknowledged].every((id) => told().has(id)))
  // A message that comes twice is the same one: a receiver knows it by its id.
  const idsOf = Map.groupBy(receiver.received, ({ body }) => body)
  for (const messages of idsOf.values()) {
    assert.equal(new Set(messages.map(({ headers }) => headers['webhook-id'])).size, 1)
  }
  assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, told().size)
  assert.ok(acknowledged.size >= kills * scoresBeforeKill)
  assert.equal(await server.end('SIGTERM'), 0)
})

test('an import that was read to its end is an event', async (t) => {
  const folder = await newFolder(t)
  const receiver = await startReceiver(t)
  const settings = { HEDDLE_DATA: folder, HEDDLE_WEBHOOK_ALLOW: 'loopback' }
  const server = await startServer(t, settings)
  await ask(server, '/alert_endpoints', { name: 'e', url: receiver.url })
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
