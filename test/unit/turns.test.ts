import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from '../../src/domain/turns.ts'

const { signal } = new AbortController()

/** What has become of a promise, once everything that is due has run. */
async function state(promise: Promise<unknown>): Promise<unknown> {
  await new Promise((resolve) => setImmediate(resolve))
  return Promise.race([promise.catch((error: Error) => error.message), Promise.resolve('waiting')])
}

test('seats are given from the first on, then one waits', async () => {
  const turns = createTurns(2, 5)
  assert.equal(await turns.take(signal), 0)
  assert.equal(await turns.take(signal), 1)
  const third = turns.take(signal)
  assert.equal(await state(third), 'waiting')
  turns.give(1)
  assert.equal(await third, 1)
})

test('who came first goes first', async () => {
  const turns = createTurns(1, 5)
  await turns.take(signal)
  const order: string[] = []
  const waiting = ['a', 'b', 'c'].map((name) =>
    turns.take(signal).then((seat) => {
      order.push(name)
      turns.give(seat)
    }),
  )
  turns.give(0)
  await Promise.all(waiting)
  assert.deepEqual(order, ['a', 'b', 'c'])
  assert.equal(await turns.take(signal), 0)
})

test('who finds the line full is refused', async () => {
  const turns = createTurns(1, 1)
  await turns.take(signal)
  const second = turns.take(signal)
  await assert.rejects(turns.take(signal), { name: 'Refusal', code: 'queue_full' })
  turns.give(0)
  assert.equal(await second, 0)
})

test('without a line whoever finds no seat is refused', async () => {
  const turns = createTurns(1, 0)
  await turns.take(signal)
  await assert.rejects(turns.take(signal), { code: 'queue_full' })
})

test('who leaves gives the place in the line up', async () => {
  const turns = createTurns(1, 1)
  await turns.take(signal)
  const leaver = new AbortController()
  const gone = turns.take(leaver.signal)
  leaver.abort(new Error('left'))
  await assert.rejects(gone, { message: 'left' })
  const next = turns.take(signal)
  turns.give(0)
  assert.equal(await next, 0)
})

test('who has left before gets no seat', async () => {
  const turns = createTurns(1, 1)
  await assert.rejects(turns.take(AbortSignal.abort(new Error('left'))), { message: 'left' })
  assert.equal(await turns.take(signal), 0)
})

test('leaving after sitting down changes nothing', async () => {
  const turns = createTurns(1, 1)
  await turns.take(signal)
  const leaver = new AbortController()
  const seated = turns.take(leaver.signal)
  turns.give(0)
  assert.equal(await seated, 0)
  leaver.abort()
  const next = turns.take(signal)
  assert.equal(await state(next), 'waiting')
  turns.give(0)
  assert.equal(await next, 0)
})
