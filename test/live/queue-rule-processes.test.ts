import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { keys } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { queueOf } from '../support/queues.ts'
import { type RunningServer, startServer } from '../support/server.ts'

let postgres: TestPostgres

before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

test('two servers on one record add every nth call to a queue, even after one was killed', async (t) => {
  const settings = { HEDDLE_DATABASE_URL: await postgres.createDatabase() }
  const one = await startServer(t, settings)
  const other = await startServer(t, settings)
  const ask = async (server: RunningServer, url: string, body: unknown) => {
    const answer = await server.post(url, body, { key: keys.alice })
    assert.equal(answer.status, 200, url)
    return answer.json() as Promise<Record<string, unknown>>
  }
  const { id: queue } = await ask(one, '/annotation_queues', queueOf())
  const rules = `/annotation_queues/${queue}/rules`
  // A rule given to one server applies on the other.
  await ask(one, rules, { project_id: project, pick: { kind: 'every_nth', n: 7 } })
  const write = async (servers: RunningServer[], count: number) => {
    const calls = Array.from({ length: count }, () => completeOf())
    // Each call is sent to both servers at once, as by a client that got no answer.
    await Promise.all(
      calls.flatMap((call) =>
        servers.map((server) => ask(server, '/v2/acme/qa/calls/complete', { batch: [call] })),
      ),
    )
  }
  const counted = async (server: RunningServer) => {
    const answer = await server.get(`${rules}?project_id=acme%2Fqa`, keys.alice)
    const { rules: found } = (await answer.json()) as { rules: { counted: number }[] }
    const { items } = (await ask(server, `/annotation_queues/${queue}/items/query`, {
      project_id: project,
    })) as { items: { call_id: string }[] }
    return [found[0]?.counted, items.length, new Set(items.map(({ call_id }) => call_id)).size]
  }
  await write([one, other], 40)
  assert.deepEqual(await counted(other), [40, 5, 5])
  await one.end('SIGKILL')
  await write([other], 2)
  assert.deepEqual(await counted(other), [42, 6, 6])
  const again = await startServer(t, settings)
  await write([again, other], 7)
  assert.deepEqual(await counted(again), [49, 7, 7])
})
