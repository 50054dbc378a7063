import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { basic, keys } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { laterBy, newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const settings = { HEDDLE_MODEL: 'builtin', HEDDLE_THREADS: '1' }

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
async function ok(server: RunningServer, url: string, body: object): Promise<any> {
  const answer = await server.post(url, body)
  const text = await answer.text()
  assert.equal(answer.status, 200, `${url}: ${text}`)
  return text === '' || text.includes('\n') ? text : JSON.parse(text)
}

async function watch(server: RunningServer, judge: object): Promise<string> {
  const { scorer } = await ok(server, `/v2/${project}/scorers`, { name: 'good', judge })
  const body = { project_id: project, name: 'watch', scorers: [{ scorer }] }
  return (await ok(server, '/monitors', body)).monitor.id
}

const scores = async (server: RunningServer) =>
  (await ok(server, '/feedback/query', { project_id: project })).result

test('an answer of the model is recorded and judged by the model, and the score survives a restart', async (t) => {
  const folder = await newFolder(t)
  let server = await startServer(t, { ...settings, HEDDLE_DATA: folder })
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  await watch(server, {
    prompt: 'Question: {inputs.messages.0.content}\nAnswer: {output.choices.0.message.content}\nIs it good?',
    schema: { type: 'object', properties: { good: { type: 'boolean' } }, required: ['good'] },
  })
  const asked = await server.post(
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 'What is a heddle?' }], max_tokens: 16 },
    {
      headers: {
        authorization: basic(keys.alice),
        'content-type': 'application/json',
        'x-heddle-project': project,
      },
    },
  )
  assert.equal(asked.status, 200, await asked.text())
  const call = asked.headers.get('x-heddle-call-id')
  await until('the answer is judged', async () => (await scores(server)).length > 0)
  const [score] = await scores(server)
  assert.equal(score.svc_ref, `weave:///${project}/call/${call}`)
  assert.equal(typeof score.payload.output.good, 'boolean')
  assert.equal(await server.end('SIGTERM'), 0)
  server = await startServer(t, { ...settings, HEDDLE_DATA: folder, HEDDLE_MODEL: 'none' })
  assert.deepEqual(await scores(server), [score])
  assert.equal(await server.end('SIGTERM'), 0)
})

test('a kill during judging neither loses nor repeats a judgement', async (t) => {
  const folder = await newFolder(t)
  const count = 12
  let server = await startServer(t, { ...settings, HEDDLE_DATA: folder })
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  const why = { type: 'string', minLength: 100, maxLength: 120 }
  const id = await watch(server, {
    prompt: 'Why is this so? {output}',
    schema: { type: 'object', properties: { why }, required: ['why'] },
  })
  const batch = Array.from({ length: count }, () => completeOf({ trace_id: randomUUID() }))
  await ok(server, `/v2/${project}/calls/complete`, { batch })
  await until('some are judged', async () => (await scores(server)).length > 0)
  assert.equal(await server.end('SIGKILL'), 'SIGKILL')
  // What the killed one had taken is free after 30 seconds; test/attack/cluster-holders.long.test.ts waits for them.
  server = await startServer(t, { ...settings, ...laterBy(31_000), HEDDLE_DATA: folder })
  const stats = async () =>
    (await ok(server, '/monitors/stats', { project_id: project, monitor_ids: [id] })).stats[0]
  await until('all are judged', async () => (await stats()).judged === count, 120_000)
  const said = await scores(server)
  const refs = said.map(({ svc_ref }: { svc_ref: string }) => svc_ref)
  assert.deepEqual(new Set(refs), new Set(batch.map((call) => `weave:///${project}/call/${call.id}`)))
  assert.equal(refs.length, count)
  const own = await ok(server, '/calls/query_stats', {
    project_id: project,
    filter: { op_names: ['heddle.judge'] },
  })
  assert.equal(own.count, count)
  assert.equal(await server.end('SIGTERM'), 0)
})
