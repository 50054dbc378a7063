import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { keys } from '../support/app.ts'
import type { ReceivedAnswer } from '../support/chat-server.ts'
import { enginePid } from '../support/engine-pid.ts'
import { type RandomEncoderShape, writeRandomEncoder } from '../support/random-encoder.ts'
import { newFolder, pairs, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const url = '/v1/embeddings'
const project_id = 'acme/default'

async function serving(t: TestContext, shape: Partial<RandomEncoderShape> = {}) {
  const folder = await newFolder(t)
  const file = join(folder, 'encoder.gguf')
  await writeRandomEncoder(file, shape)
  const server = await startServer(t, {
    HEDDLE_DATA: folder,
    HEDDLE_MODEL: file,
    HEDDLE_MODEL_NAME: 'encoder',
    HEDDLE_DIMENSIONS: '16',
  })
  await ready(server)
  return server
}

const ready = (server: RunningServer) =>
  until('the model is ready', async () => (await server.get('/ready')).status === 200)

async function asked(
  server: RunningServer,
  to: string,
  body: object,
): Promise<Pick<ReceivedAnswer, 'status' | 'json'>> {
  const answer = await server.post(to, body)
  return { status: answer.status, json: await answer.json() }
}

async function vectorsOf(server: RunningServer, body: object): Promise<number[][]> {
  const { status, json } = await asked(server, url, body)
  assert.equal(status, 200, JSON.stringify(json).slice(0, 300))
  return json.data.map(({ embedding }: { embedding: number[] }) => embedding)
}

async function callsOf(server: RunningServer) {
  const answer = await server.post('/calls/stream_query', { project_id })
  const lines = (await answer.text()).split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as { exception: string | null; summary: { usage: object } })
}

test('a server with an encoder computes vectors, refuses to generate text, and survives a killed engine', async (t) => {
  const server = await serving(t)
  const [card] = ((await (await server.get('/v1/models')).json()) as { data: Record<string, unknown>[] }).data
  assert.deepEqual([card?.tasks, card?.dimensions, card?.max_model_len], [['embeddings'], 64, 128])
  const [vector = []] = await vectorsOf(server, { input: 'the cat sat' })
  assert.equal(vector.length, 64)
  const [short = []] = await vectorsOf(server, { input: 'the cat sat', dimensions: 16 })
  assert.ok(Math.abs(Math.hypot(...short) - 1) < 1e-6 && short.length === 16)
  const messages = [{ role: 'user', content: 'Hi' }]
  for (const [to, body] of [
    ['/v1/chat/completions', { messages }],
    ['/v1/completions', { prompt: 'Hi' }],
    ['/v1/responses', { input: 'Hi' }],
    ['/v1/rerank', { query: 'a', documents: ['b'] }],
  ] as const) {
    const { status, json } = await asked(server, to, body)
    assert.deepEqual([status, json.error.code], [400, 'model_lacks'], to)
  }
  const { json: tokens } = await asked(server, '/tokenize', { prompt: 'the cat' })
  assert.equal(tokens.count, 4)
  process.kill(enginePid(server), 'SIGKILL')
  await until('another engine answers', async () => (await server.post(url, { input: 'cat' })).status === 200)
  assert.deepEqual((await vectorsOf(server, { input: 'the cat sat' }))[0], vector)
  assert.equal(await server.end('SIGTERM'), 0)
})

test('a request whose client disconnects is recorded as a call that says so', async (t) => {
  const server = await serving(t)
  const leaving = new AbortController()
  const input = Array.from({ length: 2_048 }, () => 'the cat sat on the mat. '.repeat(12))
  const left = server.post(url, { input }, { signal: leaving.signal })
  await until('the model reads', async () => {
    const figures = await (await server.get('/metrics', keys.root)).text()
    return /^heddle_num_requests_running\{.*\} 1$/m.test(figures)
  })
  leaving.abort()
  await assert.rejects(left)
  assert.equal((await vectorsOf(server, { input: 'cat' })).length, 1)
  await until('both are calls', async () => (await callsOf(server)).length === 2)
  const exceptions = (await callsOf(server)).map(({ exception }) => exception)
  assert.deepEqual(new Set(exceptions), new Set([null, 'client disconnected']))
})

test('a reranker sorts documents, and a gateway forwards both APIs', async (t) => {
  pairs.isOn = true
  t.after(() => {
    pairs.isOn = false
  })
  const ranking = await serving(t, { pooling: 'rank' })
  const documents = ['the cat', 'heddle lifts thread', 'loom', 'mat on mat']
  const { status, json } = await asked(ranking, '/rerank', { query: 'cat', documents, top_n: 3 })
  assert.equal(status, 200)
  const scores = json.results.map((one: { relevance_score: number }) => one.relevance_score)
  assert.deepEqual(
    scores,
    scores.toSorted((one: number, other: number) => other - one),
  )
  assert.equal(new Set(scores).size, 3)
  for (const { index, document } of json.results) assert.equal(document.text, documents[index])
  assert.ok(json.usage.prompt_tokens > 10)
  const embedding = await serving(t)
  const vectors = await vectorsOf(embedding, { input: documents })
  pairs.isOn = false
  assert.deepEqual(await vectorsOf(await serving(t), { input: documents }), vectors)
  const refused = await asked(embedding, '/v1/chat/completions', {
    messages: [{ role: 'user', content: 'Hi' }],
  })
  assert.deepEqual([refused.status, refused.json.error.code], [400, 'model_lacks'])
})
