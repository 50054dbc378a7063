import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys } from '../support/app.ts'
import { limitDiskSize } from '../support/limited-disk.ts'
import { startPostgres } from '../support/postgres.ts'
import { eventsOf, responseOf, responsesUrl } from '../support/responses.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const settings = { HEDDLE_MODEL: 'builtin', HEDDLE_THREADS: '1' }

async function started(t: Parameters<typeof startServer>[0], folder: string): Promise<RunningServer> {
  const server = await startServer(t, { ...settings, HEDDLE_DATA: folder })
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  return server
}

test('an answer that was reported as complete survives a kill, and can be continued', async (t) => {
  const folder = await newFolder(t)
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared, never trusted
  const told = new Map<string, any>()
  for (let kill = 0; kill < 3; kill++) {
    const server = await started(t, folder)
    let previous = [...told.keys()].at(-1)
    const goal = told.size + 8
    let ended: Promise<unknown> | undefined
    const ask = async (stream: boolean) => {
      while (ended === undefined) {
        const body = { input: 'Hi', max_output_tokens: 8, stream, previous_response_id: previous ?? null }
        try {
          const answer = await server.post(responsesUrl, body)
          assert.equal(answer.status, 200)
          const response = stream ? responseOf(eventsOf(await answer.text())) : await answer.json()
          told.set(response.id, response)
          // Conversations of several answers.
          previous = told.size % 4 === 0 ? undefined : response.id
        } catch (error) {
          if (ended === undefined) throw error
        }
        if (told.size >= goal) ended ??= server.end('SIGKILL')
      }
    }
    await Promise.all([ask(false), ask(true), ask(true)])
    assert.equal(await ended, 'SIGKILL')
  }
  const server = await started(t, folder)
  for (const [id, response] of told) {
    const answer = await server.get(`${responsesUrl}/${id}`)
    assert.deepEqual([answer.status, await answer.json()], [200, response])
  }
  const last = [...told.keys()].at(-1)
  const next = { input: 'And?', max_output_tokens: 4, previous_response_id: last }
  assert.equal((await server.post(responsesUrl, next)).status, 200)
  const other = await server.post(responsesUrl, next, { key: keys.bob })
  assert.equal(other.status, 400)
})

test('a client that disconnects before the end ends the answer, and it is not stored', async (t) => {
  const server = await started(t, await newFolder(t))
  const leaving = new AbortController()
  const body = { input: 'Tell me a long story.', stream: true, ignore_eos: true }
  const { body: stream } = await server.post(responsesUrl, body, { signal: leaving.signal })
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of stream as ReadableStream<Uint8Array>) {
    text += decoder.decode(piece, { stream: true })
    if (text.includes('output_text.delta')) break
  }
  leaving.abort()
  const id = /"id":"(resp_[0-9a-f]+)"/.exec(text)?.[1]
  await until('the engine is free', async () => {
    const figures = await (await server.get('/metrics', keys.root)).text()
    return /^heddle_num_requests_running\{.*\} 0$/m.test(figures)
  })
  assert.equal((await server.get(`${responsesUrl}/${id}`)).status, 404)
})

test('complete answers survive a full disk, and answers resume when there is space', async (t) => {
  const folder = await newFolder(t)
  const disk = limitDiskSize(folder, 16 << 20)
  if (disk === undefined) return t.skip('this user may not mount a small disk')
  const server = await startServer(t, { ...settings, HEDDLE_DATA: folder }, disk.before)
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  const kept: { id: string }[] = []
  // The model computes only its end; all of it is stored.
  const input = 'Hi '.repeat(200_000)
  const ask = async (stream: boolean) => {
    const body = { input, max_output_tokens: 2, truncate_prompt_tokens: 8, stream }
    const answer = await server.post(responsesUrl, body)
    if (answer.status !== 200) {
      assert.equal(answer.status, 503, await answer.text())
      return false
    }
    const response = stream ? responseOf(eventsOf(await answer.text())) : await answer.json()
    const isKept = response.status !== 'failed'
    if (isKept) kept.push(response)
    else assert.match(response.error.message, /disk of the record is full/)
    return isKept
  }
  const allThere = async () => {
    for (const response of kept) {
      const answer = await server.get(`${responsesUrl}/${response.id}`)
      assert.deepEqual(await answer.json(), response)
    }
  }
  for (let stream = false; await ask(stream); stream = !stream) assert.ok(kept.length < 200)
  assert.ok(kept.length > 0)
  await allThere()
  // SQLite may find room for one more where it writes its log from the beginning again.
  for (let asked = 0; asked < 5; asked++) await ask(asked % 2 === 0)
  await allThere()
  disk.lift(server.process.pid as number)
  await until('answers are kept again', () => ask(true))
  await allThere()
})

interface Told {
  id: string
  error: { code: string }
}

test('two processes on one database read, continue and delete the answers of each other', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const database = { ...settings, HEDDLE_DATABASE_URL: await postgres.createDatabase() }
  const [one, other] = [
    await startServer(t, { ...database, HEDDLE_DATA: await newFolder(t) }),
    await startServer(t, { ...database, HEDDLE_DATA: await newFolder(t) }),
  ]
  for (const server of [one, other])
    await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  const ask = async (server: RunningServer, fields: object) => {
    const answer = await server.post(responsesUrl, { input: 'Hi', max_output_tokens: 4, ...fields })
    return { status: answer.status, json: (await answer.json()) as Told }
  }
  const first = await ask(one, { request_id: 'shared' })
  assert.equal((await ask(other, { request_id: 'shared' })).status, 409)
  const second = await ask(other, { previous_response_id: first.json.id })
  assert.equal(second.status, 200, JSON.stringify(second.json))
  const both = await Promise.all([one, other].map((server) => ask(server, { request_id: 'at-once' })))
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409])
  const remove = async (server: RunningServer) => {
    const { status } = await fetch(`${server.address}${responsesUrl}/${first.json.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${keys.alice}` },
    })
    return status
  }
  assert.deepEqual((await Promise.all([remove(one), remove(other)])).toSorted(), [200, 404])
  for (const server of [one, other]) {
    assert.equal((await server.get(`${responsesUrl}/${first.json.id}`)).status, 404)
    const next = await ask(server, { previous_response_id: second.json.id })
    assert.equal(next.json.error.code, 'previous_response_not_found')
  }
})
