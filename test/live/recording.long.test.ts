import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { basic, keys } from '../support/app.ts'
import { startOf } from '../support/calls.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { limitDiskSize, limitFileSize } from '../support/limited-disk.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until, withTimeout } from '../support/wait.ts'

const project_id = 'acme/default'

async function serving(t: Parameters<typeof startServer>[0], folder: string, before: readonly string[] = []) {
  const settings = { HEDDLE_DATA: folder, HEDDLE_MODEL: 'builtin', HEDDLE_DOCS: 'off' }
  const server = await startServer(t, settings, before)
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  return server
}

const ask = (server: RunningServer, fields: object = {}, init: RequestInit = {}) =>
  server.post(chatUrl, asking({ max_tokens: 4, ...fields }), init)

async function callOf(server: RunningServer, id: string | null) {
  const answer = await server.post('/call/read', { project_id, id })
  return { status: answer.status, json: (await answer.json()) as { call: Call; code?: string } }
}

interface Call {
  id: string
  exception: string | null
  output: { choices: { message: { content: string }; finish_reason: string | null }[] }
}

/** Requests answers, streamed or not, and returns them by the ids of their calls. */
async function answered(server: RunningServer, count: number): Promise<Map<string, string>> {
  const contents = new Map<string, string>()
  const one = async (index: number) => {
    const answer = await ask(server, { stream: index % 2 === 1, seed: index })
    assert.equal(answer.status, 200)
    contents.set(answer.headers.get('x-heddle-call-id') as string, await answer.text())
  }
  await Promise.all(Array.from({ length: count }, (_, index) => one(index)))
  return contents
}

async function idsOf(server: RunningServer): Promise<Set<string>> {
  const answer = await server.post('/calls/stream_query', { project_id, columns: ['id'] })
  const lines = (await answer.text()).split('\n').filter(Boolean)
  return new Set(lines.map((line) => (JSON.parse(line) as { id: string }).id))
}

describe('P12: every answer is a call', () => {
  test('that can be read once the answer has arrived, and survives a kill', async (t) => {
    const folder = await newFolder(t)
    const server = await serving(t, folder)
    const answers = await answered(server, 24)
    for (const id of answers.keys()) assert.equal((await callOf(server, id)).status, 200)
    // Calls that were found are on disk.
    assert.equal(await server.end('SIGKILL'), 'SIGKILL')
    const again = await startServer(t, { HEDDLE_DATA: folder })
    assert.deepEqual(await idsOf(again), new Set(answers.keys()))
    assert.equal(await again.end('SIGTERM'), 0)
  })

  test('that a graceful stop does not lose, even for running answers', async (t) => {
    const folder = await newFolder(t)
    const server = await serving(t, folder)
    const answers = await answered(server, 8)
    const streams = await Promise.all(
      Array.from({ length: 4 }, () => ask(server, { stream: true, max_tokens: 60, ignore_eos: true })),
    )
    const stopped = server.end('SIGTERM')
    for (const stream of streams) {
      assert.ok((await stream.text()).endsWith('data: [DONE]\n\n'))
      answers.set(stream.headers.get('x-heddle-call-id') as string, '')
    }
    assert.equal(await withTimeout('the server ends', stopped), 0)
    const again = await startServer(t, { HEDDLE_DATA: folder })
    assert.deepEqual(await idsOf(again), new Set(answers.keys()))
    assert.equal(await again.end('SIGTERM'), 0)
  })

  test('even if the client disconnects, with the part that was generated', async (t) => {
    const server = await serving(t, await newFolder(t))
    for (const [calls, stream] of [true, false].entries()) {
      // Otherwise an answer that is still ending could be mistaken for the next one.
      await until('what was left before is a call', async () => (await idsOf(server)).size === calls)
      const leaving = new AbortController()
      const asked = ask(server, { stream, max_tokens: null, ignore_eos: true }, { signal: leaving.signal })
      if (stream) {
        const { body } = await asked
        await body?.getReader().read()
      } else {
        asked.catch(() => undefined)
        await until('it runs', async () => {
          const figures = await (await server.get('/metrics', keys.root)).text()
          return /^heddle_num_requests_running\{.*\} [1-9]/m.test(figures)
        })
      }
      leaving.abort()
    }
    await until('both are calls', async () => (await idsOf(server)).size === 2)
    for (const id of await idsOf(server)) {
      const { json } = await callOf(server, id)
      assert.equal(json.call.exception, 'client disconnected')
      assert.equal(json.call.output.choices[0]?.finish_reason, null)
    }
    assert.equal(await server.end('SIGTERM'), 0)
  })

  for (const [name, limited] of [
    ['full', (folder: string) => limitDiskSize(folder, 8 << 20)],
    ['failing', () => limitFileSize(8_000)],
  ] as const) {
    test(`while the disk is ${name} no answer is generated that must be recorded`, async (t) => {
      const folder = await newFolder(t)
      const disk = limited(folder)
      if (disk === undefined) return t.skip('no such disk can be had here')
      const server = await serving(t, folder, disk.before)
      const before = await answered(server, 3)
      const figure = async () =>
        /^heddle_prompt_tokens_total\{.*\} (\d+)/m.exec(
          await (await server.get('/metrics', keys.root)).text(),
        )?.[1]
      for (const stream of [true, false]) {
        // A checkpoint of SQLite may free space at any time, so an answer may be given once more.
        await until('an answer is refused', async () => {
          await fill(server)
          const generated = await figure()
          const refused = await ask(server, { stream })
          const text = await refused.text()
          if (refused.status === 200) return false
          const { error } = JSON.parse(text) as { error: { code: string } }
          assert.deepEqual([refused.status, error.code], [503, 'record_refuses_writes'])
          assert.equal(refused.headers.get('retry-after'), '1')
          assert.equal(await figure(), generated, 'no prompt was computed')
          return true
        })
      }
      for (const fields of [{ store: false }, {}]) {
        const headers = { authorization: basic(keys.alice), 'content-type': 'application/json' }
        const init = 'store' in fields ? {} : { headers: { ...headers, 'x-heddle-record': 'off' } }
        assert.equal(
          (await ask(server, fields, init)).status,
          200,
          'requests that are not recorded are served',
        )
      }
      for (const id of before.keys()) assert.equal((await callOf(server, id)).status, 200, 'reads still work')

      disk.lift(server.process.pid as number)
      await until('answers are given again', async () => (await ask(server)).status === 200)
      const after = await answered(server, 2)
      for (const id of after.keys()) assert.equal((await callOf(server, id)).status, 200)
      assert.equal(await server.end('SIGTERM'), 0)
    })
  }
})

/** Writes until neither large nor small writes are accepted. */
async function fill(server: RunningServer): Promise<void> {
  for (const bytes of [100_000, 100]) {
    for (;;) {
      const start = startOf({ inputs: { text: 'x'.repeat(bytes) } })
      const answer = await server.post('/call/start', { start })
      await answer.text()
      if (answer.status !== 200) break
    }
  }
}
