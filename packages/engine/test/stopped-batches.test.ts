import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { generationOf } from '../../../test/support/generations.ts'
import { plainPlan } from '../../../test/support/model-plan.ts'
import { smallVocabulary } from '../../../test/support/small-vocabulary.ts'
import type { GenerationEvent } from '../backend.ts'
import { createLoop } from '../loop/loop.ts'
import { simulatedContext } from './simulated-context.ts'

const prompt = Array.from({ length: 12 }, (_, index) => 1 + (index % 7))
const vocabulary = smallVocabulary()

/** A loop, at rest, whose first batch ends only when it is stopped. */
async function startLoop() {
  const simulated = simulatedContext({ vocabulary: vocabulary.size, sequences: 2, context: 256 })
  const first = Promise.withResolvers<boolean>()
  const begun = Promise.withResolvers<void>()
  let batches = 0
  let stops = 0
  const context = {
    ...simulated,
    decode() {
      if (batches++ > 0) return simulated.decode()
      begun.resolve()
      return first.promise
    },
    stop() {
      stops++
      first.resolve(false)
    },
  }
  const finished = Promise.withResolvers<GenerationEvent[]>()
  const seen: GenerationEvent[] = []
  const loop = createLoop(
    { vocabulary, tokenize: () => [] },
    context,
    plainPlan('', { context: 256, parallel: 2, batch: 128 }),
    {
      happened(events) {
        for (const [, event] of events) seen.push(event)
        if (seen.some(({ kind }) => kind === 'finished')) finished.resolve(seen)
      },
      refused: (_, reason) => finished.reject(reason),
    },
  )
  const running = loop.run()
  await setImmediate()
  return { loop, running, begun: begun.promise, finished: finished.promise, stops: () => stops }
}

const asked = () => generationOf({ prompt: { tokens: prompt }, ending: { maxTokens: 3, ignoreEos: true } })

test('a batch is stopped when its last client has left, and its sequences hold nothing of it', async () => {
  const { loop, running, begun, finished, stops } = await startLoop()
  loop.add(1, asked())
  await begun
  loop.leave(1)
  assert.equal(stops(), 1)
  // The simulated context fails if it holds what the loop believes to be forgotten.
  loop.add(2, asked())
  const events = await finished
  assert.deepEqual(
    events
      .filter(({ kind }) => kind === 'prefilled')
      .map((event) => 'cachedTokens' in event && event.cachedTokens),
    [0],
  )
  loop.stop()
  await running
})

test('a batch goes on while one of its clients stays', async () => {
  const { loop, running, begun, stops } = await startLoop()
  loop.add(1, asked())
  loop.add(2, asked())
  await begun
  loop.leave(1)
  assert.equal(stops(), 0)
  loop.leave(2)
  assert.equal(stops(), 1)
  loop.stop()
  await running
})
