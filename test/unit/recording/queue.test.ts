import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Refusal, refuse } from '../../../src/domain/refusals.ts'
import { createAnswerQueue, type QueueOptions } from '../../../src/operations/recording/queue.ts'
import type { RecordedAnswer } from '../../../src/storage/answers/recorded-answers.ts'
import type { Database } from '../../../src/storage/database.ts'

interface Write {
  tenant: string
  calls: string[]
  succeed(): void
  fail(error: unknown): void
}

/** A record whose writes end when a test ends them. */
function heldRecord(proof: () => void = () => {}) {
  const writes: Write[] = []
  const db = {
    async probe() {
      proof()
    },
    write(_: string, answers: readonly RecordedAnswer[], tenant: string) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const calls = answers.map(({ call }) => call.id)
      writes.push({ tenant, calls, succeed: resolve, fail: reject })
      return promise
    },
  } as unknown as Database
  return { db, writes }
}

function opened(options: Partial<QueueOptions> = {}, proof?: () => void) {
  const { db, writes } = heldRecord(proof)
  const told: string[] = []
  const events = {
    written: (count: number) => told.push(`written ${count}`),
    refused: ({ code }: Refusal, waiting: number) => told.push(`refused ${code} ${waiting}`),
    recovered: () => told.push('recovered'),
    failed: (_: unknown, call: string) => told.push(`failed ${call}`),
  }
  const queue = createAnswerQueue(db, events, { retryMs: 1, ...options })
  const add = (callId: string, tenant = 'alice', bytes = 10) =>
    queue.add({
      tenant,
      project: 'acme/qa',
      callId,
      completionId: `chatcmpl-${callId}`,
      bytes,
      row: () => ({ call: { id: callId } }) as RecordedAnswer,
    })
  /** The write with this index, once it exists. */
  async function write(index: number): Promise<Write> {
    while (writes[index] === undefined) await turn()
    return writes[index]
  }
  return { queue, add, write, writes, told }
}

const { signal } = new AbortController()
const settles = async (promise: Promise<unknown>) => {
  let isSettled = false
  void promise.finally(() => {
    isSettled = true
  })
  for (let turns = 0; turns < 5; turns++) await turn()
  return isSettled
}

test('answers that end during a write share the next one, and each tenant has writes of its own', async () => {
  const { queue, add, write, told } = opened()
  add('a')
  const first = await write(0)
  assert.deepEqual([first.tenant, first.calls], ['alice', ['a']])
  add('b')
  add('c')
  add('x', 'bob')
  const ofBob = await write(1)
  assert.deepEqual([ofBob.tenant, ofBob.calls], ['bob', ['x']])
  first.succeed()
  const second = await write(2)
  assert.deepEqual([second.tenant, second.calls], ['alice', ['b', 'c']])
  assert.deepEqual(queue.waiting, { count: 3, bytes: 30 })
  second.succeed()
  ofBob.succeed()
  assert.equal(await queue.close(1_000), 0)
  assert.deepEqual(queue.waiting, { count: 0, bytes: 0 })
  assert.deepEqual(told, ['written 1', 'written 2', 'written 1'])
})

test('answers that end soon after a write wait for others, unless one is looked up or the server stops', async () => {
  const { queue, add, write, writes } = opened({ sharedMs: 3_600_000 })
  add('a')
  const first = await write(0)
  add('x', 'bob')
  first.succeed()
  add('b')
  for (let turns = 0; turns < 5; turns++) await turn()
  assert.deepEqual([queue.waiting.count, writes.length], [2, 1])
  const found = queue.settled('acme/qa', 'b')
  const both = [await write(1), await write(2)]
  assert.deepEqual(both.flatMap(({ calls }) => calls).sort(), ['b', 'x'])
  for (const { succeed } of both) succeed()
  await found
  add('c')
  const closed = queue.close(60_000)
  const last = await write(3)
  assert.deepEqual(last.calls, ['c'])
  last.succeed()
  assert.equal(await closed, 0)
})

