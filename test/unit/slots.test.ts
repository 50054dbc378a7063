import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlots } from '../../src/domain/slots.ts'

const { signal } = new AbortController()

/** What has become of a promise, once everything that is due has run. */
async function state(promise: Promise<unknown>): Promise<unknown> {
  await new Promise((resolve) => setImmediate(resolve))
  return Promise.race([promise.catch((error: Error) => error.message), Promise.resolve('waiting')])
}

test('slots are granted from the first on, then one request waits', async () => {
  const slots = createSlots(2, 5)
  assert.equal(await slots.acquire(signal), 0)
  assert.equal(await slots.acquire(signal), 1)
  const third = slots.acquire(signal)
  assert.equal(await state(third), 'waiting')
  slots.release(1)
  assert.equal(await third, 1)
})

test('first come, first served', async () => {
  const slots = createSlots(1, 5)
  await slots.acquire(signal)
  const order: string[] = []
  const waiting = ['a', 'b', 'c'].map((name) =>
    slots.acquire(signal).then((slot) => {
      order.push(name)
      slots.release(slot)
    }),
  )
  slots.release(0)
  await Promise.all(waiting)
  assert.deepEqual(order, ['a', 'b', 'c'])
  assert.equal(await slots.acquire(signal), 0)
})

test('a full queue refuses', async () => {
  const slots = createSlots(1, 1)
  await slots.acquire(signal)
  const second = slots.acquire(signal)
  await assert.rejects(slots.acquire(signal), { name: 'Refusal', code: 'queue_full' })
  slots.release(0)
  assert.equal(await second, 0)
})

test('without a queue a request that finds no free slot is refused', async () => {
  const slots = createSlots(1, 0)
  await slots.acquire(signal)
  await assert.rejects(slots.acquire(signal), { code: 'queue_full' })
})

test('leaving the queue makes room in it', async () => {
  const slots = createSlots(1, 1)
  await slots.acquire(signal)
  const leaver = new AbortController()
  const gone = slots.acquire(leaver.signal)
  leaver.abort(new Error('left'))
  await assert.rejects(gone, { message: 'left' })
  const next = slots.acquire(signal)
  slots.release(0)
  assert.equal(await next, 0)
})

test('a signal that has aborted before acquires nothing', async () => {
  const slots = createSlots(1, 1)
  await assert.rejects(slots.acquire(AbortSignal.abort(new Error('left'))), { message: 'left' })
  assert.equal(await slots.acquire(signal), 0)
})

test('an abort after the slot was granted changes nothing', async () => {
  const slots = createSlots(1, 1)
  await slots.acquire(signal)
  const leaver = new AbortController()
  const granted = slots.acquire(leaver.signal)
  slots.release(0)
  assert.equal(await granted, 0)
  leaver.abort()
  const next = slots.acquire(signal)
  assert.equal(await state(next), 'waiting')
  slots.release(0)
  assert.equal(await next, 0)
})
