import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { completeOf, endOf, project, startOf } from '../support/calls.ts'
import { sized } from '../support/campaign-share.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { failingCondition, failingScore } from './failing-score.ts'
import { startReceiver } from './webhook-receiver.ts'

/** One server is killed for the tests of this file together, because each start takes seconds. */
const kills = sized(3, 50)
/** Of them, those with many calls. */
const killsOfCalls = sized(2, 20)
const writersOfCalls = 16
const callsBeforeKill = 150
const writersOfScores = 4
const scoresBeforeKill = 12

/** The last server has a later clock: what the killed one had taken is free for others only after 25 seconds. */
const later = {
  NODE_OPTIONS: `--import=${new URL('../support/shifted-clock.mjs', import.meta.url).href}`,
  TEST_CLOCK_SHIFT: '30000',
}

const ask = async (server: RunningServer, url: string, body: object): Promise<void> => {
  const answer = await server.post(url, { project_id: project, ...body })
  assert.equal(answer.status, 200, await answer.text())
}

test(`P1: no acknowledged write is lost and no failing score goes untold in ${kills} kills`, async (t) => {
  // Slow enough that a kill meets messages on their way.
  const receiver = await startReceiver(t, (_, response) => void setTimeout(() => response.end(), 15))
  const settings = {
    HEDDLE_DATA: await newFolder(t),
    HEDDLE_WEBHOOK_ALLOW: 'loopback',
    HEDDLE_LOG_LEVEL: 'info',
  }
  const outputs = new Map<string, string>()
  const scores = new Set<string>()
  const judged = completeOf()
  for (let kill = 0; kill < kills; kill++) {
    const server = await startServer(t, settings)
    if (kill === 0) {
      await ask(server, '/v2/acme/qa/calls/complete', { batch: [judged] })
      await ask(server, '/alert_endpoints', { name: 'e', url: receiver.url })
      await ask(server, '/alert_rules', { name: 'low', ...failingCondition })
    }
    await sameAsAcknowledged(server, outputs, kill === 0 ? 0 : 40)
    const callsToWrite = outputs.size + (kill < killsOfCalls ? callsBeforeKill + kill : 0)
    const scoresToWrite = scores.size + scoresBeforeKill
    let ended: Promise<unknown> | undefined
    const untilKilled = async (write: () => Promise<void>) => {
      while (ended === undefined) {
        try {
          await write()
        } catch (error) {
          // The kill cuts connections; a write that was cut off was not acknowledged.
          if (ended === undefined) throw error
        }
        if (outputs.size >= callsToWrite && scores.size >= scoresToWrite) ended ??= server.end('SIGKILL')
      }
    }
    const writeCall = async () => {
      const id = randomUUID()
      const output = `answer of ${id}`
      const started = await server.post('/call/start', { start: startOf({ id }) })
      const ending = await server.post('/call/end', { end: endOf(id, { output }) })
      if (started.status === 200 && ending.status === 200) outputs.set(id, output)
    }
    const writeScore = async () => {
      const id = randomUUID()
      const made = await server.post('/feedback/create', {
        project_id: project,
        id,
        ...failingScore(project, judged.id),
      })
      if (made.status === 200) scores.add(id)
    }
    const callers = kill < killsOfCalls ? writersOfCalls : 0
    await Promise.all([
      ...Array.from({ length: callers }, () => untilKilled(writeCall)),
      ...Array.from({ length: writersOfScores }, () => untilKilled(writeScore)),
    ])
    assert.equal(await ended, 'SIGKILL')
  }
  const server = await startServer(t, { ...settings, ...later })
  await sameAsAcknowledged(server, outputs, outputs.size)
  assert.ok(outputs.size >= killsOfCalls * callsBeforeKill)
  const told = () => {
    const bodies = receiver.received.map(({ body }) => JSON.parse(body) as { data: { feedback_id: string } })
    return new Set(bodies.map(({ data }) => data.feedback_id))
  }
  await until('every score is told', () => scores.isSubsetOf(told()))
  // A message that comes twice is the same one: a receiver knows it by its id.
  const idsOf = Map.groupBy(receiver.received, ({ body }) => body)
  for (const messages of idsOf.values()) {
    assert.equal(new Set(messages.map(({ headers }) => headers['webhook-id'])).size, 1)
  }
  assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, told().size)
  assert.ok(scores.size >= kills * scoresBeforeKill)
  assert.equal(await server.end('SIGTERM'), 0)
})

/** Reads back the last `count` acknowledged calls. */
async function sameAsAcknowledged(
  server: RunningServer,
  acknowledged: ReadonlyMap<string, string>,
  count: number,
): Promise<void> {
  const ids = [...acknowledged.keys()].slice(-count || acknowledged.size)
  for (let from = 0; from < ids.length; from += 500) {
    const some = ids.slice(from, from + 500)
    const answer = await server.post('/calls/stream_query', {
      project_id: 'acme/qa',
      filter: { call_ids: some },
    })
    assert.equal(answer.status, 200)
    const found = new Map<string, string>()
    for (const line of (await answer.text()).split('\n').filter(Boolean)) {
      const call = JSON.parse(line) as { id: string; output: string }
      found.set(call.id, call.output)
    }
    for (const id of some) assert.equal(found.get(id), acknowledged.get(id))
  }
}
