import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRecord } from '../../src/storage/open.ts'
import { openApp } from '../support/app.ts'
import { startPostgres } from '../support/postgres.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'
import { until } from '../support/wait.ts'

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

test('two servers on one PostgreSQL ask each shadowed call once, and see at once that it ended', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const databaseUrl = await postgres.createDatabase()
  const open = async () => {
    const database = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
    return openApp(t, { database, backend: scriptedBackend(), sweep: true })
  }
  const [one, other] = [await open(), await open()]
  for (const content of ['One', 'Two'])
    await one.post('/obj/create', { obj: { project_id, object_id: 'support', val: { content } } })
  const label = '/objs/support/aliases/production'
  await one.post(`${label}/move`, { project_id, digest: 'v0' })
  const check = { kind: 'length', max: 100 }
  const scorer = (await one.post(`/v2/${project_id}/scorers`, { name: 'short', check })).json.scorer
  const shadow = { version: 'v1', share: 1, scorer, field: 'length' }
  const set = await one.send('PUT', `${label}/shadow`, { project_id, shadow })
  assert.equal(set.status, 200, set.text)
  const read = async (server: typeof one) =>
    (await server.get(`${label}/shadow?project_id=${project_id}`)).json
  const ask = (server: typeof one) => server.post('/v1/chat/completions', { prompt: { id: 'support' } })
  // The first request after the answer, on the other server.
  await ask(other)
  await until('it is paired', async () => (await read(one)).pairs === 1)
  await Promise.all(Array.from({ length: 24 }, (_, n) => ask(n % 2 ? one : other)))
  await until('all are paired', async () => (await read(other)).pairs === 25)
  const ended = await other.send('DELETE', `${label}/shadow?project_id=${project_id}`)
  assert.equal(ended.json.shadow.why_ended, 'it was removed')
  await ask(one)
  const filter = { op_names: ['heddle.chat.completions'] }
  await until('the last one is recorded', async () => {
    const { text } = await one.post('/calls/stream_query', { project_id, filter })
    return text.split('\n').filter((line) => line !== '').length === 26
  })
  const { pairs, ties, waiting, skipped } = await read(one)
  assert.deepEqual([pairs, ties, waiting, skipped], [25, 25, 0, 0])
  const own = { project_id, filter: { op_names: ['heddle.shadow'] } }
  const shadows = (await one.post('/calls/stream_query', own)).text.split('\n').filter((line) => line !== '')
  assert.equal(shadows.length, 25)
})
