import assert from 'node:assert/strict'
import { rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { keys } from '../support/app.ts'
import { runCommand } from '../support/commands.ts'
import { writeRandomModel } from '../support/random-model.ts'
import { newFolder, type RunningServer, runHeddle, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Three local models in one server, whose memory limit fits two of them. */

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => ends.unshift(end) }
let folder: string
let list: string
let server: RunningServer

const entry = (name: string) => ({ name, file: `${name}.gguf`, context: 8192, parallel: 2 })

/** Slow enough to be observed while they stream. */
const shape = { layers: 6, hidden: 128, heads: 4, kvHeads: 1, ffn: 512 }

/** More tokens than are written during a test. */
const long = 8_000
const usual = {
  default: 'two',
  models: [
    { ...entry('one'), aliases: ['first'] },
    entry('two'),
    entry('three'),
    { ...entry('gone'), fallbacks: ['nobody', 'one'] },
    { name: 'nobody', upstream: 'away' },
  ],
  // No server listens there.
  upstreams: [{ name: 'away', kind: 'openai', addresses: ['http://127.0.0.1:9/v1'], timeout: 2_000 }],
}

before(async () => {
  folder = await newFolder(file)
  list = join(folder, 'models.json')
  for (const [seed, name] of ['one', 'two', 'three'].entries()) {
    await writeRandomModel(join(folder, `${name}.gguf`), { ...shape, seed: seed + 1 })
  }
  await writeFile(list, JSON.stringify(usual))
  server = await startServer(file, {
    HEDDLE_DATA: join(folder, 'data'),
    HEDDLE_MODEL: '',
    HEDDLE_MODELS: list,
    HEDDLE_MODELS_MEMORY: '320MiB',
  })
  const isFound = async () => (await states()).filter(({ state }) => state === 'unloaded').length === 3
  await until('the files are found', isFound)
})

after(async () => {
  for (const end of ends) await end()
})

interface Shown {
  names: string[]
  state: string
  engine_bytes: number | null
}

async function states(): Promise<Shown[]> {
  const { models } = (await (await server.get('/views/engine', keys.root)).json()) as { models: Shown[] }
  return models
}

const stateOf = async (name: string) => (await states()).find(({ names }) => names[0] === name)?.state

const question = (model: string | undefined, more = {}) => ({
  ...(model !== undefined && { model }),
  messages: [{ role: 'user', content: 'Say something.' }],
  max_tokens: 8,
  ignore_eos: true,
  ...more,
})

const ask = (model: string | undefined, more = {}, init = {}) =>
  server.post('/v1/chat/completions', question(model, more), init)

async function answered(model: string | undefined, more = {}) {
  const answer = await ask(model, more)
  const body = (await answer.json()) as {
    model: string
    usage: { completion_tokens: number }
    error?: { message: string; code: string }
  }
  return { status: answer.status, ...body, call: answer.headers.get('x-heddle-call-id') }
}

/** The number of tokens of a stream, which must be complete. */
async function streamed(model: string, tokens: number) {
  const answer = await ask(model, {
    stream: true,
    max_tokens: tokens,
    stream_options: { include_usage: true },
  })
  assert.equal(answer.status, 200)
  const text = await answer.text()
  assert.ok(text.endsWith('data: [DONE]\n\n'), text.slice(-300))
  const usage = /"completion_tokens":(\d+)/.exec(text)?.[1]
  return Number(usage)
}

test('each model is loaded on demand by any of its names, and the default answers requests without a name', async () => {
  assert.deepEqual(
    (await states()).map(({ names, state }) => [names[0], state]),
    [
      ['two', 'unloaded'],
      ['one', 'unloaded'],
      ['three', 'unloaded'],
      ['gone', 'failed'],
      ['nobody', 'starting'],
    ],
  )
  assert.equal((await answered(undefined)).model, 'two')
  assert.equal((await answered('first')).model, 'one')
  assert.equal((await answered('three')).model, 'three')
  // The least recently used model.
  await until('its memory was needed', async () => (await stateOf('two')) === 'unloaded')
  const ready = (await (await server.get('/ready')).json()) as { models: object }
  assert.deepEqual(ready.models, { ready: 2, unloaded: 1, starting: 1, failed: 1 })
})

test('every API routes by name, and loads an unloaded model again', async () => {
  const ways: [url: string, body: object, of: (body: Record<string, unknown>) => unknown][] = [
    ['/v1/completions', { prompt: 'a', max_tokens: 4 }, ({ model }) => model],
    ['/v1/responses', { input: 'a', max_output_tokens: 4 }, ({ model }) => model],
    ['/v1/messages', { messages: [{ role: 'user', content: 'a' }], max_tokens: 4 }, ({ model }) => model],
  ]
  for (const [index, [url, body, of]] of ways.entries()) {
    const model = ['two', 'three', 'one'][index % 3] as string
    const answer = await server.post(url, { model, ...body })
    assert.equal(of((await answer.json()) as Record<string, unknown>), model, url)
  }
  for (const model of ['two', 'three', 'one']) {
    const { tokens } = (await (await server.post('/tokenize', { model, prompt: 'Hello' })).json()) as {
      tokens: number[]
    }
    const { prompt } = (await (await server.post('/detokenize', { model, tokens })).json()) as {
      prompt: string
    }
    assert.equal(prompt, 'Hello')
  }
  const choice = await answered('two', { structured_outputs: { choice: ['yes', 'no'] }, ignore_eos: false })
  assert.equal(choice.status, 200)
  const info = (await (await server.get('/tokenizer_info?model=three')).json()) as { bos_token: string }
  assert.equal(info.bos_token, '<|bos|>')
})

test('no answer is lost when all three are used at once, streamed or not', async () => {
  const models = ['one', 'two', 'three']
  let most = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const ready = (await states()).filter(
        ({ names, state }) => models.includes(names[0] as string) && state === 'ready',
      )
      most = Math.max(most, ready.length)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })()
  const asked = Array.from({ length: 18 }, async (_, index) => {
    const model = models[index % 3] as string
    if (index % 2 === 0) return assert.equal(await streamed(model, 200), 200)
    const { status, ...answer } = await answered(model, { max_tokens: 100 })
    assert.deepEqual(
      [status, answer.model, answer.usage?.completion_tokens],
      [200, model, 100],
      JSON.stringify(answer),
    )
  })
  await Promise.all(asked)
  isOver = true
  await watching
  assert.equal(most, 2)
})

