import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { keys } from '../../support/app.ts'
import { project, startOf } from '../../support/calls.ts'
import { writeRandomModel } from '../../support/random-model.ts'
import { newFolder, type RunningServer, startServer } from '../../support/server.ts'
import { until } from '../../support/wait.ts'
import { type FakeHubOptions, startFakeHub } from './fake-hub.ts'

async function modelIn(t: TestContext): Promise<string> {
  const file = join(await newFolder(t), 'tiny.gguf')
  await writeRandomModel(file, { context: 2048 })
  return file
}

const modelState = async (server: RunningServer) => {
  const answer = await server.get('/ready')
  return ((await answer.json()) as { model?: string }).model
}

const becomes = (server: RunningServer, state: string) =>
  until(`the model is ${state}`, async () => (await modelState(server)) === state)

async function recordWorks(server: RunningServer): Promise<void> {
  const start = startOf()
  assert.equal((await server.post('/call/start', { start })).status, 200)
  const read = await server.post('/call/read', { project_id: project, id: start.id })
  assert.equal(read.status, 200)
}

test('a model given by its path is listed, tokenizes, completes and appears in the metrics', async (t) => {
  const settings = {
    HEDDLE_DATA: await newFolder(t),
    HEDDLE_MODEL: await modelIn(t),
    HEDDLE_MODEL_NAME: 'one,two/2',
  }
  const server = await startServer(t, settings)
  await recordWorks(server)
  await becomes(server, 'ready')
  assert.equal((await server.get('/ready')).status, 200)
  const json = async (answer: Promise<Response>) => {
    const { status, ok } = await answer
    assert.ok(ok, String(status))
    // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
    return (await (await answer).json()) as any
  }
  const models = await json(server.get('/v1/models'))
  assert.deepEqual(
    models.data.map(({ id, root, max_model_len }: Record<string, unknown>) => [id, root, max_model_len]),
    [
      ['one', 'one', 2048],
      ['two/2', 'one', 2048],
    ],
  )
  const text = 'Grüße an 👍 alle'
  const { tokens, count } = await json(server.post('/tokenize', { prompt: text, model: 'two/2' }))
  assert.equal(count, tokens.length)
  assert.equal((await json(server.post('/detokenize', { tokens }))).prompt, text)
  const beyond = await server.post('/detokenize', { tokens: [1_000_000] })
  assert.equal(beyond.status, 400)

  const body = {
    prompt: tokens,
    max_tokens: 5,
    temperature: 0,
    ignore_eos: true,
    return_token_ids: true,
    logprobs: 3,
  }
  const completion = await json(server.post('/v1/completions', body))
  const [choice] = completion.choices
  assert.deepEqual(choice.prompt_token_ids, tokens)
  assert.deepEqual([choice.token_ids.length, choice.logprobs.tokens.length], [5, 5])
  assert.equal(choice.finish_reason, 'length')
  assert.deepEqual([completion.usage.prompt_tokens, completion.usage.completion_tokens], [tokens.length, 5])
  const judged = await json(
    server.post('/v1/completions', { prompt: text, echo: true, max_tokens: 0, logprobs: 1 }),
  )
  assert.equal(judged.choices[0].text, text)
  const [first, ...rest] = judged.choices[0].logprobs.token_logprobs
  assert.equal(first, null)
  assert.equal(rest.length, tokens.length - 1)
  for (const logprob of rest) assert.ok(logprob < 0)

  const metrics = await (await server.get('/metrics', keys.root)).text()
  assert.match(metrics, /\nheddle_model_ready 1\n/)
  assert.match(metrics, /\nheddle_generation_tokens_total\{.*\} [1-9]/)
  assert.match(metrics, /\nheddle_request_queue_time_seconds_count\{.*\} 2\n/)
  assert.equal(await server.end('SIGTERM'), 0)
})

test('a model that cannot be served does not affect the record', async (t) => {
  const settings = { HEDDLE_DATA: await newFolder(t), HEDDLE_MODEL: '/nowhere/m.gguf' }
  const server = await startServer(t, settings)
  await becomes(server, 'failed')
  await recordWorks(server)
  const ready = await server.get('/ready')
  assert.equal(ready.status, 503)
  assert.doesNotMatch(await ready.text(), /nowhere/)
  const chat = await server.post('/v1/completions', { prompt: 'x' })
  assert.equal(chat.status, 503)
  assert.equal(server.log.filter((line) => line.includes('the model cannot be served')).length, 1)
  assert.equal(await server.end('SIGTERM'), 0)
})

test('the record answers while a model is downloaded, and the model once it has arrived', async (t) => {
  const bytes = await readFile(await modelIn(t))
  const options: FakeHubOptions = { repositories: { 'acme/tiny': { 'm-Q4_0.gguf': bytes } }, status: 503 }
  const hub = await startFakeHub(t, options)
  const settings = {
    HEDDLE_DATA: await newFolder(t),
    HEDDLE_MODEL: 'hf:acme/tiny',
    HF_ENDPOINT: hub.endpoint,
  }
  const server = await startServer(t, settings)
  await recordWorks(server)
  await becomes(server, 'failed')
  assert.equal(await server.end('SIGTERM'), 0)

  delete options.status
  const again = await startServer(t, settings)
  await becomes(again, 'ready')
  assert.ok(again.log.some((line) => line.includes('downloading acme/tiny:m-Q4_0.gguf: 100 %')))
  assert.equal(await again.end('SIGTERM'), 0)
})

test('stopping gives running streams some time, then ends them, and leaves no engine behind', async (t) => {
  const settings = { HEDDLE_DATA: await newFolder(t), HEDDLE_MODEL: await modelIn(t), HEDDLE_GRACE: '300' }
  const server = await startServer(t, settings)
  await becomes(server, 'ready')
  const loaded = server.log.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'the model is loaded')
  const short = server.post('/v1/completions', { prompt: 'a', max_tokens: 3, ignore_eos: true })
  const streams = await Promise.all(
    Array.from({ length: 3 }, () =>
      server.post('/v1/completions', { prompt: 'a', max_tokens: 1900, ignore_eos: true, stream: true, n: 4 }),
    ),
  )
  const read = Promise.allSettled(streams.map((stream) => stream.text()))
  assert.equal((await short).status, 200)
  assert.equal(await server.end('SIGTERM'), 0)
  await read
  await until('the engine has ended', () => {
    try {
      process.kill(loaded.engine, 0)
      return false
    } catch {
      return true
    }
  })
})
