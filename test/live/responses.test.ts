import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys } from '../support/app.ts'
import { eventsOf, responseOf, responsesUrl } from '../support/responses.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/waiting.ts'

const settings = { HEDDLE_MODEL: 'builtin', HEDDLE_THREADS: '1' }

async function started(t: Parameters<typeof startServer>[0], folder: string): Promise<RunningServer> {
  const server = await startServer(t, { ...settings, HEDDLE_DATA: folder })
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  return server
}

test('an answer that was told as complete is there after a kill, and can be continued', async (t) => {
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
          // A conversation, and others beside it.
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

test('who leaves before the end ends the answer, and it is not kept', async (t) => {
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
    return /^heddle_num_requests_running 0$/m.test(figures)
  })
  assert.equal((await server.get(`${responsesUrl}/${id}`)).status, 404)
})
