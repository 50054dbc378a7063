import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EmbeddedBackend } from '../../../packages/engine/index.ts'
import { until } from '../../support/wait.ts'
import { generate, generationOf, readTokens, startEngine, wholeRun } from './engine.ts'

/** So long that no test waits for an answer that fills it. */
const context = 65_536
const endless = { ending: { maxTokens: 60_000 } }

const one = { plan: { parallel: 1, context }, shape: { context } }

function isIdle(engine: EmbeddedBackend): boolean {
  const status = engine.status()
  return status.state === 'ready' && status.running === 0 && status.waiting === 0
}

test('a caller that aborts or stops reading during an answer frees the sequence', async (t) => {
  const engine = await startEngine(t, one)
  const leaving = new AbortController()
  const run = await engine.generate(generationOf('go on', endless), leaving.signal)
  const events = run.events[Symbol.asyncIterator]()
  await readTokens(events, 3)
  const reason = new Error('gone')
  leaving.abort(reason)
  await assert.rejects(async () => {
    for (;;) if ((await events.next()).done) return
  }, reason)
  assert.equal((await generate(engine, 'next')).tokens[0]?.length, 16)

  for await (const group of (await engine.generate(generationOf('go on', endless), t.signal)).events) {
    if (group.some(({ kind }) => kind === 'tokens')) break
  }
  assert.equal((await generate(engine, 'next')).tokens[0]?.length, 16)
  await until('nothing runs', () => isIdle(engine))
})

test('a caller that aborts while waiting leaves the queue, and later requests move up', async (t) => {
  const engine = await startEngine(t, one)
  const first = new AbortController()
  const second = new AbortController()
  const running = await engine.generate(generationOf('go on', endless), first.signal)
  await readTokens(running.events[Symbol.asyncIterator](), 1)
  const waiting = await engine.generate(generationOf('me too', endless), second.signal)
  const last = await engine.generate(generationOf('and me'), t.signal)
  await until('two wait', () => {
    const status = engine.status()
    return status.state === 'ready' && status.waiting === 2
  })
  second.abort(new Error('gone'))
  await assert.rejects(wholeRun(waiting), { message: 'gone' })
  first.abort(new Error('gone'))
  assert.equal((await wholeRun(last)).tokens[0]?.length, 16)
  await until('nothing runs', () => isIdle(engine))
})

test('a caller that aborts during prefill stops it', async (t) => {
  const engine = await startEngine(t, one)
  const prompt = 'word '.repeat(12_000)
  const leaving = new AbortController()
  const run = await engine.generate(generationOf(prompt), leaving.signal)
  leaving.abort(new Error('gone'))
  await assert.rejects(wholeRun(run), { message: 'gone' })
  assert.equal((await generate(engine, 'next', { salt: 'other' })).tokens[0]?.length, 16)
  await until('nothing runs', () => isIdle(engine))
})

test('a request that is already aborted is not served', async (t) => {
  const engine = await startEngine(t, one)
  const gone = AbortSignal.abort(new Error('gone'))
  await assert.rejects(engine.generate(generationOf('hello'), gone), { message: 'gone' })
  const leaving = new AbortController()
  const asked = engine.generate(generationOf('hello', endless), leaving.signal)
  leaving.abort(new Error('gone'))
  await assert.rejects(asked, { message: 'gone' })
  await assert.rejects(engine.tokenize('hello', { special: false, add: false }, gone), { message: 'gone' })
  assert.equal((await generate(engine, 'next')).tokens[0]?.length, 16)
})

test('the queue is bounded, and ordered by priority, then by arrival', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 1, queue: 3, context }, shape: { context } })
  const first = new AbortController()
  const running = await engine.generate(generationOf('go on', endless), first.signal)
  await readTokens(running.events[Symbol.asyncIterator](), 1)
  const order: string[] = []
  const waiting = []
  for (const [name, priority] of [
    ['late', 1],
    ['usual', 0],
    ['early', -1],
  ] as const) {
    const run = await engine.generate(generationOf(name, { priority }), t.signal)
    waiting.push(wholeRun(run).then(() => order.push(name)))
  }
  await assert.rejects(engine.generate(generationOf('one more'), t.signal), {
    code: 'engine_queue_full',
    status: 429,
    message: 'The model is busy and 3 requests are already waiting; try again shortly.',
  })
  first.abort(new Error('gone'))
  await Promise.all(waiting)
  assert.deepEqual(order, ['early', 'usual', 'late'])
})
