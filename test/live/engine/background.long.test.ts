import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EmbeddedBackend } from '../../../packages/engine/index.ts'
import { until } from '../../support/wait.ts'
import {
  type GenerationSetting,
  generate,
  generationOf,
  readTokens,
  startEngine,
  type WholeRun,
  wholeRun,
} from './engine.ts'

const context = 65_536
/** So long that no test waits for its end. */
const endless = { ending: { maxTokens: 60_000 } }
const background = { lane: 'background' } as const

function isIdle(engine: EmbeddedBackend): boolean {
  const status = engine.status()
  return status.state === 'ready' && status.running === 0 && status.waiting === 0
}

async function begun(engine: EmbeddedBackend, prompt: string, setting: GenerationSetting) {
  const leaving = new AbortController()
  const run = await engine.generate(generationOf(prompt, setting), leaving.signal)
  const events = run.events[Symbol.asyncIterator]()
  await readTokens(events, 1)
  return {
    async leave() {
      leaving.abort(new Error('gone'))
      await assert.rejects(
        async () => {
          while (!(await events.next()).done);
        },
        { message: 'gone' },
      )
    },
  }
}

/** Requests of several kinds: short and long prompts, with and without a shared beginning, choices, log-probabilities. */
function requestOf(i: number, prefix: string): GenerationSetting & { prompt: string } {
  return {
    prompt: `${prefix}${i % 2 === 0 ? 'the same beginning for many of them. '.repeat(3) : ''}${i} ${'word '.repeat(7 * (i % 9))}`,
    choices: [1, 1, 2, 3][i % 4] ?? 1,
    sampling: { seed: BigInt(i), temperature: 1.2, repetitionPenalty: i % 3 === 0 ? 1.2 : 1 },
    ending: { maxTokens: 30 + (i % 20) },
    ...(i % 5 === 0 && { logprobs: 2 }),
    ...(i % 7 === 0 && { promptLogprobs: 1 }),
  }
}

test('answers are the same alongside background work, and its answers are the same alongside callers', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 3, queue: 100 } })
  const numbers = Array.from({ length: 24 }, (_, i) => i)
  const judged = numbers.map((i) => requestOf(i, 'judge '))
  const asked = numbers.map((i) => requestOf(i, 'caller '))
  const callers: WholeRun[] = []
  const behind = await Promise.all(
    judged.map(async ({ prompt, ...setting }, i) => {
      const generation = generationOf(prompt, { ...setting, ...background })
      const { promptTokens, events } = await engine.generate(generation, t.signal)
      let count = 0
      let group: Promise<WholeRun[]> | undefined
      const passed = async function* () {
        for await (const some of events) {
          for (const event of some) if (event.kind === 'tokens') count += event.tokens.length
          // Callers arrive in the middle of its answer and take all sequences, so that it loses its own.
          if (i % 4 === 0 && count > 3) {
            group ??= Promise.all(
              asked.slice(i, i + 4).map(({ prompt, ...setting }) => generate(engine, prompt, setting)),
            )
          }
          yield some
        }
      }
      const run = await wholeRun({ promptTokens, events: passed() })
      for (const [index, one] of ((await group) ?? []).entries()) callers[i + index] = one
      return run
    }),
  )
  assert.equal(callers.length, 24)
  for (const [of, runs] of [
    [asked, callers],
    [judged, behind],
  ] as const) {
    for (const [i, { tokens, texts, prefilled }] of runs.entries()) {
      const { prompt, ...setting } = of[i] as ReturnType<typeof requestOf>
      const alone = await generate(engine, prompt, { ...setting, salt: `alone ${i}` })
      assert.deepEqual([tokens, texts], [alone.tokens, alone.texts], prompt)
      assert.deepEqual(prefilled.promptLogprobs, alone.prefilled.promptLogprobs)
    }
  }
})

