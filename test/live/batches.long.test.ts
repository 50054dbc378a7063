import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openRecord } from '../../src/storage/open.ts'
import { keys, openApp } from '../support/app.ts'
import { type FakeUpstream, modelsOfUpstream, startFakeUpstream } from '../support/fake-upstream.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { laterBy, newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

let postgres: TestPostgres

before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

const endpoint = '/v1/chat/completions'
const headers = { authorization: `Bearer ${keys.alice}` }

/** Echoes the question, after a while. */
const echoing = (t: Parameters<typeof startFakeUpstream>[0], ms: number): Promise<FakeUpstream> =>
  startFakeUpstream(t, async (response, { body }) => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    const content = body.messages.at(-1).content
    const chunk = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }))
    response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    response.end('data: [DONE]\n\n')
  })

interface Batch {
  id: string
  status: string
  output_file_id: string
  request_counts: { total: number; completed: number; failed: number }
}

type Fetch = (path: string, init?: RequestInit) => Promise<Response>

async function begin(fetched: Fetch, count: number): Promise<Batch> {
  const form = new FormData()
  const lines = Array.from({ length: count }, (_, at) => {
    const body = { model: 'far', messages: [{ role: 'user', content: `question ${at}` }] }
    return JSON.stringify({ custom_id: `${at}`, method: 'POST', url: endpoint, body })
  })
  form.append('purpose', 'batch')
  form.append('file', new Blob([lines.join('\n')]), 'in.jsonl')
  const file = (await (await fetched('/v1/files', { method: 'POST', body: form })).json()) as { id: string }
  const made = await fetched('/v1/batches', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input_file_id: file.id, endpoint, completion_window: '24h' }),
  })
  assert.equal(made.status, 200, await made.clone().text())
  return made.json() as Promise<Batch>
}

const read = async (fetched: Fetch, id: string) =>
  (await (await fetched(`/v1/batches/${id}`)).json()) as Batch

/** Each line is in the output once, with the answer to its own question. */
async function assertWhole(fetched: Fetch, batch: Batch, count: number): Promise<void> {
  assert.deepEqual(batch.request_counts, { total: count, completed: count, failed: 0 })
  const text = await (await fetched(`/v1/files/${batch.output_file_id}/content`)).text()
  const answers = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .map(({ custom_id, response }) => `${custom_id}: ${response.body.choices[0].message.content}`)
  assert.deepEqual(
    answers,
    Array.from({ length: count }, (_, at) => `${at}: question ${at}`),
  )
}

const kills = 10
const noResults = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 }

/**
 * A killed server's batch is free for the next only after ten seconds. The second server waits for them, and each one after
 * it has a clock that is later by as much.
 */
const clockOf = (start: number): Record<string, string> => (start < 2 ? {} : laterBy((start - 1) * 11_000))

/** They wait side by side. */
describe('a batch whose server is killed', { concurrency: true }, () => {
  test(`each line of a batch is answered once, though the server is killed ${kills} times`, async (t) => {
    const [folder, upstream] = [await newFolder(t), await echoing(t, 30)]
    const settings = { HEDDLE_DATA: folder, HEDDLE_MODEL: upstream.url }
    const count = 60 * (kills + 1)
    const fetchedFrom =
      ({ address }: RunningServer): Fetch =>
      (path, init) =>
        fetch(`${address}${path}`, { ...init, headers: { ...init?.headers, ...headers } })
    let id = ''
    let answered = 0
    for (let kill = 0; kill <= kills; kill++) {
      const server = await startServer(t, { ...settings, ...clockOf(kill) })
      const fetched = fetchedFrom(server)
      if (kill === 0) id = (await begin(fetched, count)).id
      const before = answered
      await until('some more are answered', async () => {
        answered = (await read(fetched, id)).request_counts.completed
        return answered >= Math.min(count, before + 20)
      })
      if (kill < kills) await server.end('SIGKILL')
      else {
        await until('the batch is over', async () => (await read(fetched, id)).status === 'completed')
        await assertWhole(fetched, await read(fetched, id), count)
        // A kill repeats no more than what was being asked.
        assert.ok(upstream.asked.length <= count + kills * 8, `${upstream.asked.length} requests`)
        assert.equal(await server.end('SIGTERM'), 0)
      }
    }
  })

  test(`each request of a batch of messages has one result, though the server is killed ${kills} times`, async (t) => {
    const [folder, upstream] = [await newFolder(t), await echoing(t, 30)]
    const settings = { HEDDLE_DATA: folder, HEDDLE_MODEL: upstream.url }
    const count = 60 * (kills + 1)
    const requests = Array.from({ length: count }, (_, at) => ({
      custom_id: `${at}`,
      params: { model: 'far', max_tokens: 16, messages: [{ role: 'user', content: `question ${at}` }] },
    }))
    let id = ''
    for (let kill = 0; kill <= kills; kill++) {
      const server = await startServer(t, { ...settings, ...clockOf(kill) })
      const url = `${server.address}/v1/messages/batches`
      const json = { ...headers, 'content-type': 'application/json' }
      if (kill === 0) {
        const made = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify({ requests }) })
        id = ((await made.json()) as { id: string }).id
      }
      const before = upstream.asked.length
      const seen = async () =>
        (await (await fetch(`${url}/${id}`, { headers })).json()) as Record<string, unknown>
      if (kill < kills) {
        await until('some more are asked', () => upstream.asked.length >= before + 20)
        const { processing_status, request_counts } = await seen()
        assert.equal(processing_status, 'in_progress')
        assert.deepEqual(request_counts, { ...noResults, processing: count })
        await server.end('SIGKILL')
        continue
      }
      await until('the batch is over', async () => (await seen()).processing_status === 'ended')
      const { request_counts, results_url } = await seen()
      assert.deepEqual(request_counts, { ...noResults, succeeded: count })
      const text = await (await fetch(String(results_url), { headers })).text()
      assert.deepEqual(
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line))
          .map(({ custom_id, result }) => `${custom_id}: ${result.message.content[0].text}`),
        Array.from({ length: count }, (_, at) => `${at}: question ${at}`),
      )
      // A kill repeats no more than what was being asked.
      assert.ok(upstream.asked.length <= count + kills * 8, `${upstream.asked.length} requests`)
      assert.equal(await server.end('SIGTERM'), 0)
    }
  })
})

test('two servers on one PostgreSQL answer two batches, each line once', async (t) => {
  const upstream = await echoing(t, 5)
  const databaseUrl = await postgres.createDatabase()
  const open = async () => {
    const { app } = await openApp(t, {
      database: await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 }),
      models: await modelsOfUpstream([upstream.url]),
      sweep: true,
    })
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    const fetched: Fetch = (path, init) =>
      fetch(`${address}${path}`, { ...init, headers: { ...init?.headers, ...headers } })
    return fetched
  }
  const [first, second] = [await open(), await open()]
  const count = 150
  const batches = await Promise.all([begin(first, count), begin(second, count)])
  for (const { id } of batches) {
    await until('the batch is over', async () => (await read(second, id)).status === 'completed')
    await assertWhole(first, await read(first, id), count)
  }
  assert.equal(upstream.asked.length, 2 * count)
})
