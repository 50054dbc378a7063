import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { endOf, startOf } from '../support/calls.ts'
import { asking, assertRefused, chatUrl, eventsOf } from '../support/chat.ts'
import { type ReceivedAnswer, startChatServer } from '../support/chat-server.ts'
import { enginePid } from '../support/engine-pid.ts'
import { writeRandomModel } from '../support/random-model.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until, withTimeout } from '../support/wait.ts'

/** The record works as usual. */
async function recordAnswers(server: RunningServer): Promise<void> {
  const id = randomUUID()
  assert.equal((await server.post('/call/start', { start: startOf({ id }) })).status, 200)
  assert.equal((await server.post('/call/end', { end: endOf(id) })).status, 200)
  assert.equal((await server.get('/health')).status, 200)
}

for (const [signal, why] of [
  ['SIGKILL', /ended by SIGKILL/],
  ['SIGSTOP', /stopped answering/],
] as const) {
  test(`an engine that gets ${signal} fails the requests in it with an error, and nothing else`, async (t) => {
    const server = await startChatServer(t, {
      model: { context: 65_536, layers: 2 },
      settings: { HEDDLE_PARALLEL: '3', HEDDLE_CONTEXT: '65536' },
    })
    const endless = { max_tokens: 60_000, ignore_eos: true }
    // Two that are decoding, one in prefill, and two that wait, with streamed and whole answers.
    const visits: { stream: boolean; answer: Promise<ReceivedAnswer> }[] = []
    const visit = (fields: object) =>
      visits.push({ stream: 'stream' in fields, answer: server.ask({ ...endless, ...fields }) })
    visit({ stream: true })
    visit({})
    await until('two write', async () => (await server.figure('heddle_request_prompt_tokens_count')) === 2)
    visit({ stream: true, messages: [{ role: 'user', content: 'x'.repeat(5_000) }] })
    await until(
      'all places are taken',
      async () => (await server.figure('heddle_num_requests_running')) === 3,
    )
    visit({ stream: true })
    visit({})
    await until('two wait', async () => (await server.figure('heddle_num_requests_waiting')) === 2)

    const engine = enginePid(server)
    process.kill(engine, signal)
    const answers = Promise.all(visits.map(({ answer }) => answer))
    let isOver = false
    const over = withTimeout('all are told', answers).finally(() => {
      isOver = true
    })
    do await recordAnswers(server)
    while (!isOver)

    for (const [place, answer] of (await over).entries()) {
      if (visits[place]?.stream) {
        assert.equal(answer.status, 200)
        const { error } = eventsOf(answer.text)
        assert.deepEqual([error?.code, error?.param], ['engine_failed', null])
        assert.match(error?.message ?? '', why)
      } else {
        assertRefused(answer, { status: 503, code: 'engine_failed', param: null, message: why })
      }
    }
    await until('another engine is ready', async () => (await server.get('/ready')).status === 200)
    // Its log line may come later than the answer that it is ready.
    await until('the log names the other engine', () => enginePid(server) !== engine)
    const { usage } = await server.said({ max_tokens: 5, ignore_eos: true })
    assert.equal(usage.completion_tokens, 5)
    await recordAnswers(server)
    assert.equal(await server.end('SIGTERM'), 0)
  })
}

/** Faults of a file that only the engine detects. */
const flaws: Record<string, (file: string) => Promise<void>> = {
  'a model without a single layer': (file) => writeRandomModel(file, { layers: 0 }),
  async 'a file that was cut off'(file) {
    await writeRandomModel(file, { layers: 4 })
    await truncate(file, (await readFile(file)).length - 4_096)
  },
  async 'a tokenizer that has a token twice'(file) {
    await writeRandomModel(file)
    const bytes = await readFile(file)
    const key = 'tokenizer.ggml.tokens'
    // After the key come the types, the count, and each text after its length.
    const first = bytes.indexOf(key) + key.length + 4 + 4 + 8
    const length = Number(bytes.readBigUInt64LE(first))
    bytes.copy(bytes, first + 8 + length + 8, first + 8, first + 8 + length)
    await writeFile(file, bytes)
  },
}

for (const [name, write] of Object.entries(flaws)) {
  test(`${name} leaves the record available, and the fault is reported`, async (t) => {
    const folder = await newFolder(t)
    const file = join(folder, 'flawed.gguf')
    await write(file)
    const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_MODEL: file })
    const readiness = async () => {
      const answer = await server.get('/ready')
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    }
    await until('it is known that the model cannot be served', async () => {
      await recordAnswers(server)
      return (await readiness()).body.model === 'failed'
    })
    const { status, body } = await readiness()
    assert.deepEqual([status, body.code, body.record], [503, 'model_not_ready', 'ready'])
    assert.match(String(body.reason), /cannot be served/)
    for (const stream of [false, true]) {
      const answer = await server.post(chatUrl, asking({ stream }))
      const json = (await answer.json()) as { error: { code: string; message: string } }
      assert.deepEqual([answer.status, json.error.code], [503, 'model_not_ready'])
      t.diagnostic(json.error.message)
      assert.ok(json.error.message.length > 'The model is not ready: .'.length)
      assert.ok(!json.error.message.includes(folder), 'the location of the model is only in the log')
    }
    await recordAnswers(server)
    assert.equal(await server.end('SIGTERM'), 0)
  })
}
