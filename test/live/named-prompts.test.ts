import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRecord } from '../../src/storage/open.ts'
import { openApp } from '../support/app.ts'
import { startPostgres } from '../support/postgres.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'

const project_id = 'acme/default'

test('two servers on one PostgreSQL see each move of a label with its answer', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const databaseUrl = await postgres.createDatabase()
  const open = async () => {
    const database = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
    return openApp(t, { database, backend: scriptedBackend() })
  }
  const [one, other] = [await open(), await open()]
  const digests: string[] = []
  for (const content of ['One', 'Two']) {
    const kept = await one.post('/obj/create', {
      obj: { project_id, object_id: 'support', val: { content } },
    })
    digests.push(kept.json.digest)
  }
  for (let n = 0; n < 40; n++) {
    const [mover, asked] = n % 2 ? [one, other] : [other, one]
    const digest = digests[(n >> 1) % 2]
    const moved = await mover.post('/objs/support/aliases/production/move', { project_id, digest })
    assert.equal(moved.status, 200, moved.text)
    const answer = await asked.post('/v1/chat/completions', { prompt: { id: 'support' } })
    assert.equal(answer.headers['x-heddle-prompt'], `support:${digest}`)
  }
  // Two at once, on different servers, that looked at the same version.
  const expected_digest = digests[1]
  const move = (server: typeof one, digest: string | undefined) =>
    server.post('/objs/support/aliases/production/move', { project_id, digest, expected_digest })
  const answers = await Promise.all([move(one, digests[0]), move(other, digests[0])])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
  assert.equal(answers.find(({ status }) => status === 409)?.json.code, 'label_moved')
})