test('a caller takes the sequence of background work, which later resumes where it was', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 1, queue: 0 } })
  const setting = { sampling: { seed: 7n, temperature: 1.2 }, ending: { maxTokens: 400 } }
  const said: number[] = []
  let asked: Promise<unknown> | undefined
  for await (const group of (
    await engine.generate(generationOf('judge this', { ...setting, ...background }), t.signal)
  ).events) {
    for (const event of group) if (event.kind === 'tokens') said.push(...event.tokens)
    // The queue has no space, and this request is served anyway.
    if (said.length > 4) asked ??= generate(engine, 'a caller')
  }
  await asked
  const alone = await generate(engine, 'judge this', { ...setting, salt: 'alone' })
  assert.deepEqual(said, alone.tokens[0])
})

test('background work finishes alongside an endless answer', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 2, context }, shape: { context } })
  const caller = await begun(engine, 'go on', endless)
  const behind = await generate(engine, 'judge this', background)
  assert.equal(behind.tokens[0]?.length, 16)
  const status = engine.status()
  assert.ok(status.state === 'ready' && status.running === 1)
  await caller.leave()
})

test('background work waits while callers use all sequences', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 2, context }, shape: { context } })
  const callers = [await begun(engine, 'one', endless), await begun(engine, 'two', endless)]
  const order: string[] = []
  const behind = generate(engine, 'judge this', background).then(() => order.push('background'))
  const third = generate(engine, 'three').then(() => order.push('caller'))
  await callers[0]?.leave()
  await Promise.all([behind, third])
  assert.deepEqual(order, ['caller', 'background'])
  await callers[1]?.leave()
})

test('background work has a separate queue that does not affect callers', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 1, queue: 1, context }, shape: { context } })
  const leaving = new AbortController()
  const waiting = []
  for (let i = 0; i < 64; i++) {
    waiting.push(
      await engine.generate(generationOf(`judge ${i}`, { ...endless, ...background }), leaving.signal),
    )
  }
  await assert.rejects(engine.generate(generationOf('one more', background), t.signal), {
    code: 'engine_queue_full',
    status: 429,
  })
  assert.ok(isIdle(engine), 'background work is not counted')
  const caller = await begun(engine, 'a caller', endless)
  const next = await engine.generate(generationOf('another'), t.signal)
  await assert.rejects(engine.generate(generationOf('a third'), t.signal), { code: 'engine_queue_full' })
  leaving.abort(new Error('gone'))
  for (const run of waiting) await assert.rejects(wholeRun(run), { message: 'gone' })
  await caller.leave()
  assert.equal((await wholeRun(next)).tokens[0]?.length, 16)
  assert.equal((await generate(engine, 'judge', background)).tokens[0]?.length, 16)
  await until('nothing runs', () => isIdle(engine))
})

test('background work evicts the prefix of one sequence only', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 3 } })
  const conversation = (i: number) => `${i}: ${'what was said before, and more. '.repeat(8)}`
  for (let i = 0; i < 3; i++) await generate(engine, conversation(i))
  await Promise.all(
    Array.from({ length: 12 }, (_, i) => generate(engine, `judge ${i} ${'word '.repeat(40)}`, background)),
  )
  for (const i of [2, 1]) {
    const { prefilled, promptTokens } = await generate(engine, conversation(i))
    assert.equal(prefilled.cachedTokens, promptTokens.length - 2, `conversation ${i}`)
  }
})

test('background work is refused when the engine closes', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 1, context }, shape: { context } })
  const runs = [
    await engine.generate(generationOf('judge this', { ...endless, ...background }), t.signal),
    await engine.generate(generationOf('and this', { ...endless, ...background }), t.signal),
  ]
  const ends = Promise.all(runs.map((run) => assert.rejects(wholeRun(run), { code: 'stopping' })))
  await engine.close()
  await ends
})

test('a beam search cannot run in the background', async (t) => {
  const engine = await startEngine(t)
  const beam = generationOf('judge this', { ...background, choices: 2, beam: { lengthPenalty: 1 } })
  await assert.rejects(engine.generate(beam, t.signal), { code: 'engine_failed' })
  assert.equal((await generate(engine, 'judge this', background)).tokens[0]?.length, 16)
})