test('with more requests for unloaded models than the queue allows, each is answered or refused with a reason', async (t) => {
  const full = await startServer(t, {
    HEDDLE_DATA: await newFolder(t),
    HEDDLE_MODEL: '',
    HEDDLE_MODELS: list,
    HEDDLE_MODELS_MEMORY: '320MiB',
    HEDDLE_QUEUE: '12',
  })
  await until('the files are found', async () => {
    const shown = (await (await full.get('/views/engine', keys.root)).json()) as { models: Shown[] }
    return shown.models.filter(({ state }) => state === 'unloaded').length === 3
  })
  const models = ['one', 'two', 'three']
  const askFull = async (index: number) => {
    const key = [keys.alice, keys.bob, keys.root][index % 7 === 0 ? 1 : index % 2 === 0 ? 0 : 2] as string
    const answer = await full.post('/v1/chat/completions', question(models[index % 3]), { key })
    const json = (await answer.json()) as {
      usage?: { completion_tokens: number }
      error?: { code: string }
    }
    return answer.status === 200 ? json.usage?.completion_tokens : `${answer.status} ${json.error?.code}`
  }
  const ends = new Set(await Promise.all(Array.from({ length: 90 }, (_, index) => askFull(index))))
  const defined = new Set<unknown>([8, '429 engine_queue_full', '429 engine_share_full'])
  assert.deepEqual([...ends.difference(defined)], [])
  // The first requests find the queue empty.
  assert.ok(ends.has(8))
  for (const index of [0, 1, 2]) assert.equal(await askFull(index), 8)
})

