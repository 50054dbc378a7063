import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EmbeddedBackend, Generation } from '../../../packages/engine/index.ts'
import { until } from '../../support/wait.ts'
import { generationOf, startEngine } from './engine.ts'

const beginning = 'You are a loom. You answer in cloth, never in words, whatever they ask. '.repeat(2)

/** Requests of every kind: with a shared beginning or without, choices, beam searches, log-probabilities, salts, penalties. */
function requestOf(i: number): Generation {
  const isBeam = i % 11 === 0
  return generationOf(`${i % 3 === 0 ? '' : beginning}User ${i % 17} ${'says '.repeat(i % 40)}`, {
    choices: isBeam ? 3 : ([1, 1, 2, 5][i % 4] ?? 1),
    priority: i % 10 === 0 ? 1 : 0,
    sampling: {
      temperature: i % 7 === 0 && i % 4 < 2 ? 0 : 1.2,
      seed: BigInt(i % 6),
      frequencyPenalty: i % 2 === 0 ? 0 : 0.3,
      repetitionPenalty: i % 3 === 0 ? 1.2 : 1,
    },
    ending: { maxTokens: 5 + (i % 30), stop: i % 8 === 0 ? ['a', 'zz'] : [], ignoreEos: i % 2 === 0 },
    ...(i % 5 === 0 && { salt: `salt ${i % 2}` }),
    ...(i % 6 === 0 && { logprobs: 3 }),
    ...(i % 9 === 0 && { promptLogprobs: 2 }),
    ...(isBeam && { beam: { lengthPenalty: 1 } }),
  })
}

/** The tokens of each choice, or those before the reader stopped after `most` groups of events. */
async function read(engine: EmbeddedBackend, request: Generation, most: number): Promise<number[][]> {
  const run = await engine.generate(request, new AbortController().signal)
  const tokens: number[][] = Array.from({ length: request.choices }, () => [])
  let groups = 0
  for await (const group of run.events) {
    for (const event of group) {
      if (event.kind === 'tokens') tokens[event.choice]?.push(...event.tokens)
      if (event.kind === 'prefilled' && request.promptLogprobs !== undefined) {
        assert.equal(event.promptLogprobs?.length, run.promptTokens.length)
      }
    }
    if (++groups === most) break
  }
  return tokens
}

test('among requests that come and go each gets the same answer as alone', async (t) => {
  const engine = await startEngine(t, { plan: { batch: 128, queue: 200 } })
  const leavesAfter = (i: number) => (i % 4 === 3 ? 1 + (i % 7) : Number.POSITIVE_INFINITY)
  const numbers = Array.from({ length: 120 }, (_, i) => i)
  const crowd = await Promise.all(numbers.map((i) => read(engine, requestOf(i), leavesAfter(i))))
  await until('nothing runs', () => {
    const status = engine.status()
    return status.state === 'ready' && status.running === 0 && status.waiting === 0
  })
  for (const [i, together] of crowd.entries()) {
    const alone = await read(engine, { ...requestOf(i), salt: `alone ${i}` }, Number.POSITIVE_INFINITY)
    if (leavesAfter(i) === Number.POSITIVE_INFINITY) assert.deepEqual(together, alone, `request ${i}`)
    else
      for (const [choice, tokens] of together.entries())
        assert.deepEqual(tokens, alone[choice]?.slice(0, tokens.length))
  }
})
