import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { endOf, startOf } from '../support/calls.ts'
import { sized } from '../support/campaign-share.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'

const kills = sized(2, 20)
const writers = 16
const acknowledgementsBeforeKill = 150

test(`P1: no acknowledged write is lost in ${kills} kills during many writes`, async (t) => {
  const folder = await newFolder(t)
  const acknowledged = new Map<string, string>()

  for (let kill = 0; kill < kills; kill++) {
    const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_LOG_LEVEL: 'info' })
    await sameAsAcknowledged(server, acknowledged, kill === 0 ? 0 : 40)
    const target = acknowledged.size + acknowledgementsBeforeKill + kill
    let ended: Promise<unknown> | undefined
    const write = async () => {
      while (ended === undefined) {
        const id = randomUUID()
        const output = `answer of ${id}`
        try {
          const started = await server.post('/call/start', { start: startOf({ id }) })
          const ending = await server.post('/call/end', { end: endOf(id, { output }) })
          if (started.status === 200 && ending.status === 200) acknowledged.set(id, output)
        } catch (error) {
          // The kill cuts connections; a write that was cut off was not acknowledged.
          if (ended === undefined) throw error
        }
        if (acknowledged.size >= target) ended ??= server.end('SIGKILL')
      }
    }
    await Promise.all(Array.from({ length: writers }, write))
    assert.equal(await ended, 'SIGKILL')
  }

  const server = await startServer(t, { HEDDLE_DATA: folder })
  await sameAsAcknowledged(server, acknowledged, acknowledged.size)
  assert.ok(acknowledged.size >= kills * acknowledgementsBeforeKill)
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