test('a model is not unloaded while it streams: a request for another waits, and can be aborted', async () => {
  const ends = [new AbortController(), new AbortController()] as const
  const first = await ask('one', { stream: true, max_tokens: long }, { signal: ends[0].signal })
  const second = await ask('two', { stream: true, max_tokens: long }, { signal: ends[1].signal })
  const leaving = new AbortController()
  const third = ask('three', {}, { signal: leaving.signal }).then(
    () => 'answered',
    () => 'left',
  )
  await until('it waits', async () => (await stateOf('three')) === 'starting')
  leaving.abort()
  assert.equal(await third, 'left')
  await until('nobody waits for it', async () => (await stateOf('three')) === 'unloaded')
  assert.deepEqual([await stateOf('one'), await stateOf('two')], ['ready', 'ready'])
  const fourth = answered('three')
  ends[0].abort()
  assert.equal((await fourth).status, 200)
  // The view may be a second old.
  await until('the third is shown', async () => (await stateOf('three')) === 'ready')
  assert.deepEqual([await stateOf('one'), await stateOf('two')], ['unloaded', 'ready'])
  ends[1].abort()
  for (const { body } of [first, second]) await body?.cancel().catch(() => undefined)
})

test('when a model cannot answer a fallback does, and the answer and its call name the fallback', async () => {
  const { status, model, call } = await answered('gone')
  assert.deepEqual([status, model], [200, 'one'])
  const project = { project_id: 'acme/default', id: call }
  const read = async () =>
    (await (await server.post('/call/read', project)).json()) as { call?: Record<string, never> }
  await until('the call is written', async () => (await read()).call !== undefined)
  const { call: recorded } = await read()
  const { summary, inputs } = recorded as unknown as { summary: { usage: object }; inputs: { model: string } }
  assert.deepEqual([Object.keys(summary.usage), inputs.model], [['one'], 'gone'])
  const streaming = await ask('gone', { stream: true })
  assert.match(await streaming.text(), /"model":"one"/)
  // An invalid request is invalid for every model.
  const wrong = await answered('gone', { max_tokens: -1 })
  assert.equal(wrong.status, 400)
  const alone = await answered('nobody')
  assert.deepEqual([alone.status, alone.error?.code], [503, 'model_not_ready'])
})

test('a killed engine does not affect the answers of others', async () => {
  await answered('one')
  const running = ask('one', { stream: true, max_tokens: 3_000 })
  await answered('two')
  const engines = server.log.flatMap((line) => {
    const { msg, model = '', engine } = JSON.parse(line) as { msg?: string; model?: string; engine?: number }
    return msg === 'the model is loaded' && engine !== undefined ? [{ model, engine }] : []
  })
  const victim = engines.findLast(({ model }) => model.endsWith('two.gguf'))
  assert.ok(victim)
  process.kill(victim.engine, 'SIGKILL')
  assert.ok((await (await running).text()).endsWith('data: [DONE]\n\n'))
  await until('it is there again', async () => (await answered('two')).status === 200)
})

test('a user with a list of models sees only those', async () => {
  const settings = { HEDDLE_DATA: join(folder, 'data'), HEDDLE_USERS: `alice:${keys.alice}` }
  const set = await runCommand(['user', 'set', 'alice', '--models', 'one,three'], settings)
  assert.equal(set.code, 0, set.err)
  try {
    const listed = async () => {
      const { data } = (await (await server.get('/v1/models')).json()) as { data: { id: string }[] }
      return data.map(({ id }) => id)
    }
    await until('it holds', async () => (await listed()).length === 3)
    assert.deepEqual(await listed(), ['one', 'first', 'three'])
    const [hidden, unknown] = [await answered('two'), await answered('none')]
    assert.deepEqual([hidden.status, unknown.status], [404, 404])
    assert.equal(hidden.error?.message, unknown.error?.message.replace('"none"', '"two"'))
    assert.equal((await answered(undefined)).model, 'one')
    const { models } = (await (await server.get('/views/engine')).json()) as { models: Shown[] }
    assert.deepEqual(
      models.map(({ names }) => names[0]),
      ['one', 'three'],
    )
  } finally {
    await runCommand(['user', 'set', 'alice', '--models', 'none'], settings)
  }
  await until('it is taken away', async () => (await answered('two')).status === 200)
})

