import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlots } from '../../src/threads/slots.ts'

const { signal } = new AbortController()

const slotsOf = (shared: number, queued: number) =>
  createSlots({ shared }, { perTenant: queued, total: queued })

/** The result of a promise, or `waiting`, after everything that is due has run. */
async function state(promise: Promise<unknown>): Promise<unknown> {
  await new Promise((resolve) => setImmediate(resolve))
  return Promise.race([promise.catch((error: Error) => error.message), Promise.resolve('waiting')])
}

test('slots are granted from the first on, then one request waits', async () => {
  const slots = slotsOf(2, 5)
  assert.equal(await slots.acquire('alice', signal), 0)
  assert.equal(await slots.acquire('alice', signal), 1)
  const third = slots.acquire('alice', signal)
  assert.equal(await state(third), 'waiting')
  slots.release(1)
  assert.equal(await third, 1)
})

test('first come, first served', async () => {
  const slots = slotsOf(1, 5)
  await slots.acquire('alice', signal)
  const order: string[] = []
  const waiting = ['a', 'b', 'c'].map((name) =>
    slots.acquire('alice', signal).then((slot) => {
      order.push(name)
      slots.release(slot)
    }),
  )
  slots.release(0)
  await Promise.all(waiting)
  assert.deepEqual(order, ['a', 'b', 'c'])
  assert.equal(await slots.acquire('alice', signal), 0)
})

test('a full queue refuses', async () => {
  const slots = slotsOf(1, 1)
  await slots.acquire('alice', signal)
  const second = slots.acquire('alice', signal)
  await assert.rejects(slots.acquire('alice', signal), { name: 'Refusal', code: 'queue_full' })
  slots.release(0)
  assert.equal(await second, 0)
})

test('without a queue a request that finds no free slot is refused', async () => {
  const slots = slotsOf(1, 0)
  await slots.acquire('alice', signal)
  await assert.rejects(slots.acquire('alice', signal), { code: 'queue_full' })
})

test('leaving the queue makes room in it', async () => {
  const slots = slotsOf(1, 1)
  await slots.acquire('alice', signal)
  const leaver = new AbortController()
  const gone = slots.acquire('alice', leaver.signal)
  leaver.abort(new Error('left'))
  await assert.rejects(gone, { message: 'left' })
  const next = slots.acquire('alice', signal)
  slots.release(0)
  assert.equal(await next, 0)
})

test('an aborted signal acquires nothing', async () => {
  const slots = slotsOf(1, 1)
  await assert.rejects(slots.acquire('alice', AbortSignal.abort(new Error('left'))), { message: 'left' })
  assert.equal(await slots.acquire('alice', signal), 0)
})

test('an abort after the slot was granted changes nothing', async () => {
  const slots = slotsOf(1, 1)
  await slots.acquire('alice', signal)
  const leaver = new AbortController()
  const granted = slots.acquire('alice', leaver.signal)
  slots.release(0)
  assert.equal(await granted, 0)
  leaver.abort()
  const next = slots.acquire('alice', signal)
  assert.equal(await state(next), 'waiting')
  slots.release(0)
  assert.equal(await next, 0)
})

test('tenants take turns in the queue', async () => {
  const slots = slotsOf(1, 5)
  await slots.acquire('alice', signal)
  const order: string[] = []
  const waiting = ['alice 1', 'alice 2', 'alice 3', 'bob 1', 'bob 2'].map(async (name) => {
    const slot = await slots.acquire(name.split(' ')[0] as string, signal)
    order.push(name)
    slots.release(slot)
  })
  slots.release(0)
  await Promise.all(waiting)
  assert.deepEqual(order, ['alice 1', 'bob 1', 'alice 2', 'bob 2', 'alice 3'])
})

test('a tenant that uses all its slots does not delay others', async () => {
  const slots = createSlots({ shared: 2, reserved: 1 }, { perTenant: 5, total: 10 })
  await slots.acquire('alice', signal)
  await slots.acquire('alice', signal)
  const third = slots.acquire('alice', signal)
  assert.equal(await state(third), 'waiting')
  const ofBob = await slots.acquire('bob', signal)
  const secondOfBob = slots.acquire('bob', signal)
  assert.equal(await state(secondOfBob), 'waiting')
  // Alice was first and is still waiting.
  slots.release(ofBob)
  assert.equal(await secondOfBob, ofBob)
  assert.equal(await state(third), 'waiting')
  slots.release(0)
  assert.equal(await third, 0)
})

test('a queue that one tenant has filled accepts requests of others', async () => {
  const slots = createSlots({ shared: 1 }, { perTenant: 1, total: 2 })
  await slots.acquire('alice', signal)
  const waiting = slots.acquire('alice', signal)
  await assert.rejects(slots.acquire('alice', signal), { code: 'queue_full' })
  const ofBob = slots.acquire('bob', signal)
  await assert.rejects(slots.acquire('carol', signal), { code: 'queue_full' })
  slots.release(0)
  assert.equal(await waiting, 0)
  slots.release(0)
  assert.equal(await ofBob, 0)
})