test('a lookup by the id of a call or completion waits for its pending write, and for no other', async () => {
  const { queue, add, write } = opened()
  add('a')
  const waits = [queue.settled('acme/qa', 'a'), queue.settled('acme/qa', 'chatcmpl-a')]
  await queue.settled('acme/qa', 'b')
  await queue.settled('acme/other', 'a')
  assert.equal(await settles(Promise.all(waits)), false)
  const { succeed } = await write(0)
  succeed()
  await Promise.all(waits)
})

test('a full queue delays the next answer until there is room, and drops nothing', async () => {
  for (const most of [
    { count: 4, bytes: 1e9 },
    { count: 1e9, bytes: 40 },
  ]) {
    const { queue, add, write } = opened({ most })
    for (const id of ['a', 'b', 'c']) add(id)
    const next = queue.ready('alice', signal)
    await queue.ready('bob', signal)
    add('x', 'bob')
    const other = queue.ready('bob', signal)
    const leaving = new AbortController()
    const left = queue.ready('alice', leaving.signal)
    leaving.abort(new Error('gone'))
    await assert.rejects(left, /gone/)
    assert.equal(await settles(Promise.race([next, other])), false)
    const { calls, succeed } = await write(0)
    assert.deepEqual(calls, ['a', 'b', 'c'])
    succeed()
    await Promise.all([next, other])
    ;(await write(1)).succeed()
    assert.equal(await queue.close(1_000), 0)
  }
})

test('while the record refuses writes, requests are refused and waiting answers kept, and writing resumes by itself', async () => {
  const { queue, add, write, told } = opened()
  add('a')
  add('b', 'bob')
  const lookup = queue.settled('acme/qa', 'a')
  const [first, second] = [await write(0), await write(1)]
  first.fail(refuse('storage_full'))
  second.fail(refuse('storage_full'))
  await assert.rejects(lookup, { code: 'record_refuses_writes' })
  await assert.rejects(queue.ready('bob', signal), { code: 'record_refuses_writes' })
  await assert.rejects(queue.settled('acme/qa', 'a'), { code: 'record_refuses_writes' })
  await queue.settled('acme/qa', 'unknown')
  const third = await write(2)
  third.fail(refuse('write_unconfirmed'))
  const fourth = await write(3)
  assert.deepEqual(fourth.calls, third.calls)
  fourth.succeed()
  const fifth = await write(4)
  assert.deepEqual(new Set([...fourth.calls, ...fifth.calls]), new Set(['a', 'b']))
  fifth.succeed()
  await queue.ready('alice', signal)
  assert.deepEqual(told, ['refused storage_full 2', 'recovered', 'written 1', 'written 1'])
})

test('an answer that cannot be recorded is left out and reported, without the others of its group', async () => {
  const { queue, add, write, told } = opened()
  add('first')
  const first = await write(0)
  for (const id of ['a', 'bad', 'c']) add(id)
  first.succeed()
  ;(await write(1)).fail(new Error('a fault'))
  for (const [index, id] of ['a', 'bad', 'c'].entries()) {
    const { calls, succeed, fail } = await write(2 + index)
    assert.deepEqual(calls, [id])
    if (id === 'bad') fail(new Error('a fault'))
    else succeed()
  }
  assert.equal(await queue.close(1_000), 0)
  assert.deepEqual(told, ['written 1', 'written 1', 'failed bad', 'written 1'])
})

test('without a recent write, the record is probed, once for simultaneous requests', async () => {
  let proofs = 0
  let isFull = true
  const { queue } = opened({}, () => {
    proofs++
    if (isFull) throw refuse('storage_full')
  })
  const both = [await queue.ready('alice', signal), await queue.ready('bob', signal)]
  for (const { proof } of both)
    await assert.rejects(proof as Promise<void>, { code: 'record_refuses_writes' })
  assert.equal(proofs, 1)
  isFull = false
  await (await queue.ready('alice', signal)).proof
  assert.equal((await queue.ready('alice', signal)).proof, undefined)
  assert.equal(proofs, 2)
})

test('closing returns the number of answers that could not be written in time', async () => {
  const { queue, add, write } = opened({ retryMs: 60_000 })
  add('a')
  ;(await write(0)).fail(refuse('storage_failed'))
  await turn()
  const left = queue.close(20)
  ;(await write(1)).fail(refuse('storage_failed'))
  assert.equal(await left, 1)
})