test('the file is read again when it changes, and a removed model finishes its streams', async () => {
  const running = await ask('one', { stream: true, max_tokens: 1_000 })
  const without = usual.models.filter(({ name }) => name !== 'one' && name !== 'gone')
  await writeFile(
    list,
    JSON.stringify({ ...usual, models: [...without, { ...entry('new'), file: 'three.gguf' }] }),
  )
  await until('it is not there any more', async () => (await answered('one')).status === 404)
  assert.equal((await answered('new')).model, 'new')
  assert.ok((await running.text()).endsWith('data: [DONE]\n\n'))

  // An invalid file changes nothing, and is reported.
  await writeFile(list, '{"models": [{"name": "new", "file": 7}]}')
  const trouble = async () => {
    const { list } = (await (await server.get('/views/engine', keys.root)).json()) as {
      list: { fault: string | null }
    }
    return list.fault ?? ''
  }
  await until('it is told', async () => (await trouble()) !== '')
  assert.match(await trouble(), /models\[0\]\.file: given 7; accepted: builtin/)
  assert.equal((await answered('new')).status, 200)
  const settings = { HEDDLE_MODEL: '', HEDDLE_MODELS: list }
  const refused = await runCommand(['model', 'reload'], settings)
  assert.deepEqual([refused.code, refused.err.includes('models[0].file: given 7')], [2, true])

  await writeFile(list, JSON.stringify(usual))
  await until('it is right again', async () => (await answered('one')).status === 200)
  assert.equal(await trouble(), '')
})

test('heddle model reload retries a model that was not found', async (t) => {
  await until('the list is the usual one', async () => (await stateOf('gone')) === 'failed')
  await writeRandomModel(join(folder, 'gone.gguf'), { ...shape, seed: 9 })
  t.after(() => rm(join(folder, 'gone.gguf')))
  const old = new Date(Date.now() - 60_000)
  await utimes(list, old, old)
  const { code, out } = await runCommand(['model', 'reload'], { HEDDLE_MODEL: '', HEDDLE_MODELS: list })
  assert.deepEqual([code, (JSON.parse(out) as { models: string[] }).models.length], [0, 5])
  await until('it answers by itself', async () => (await answered('gone')).model === 'gone')
})

test('metrics show the state of each model, loads and unloads, and the memory', async () => {
  const text = await (await server.get('/metrics', keys.root)).text()
  const sampleOf = (sample: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(sample))
        ?.split(' ')[1],
    )
  for (const { names, state } of await states()) {
    assert.equal(sampleOf(`heddle_model_state{model="${names[0]}",state="${state}"}`), 1, names[0])
  }
  assert.ok(sampleOf('heddle_model_loads_total{model="three"}') > 0)
  assert.ok(sampleOf('heddle_model_unloads_total{model="three"}') > 0)
  assert.ok(
    sampleOf('heddle_models_memory_bytes{of="used"}') <= sampleOf('heddle_models_memory_bytes{of="bound"}'),
  )
})

test('a server does not start with an invalid file, and says what is wrong', async (t) => {
  const path = join(await newFolder(t), 'models.json')
  await writeFile(path, JSON.stringify({ models: [{ name: 'a', file: 'a.gguf', contxt: 1 }] }))
  const settings = { HEDDLE_DATA: join(folder, 'other'), HEDDLE_MODELS: path }
  const wrong = await runHeddle(['serve'], { ...settings, HEDDLE_MODEL: '' })
  assert.deepEqual(
    [wrong.code, /models\[0\]\.contxt: .*accepted: context/.test(wrong.err)],
    [2, true],
    wrong.err,
  )
  const both = await runHeddle(['serve'], { ...settings, HEDDLE_MODEL: 'builtin' })
  assert.deepEqual(
    [both.code, /HEDDLE_MODEL: given together with HEDDLE_MODELS/.test(both.err)],
    [2, true],
    both.err,
  )
  const schema = await runCommand(['model', 'schema'], { HEDDLE_MODEL: '' })
  assert.ok('models' in (JSON.parse(schema.out) as { properties: object }).properties)
})
