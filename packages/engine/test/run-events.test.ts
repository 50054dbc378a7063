import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GenerationEvent } from '../backend.ts'
import { createRunEvents } from '../events/run-events.ts'

const logprob = { token: 1, bytes: Uint8Array.of(97), logprob: -1, top: [] }

function tokens(choice: number, ...ids: number[]): GenerationEvent {
  return { kind: 'tokens', choice, text: ids.join(), tokens: ids, logprobs: ids.map(() => logprob) }
}

function recorded() {
  const calls: string[] = []
  const events = createRunEvents({ onLeft: () => calls.push('left'), onEnd: () => calls.push('end') })
  return { events, calls }
}

test('events that are not read become one event for each choice, however many they are', async () => {
  const { events, calls } = recorded()
  events.push({ kind: 'prefilled', cachedTokens: 3 })
  for (let id = 0; id < 1000; id++) events.push(tokens(id % 2, id))
  events.push({ kind: 'finished', choice: 0, reason: 'length', stop: null })
  events.push(tokens(1, 1000))
  events.push({ kind: 'finished', choice: 1, reason: 'stop', stop: 'x' })
  events.end()
  const groups = await Array.fromAsync(events)
  assert.equal(groups.length, 1, 'all waiting events come at once')
  const all = groups.flat()
  assert.deepEqual(
    all.map(({ kind }) => kind),
    ['prefilled', 'tokens', 'tokens', 'finished', 'finished'],
  )
  const evens = Array.from({ length: 500 }, (_, i) => 2 * i)
  const odds = [...evens.map((id) => id + 1), 1000]
  const [, even, odd] = all
  assert.ok(even?.kind === 'tokens' && odd?.kind === 'tokens')
  assert.deepEqual(even.tokens, evens)
  assert.equal(even.text, evens.join(''))
  assert.deepEqual(odd.tokens, odds)
  assert.equal(odd.logprobs?.length, odds.length)
  assert.deepEqual(calls, ['end'])
})

test('events that were read do not change', async () => {
  const { events } = recorded()
  events.push(tokens(0, 1))
  const reader = events[Symbol.asyncIterator]()
  const first = await reader.next()
  events.push(tokens(0, 2))
  assert.deepEqual(first.value, [tokens(0, 1)])
  assert.deepEqual((await reader.next()).value, [tokens(0, 2)])
})

test('an error comes after the events before it, and nothing comes after it', async () => {
  const { events, calls } = recorded()
  events.push(tokens(0, 1))
  events.end(new Error('gone'))
  events.push(tokens(0, 2))
  events.end()
  const reader = events[Symbol.asyncIterator]()
  assert.deepEqual((await reader.next()).value, [tokens(0, 1)])
  await assert.rejects(async () => reader.next(), { message: 'gone' })
  assert.equal((await reader.next()).done, true)
  assert.deepEqual(calls, ['end'])
})

test('a reader that stops early has left', async () => {
  const { events, calls } = recorded()
  events.push(tokens(0, 1))
  for await (const _ of events) break
  assert.deepEqual(calls, ['left'])
})
