import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openRecord } from '../../src/storage/open.ts'
import { logsOf, recordOf } from '../app/otel/otlp-logs.ts'
import { claudeBody, claudeHeaders, open, prompt, session } from '../app/recording/coding-agents.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { createRecord } from '../support/postgres-record.ts'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

const resource = { 'wandb.entity': 'acme', 'wandb.project': 'default' }

test('answers of one server, told at once to another on its PostgreSQL, are one call each', async (t) => {
  const databaseUrl = await createRecord(postgres)
  const server = async () =>
    open(t, { database: await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 }) })
  const [answering, told] = [await server(), await server()]
  const record = (event: string, attributes: object) =>
    recordOf(
      { 'session.id': session, 'prompt.id': 'p', 'event.name': event, ...attributes },
      {
        timeUnixNano: String(BigInt(Date.now()) * 1_000_000n),
        body: { stringValue: `claude_code.${event}` },
      },
    )
  const send = async (...records: object[]) =>
    assert.equal((await told.post('/v1/logs', logsOf(records, resource))).status, 200)
  await send(record('user_prompt', { prompt: 'List it' }))
  const asked = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const { id, request } = await answering.ask(
        '/v1/messages',
        claudeHeaders,
        claudeBody([prompt('List it')]),
      )
      await send(record('api_request', { model: 'scripted', request_id: request, cost_usd: 1 }))
      return id
    }),
  )
  // Reading a call waits until it is written.
  for (const id of asked) await answering.callOf(id)
  const calls = await told.lines('/calls/stream_query', { filter: { thread_ids: [session] } })
  assert.deepEqual(
    calls.map(({ id, op_name }) => (op_name === 'claude_code.turn' ? op_name : id)).sort(),
    ['claude_code.turn', ...asked].sort(),
  )
  const { turn_count, cost } = await told.threadOf(session)
  assert.deepEqual([turn_count, cost], [1, 30])
})
