import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import type { EmbeddedBackend } from '../../../packages/engine/index.ts'
import { plainPlan } from '../../support/model-plan.ts'
import { writeRandomModel } from '../../support/random-model.ts'
import { until, withTimeout } from '../../support/wait.ts'
import { generate, generationOf, readTokens, startEngine, wholeRun } from './engine.ts'

const context = 65_536
const endless = { ending: { maxTokens: 60_000 } }
const quick = { restartMs: 10, maxReloadMs: 100 }
/** Five seconds of silence, so that an engine that is only slow on a busy machine is not taken for dead. */
const watched = { ...quick, pingMs: 250, silentPings: 20 }

/** Runs two answers, one that is not read and one that waits, and then calls `end` on the engine. */
async function underLoad(t: TestContext, engine: EmbeddedBackend, end: (pid: number) => void): Promise<void> {
  const runs = []
  for (const prompt of ['one', 'two', 'three', 'four']) {
    runs.push(await engine.generate(generationOf(prompt, endless), t.signal))
  }
  const iterators = runs.map(({ events }) => events[Symbol.asyncIterator]())
  const [one, two, three, four] = iterators
  assert.ok(one !== undefined && two !== undefined && three !== undefined && four !== undefined)
  await readTokens(one, 2)
  await readTokens(two, 2)
  const pid = engine.pid()
  assert.ok(pid !== undefined)
  end(pid)
  for (const iterator of [one, two, four]) {
    const rest = (async () => {
      while (!(await iterator.next()).done);
    })()
    await assert.rejects(withTimeout('the run ends', rest), { code: 'engine_failed', status: 503 })
  }
  await until('another engine is ready', () => engine.status().state === 'ready' && engine.pid() !== pid)
  assert.equal((await generate(engine, 'next')).tokens[0]?.length, 16)
  await assert.rejects(withTimeout('the run that nobody read ends', readTokens(three, 60_001)), {
    code: 'engine_failed',
  })
}

test('when the engine is killed running requests are refused, and a new engine replaces it', async (t) => {
  const engine = await startEngine(t, {
    plan: { parallel: 3, context },
    shape: { context },
    supervision: quick,
  })
  await underLoad(t, engine, (pid) => process.kill(pid, 'SIGKILL'))
})

test('an engine that is stopped is detected by its silence', async (t) => {
  const engine = await startEngine(t, {
    plan: { parallel: 3, context },
    shape: { context },
    supervision: watched,
  })
  await underLoad(t, engine, (pid) => process.kill(pid, 'SIGSTOP'))
})

test('a batch that does not end is detected', async (t) => {
  const engine = await startEngine(t, {
    plan: { context },
    shape: { context },
    supervision: { ...quick, pingMs: 5, silentPings: 10_000, maxBatchMs: 0 },
  })
  await assert.rejects(withTimeout('it is found', generate(engine, 'word '.repeat(12_000))), {
    code: 'engine_failed',
    message: 'The engine of the model failed in the middle of this request: a batch did not end within 0 ms.',
  })
})

test('while the engine restarts requests are refused with the reason', async (t) => {
  const engine = await startEngine(t, {
    supervision: { ...quick, restartMs: 60_000, maxRestartMs: 60_000 },
  })
  process.kill(engine.pid() ?? 0, 'SIGKILL')
  await until('the death is noticed', () => engine.status().state === 'starting')
  const refused = { code: 'model_not_ready', status: 503 }
  await assert.rejects(generate(engine, 'hello'), refused)
  await assert.rejects(engine.tokenize('hello', { special: false, add: false }, t.signal), refused)
  assert.equal(engine.model()?.names[0], 'random', 'the model is known nevertheless')
})

test('a file that is not a model is reported as such, and tried again', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-engine-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'model.gguf')
  await writeFile(file, 'not a model')
  const engine = await startEngine(t, { plan: { file }, supervision: quick })
  const status = engine.status()
  assert.equal(status.state, 'failed')
  assert.match(status.state === 'failed' ? status.reason : '', /magic/i)
  await assert.rejects(generate(engine, 'hello'), { code: 'model_not_ready', status: 503 })
  await writeRandomModel(join(folder, 'other.gguf'))
  await rename(join(folder, 'other.gguf'), file)
  await until('it is served', () => engine.status().state === 'ready')
  assert.equal((await generate(engine, 'hello')).tokens[0]?.length, 16)
})

test('a model that crashes the engine while loading cannot be served', async (t) => {
  const engine = await startEngine(t, { shape: { layers: 0 }, supervision: quick })
  const status = engine.status()
  assert.equal(status.state, 'failed')
  assert.match(status.state === 'failed' ? status.reason : '', /SIGABRT.*GGML_ASSERT/)
})

test('a model that crashes the engine at its first token fails only the requests that ran', async (t) => {
  const engine = await startEngine(t, {
    shape: { weights: 'f16', hidden: 36, heads: 4 },
    supervision: quick,
  })
  assert.equal(engine.status().state, 'ready')
  for (let time = 0; time < 2; time++) {
    await assert.rejects(generate(engine, 'hello'), { code: 'engine_failed', status: 503 })
    await until('another engine is ready', () => engine.status().state === 'ready')
  }
  assert.equal((await engine.tokenize('abc', { special: false, add: false }, t.signal)).length, 3)
})

test('closing in the middle of a batch ends running requests and leaves no process', async (t) => {
  const engine = await startEngine(t, { plan: { context }, shape: { context } })
  const pid = engine.pid()
  assert.ok(pid !== undefined)
  const writing = await engine.generate(generationOf('go on', endless), t.signal)
  const events = writing.events[Symbol.asyncIterator]()
  await readTokens(events, 1)
  const reading = await engine.generate(generationOf('word '.repeat(12_000)), t.signal)
  await engine.close()
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  await assert.rejects(readTokens(events, 60_001), { code: 'stopping' })
  await assert.rejects(wholeRun(reading), { code: 'stopping' })
  await assert.rejects(generate(engine, 'hello'), { code: 'stopping' })
  await engine.close()
})

test('an engine that does not exit by itself is killed', async (t) => {
  const engine = await startEngine(t, { supervision: { closeMs: 100 } })
  const pid = engine.pid() ?? 0
  process.kill(pid, 'SIGSTOP')
  await withTimeout('it closes', engine.close())
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

test('the engine of a killed server exits', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-engine-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'model.gguf')
  await writeRandomModel(file)
  const owner = new URL('../../../packages/engine/owner/backend.ts', import.meta.url)
  const plan = plainPlan(file, { context: 256, parallel: 1, batch: 16, queue: 1 })
  // Not console.log, which writes numbers in colours where the tests run on a terminal.
  const script = `const { createEmbeddedBackend } = await import(${JSON.stringify(owner)})
    const quiet = { debug() {}, info() {}, warn() {}, error() {} }
    const backend = createEmbeddedBackend(${JSON.stringify(plan)}, quiet)
    setInterval(() => {
      if (backend.status().state === 'ready') process.stdout.write(\`\${backend.pid()}\\n\`)
    }, 20)`
  const server = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => server.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: server.stdout }), 'line')
  assert.match(line, /^\d+$/)
  const pid = Number(line)
  process.kill(pid, 0)
  server.kill('SIGKILL')
  await until('the engine is gone', () => {
    try {
      process.kill(pid, 0)
      return false
    } catch {
      return true
    }
  })
})
