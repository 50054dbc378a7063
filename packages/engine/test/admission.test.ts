import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkQueueRoom } from '../loop/checks.ts'

/** How many requests of each tenant are admitted when they arrive one after the other. */
function served(tenants: readonly (string | undefined)[], plan: { parallel: number; queue: number }) {
  const taken: { tenant: string | undefined }[] = []
  const codes = new Set<string>()
  for (const tenant of tenants) {
    try {
      checkQueueRoom(taken, tenant, plan)
      taken.push({ tenant })
    } catch (error) {
      codes.add((error as { code: string }).code)
    }
  }
  return { count: (tenant?: string) => taken.filter((one) => one.tenant === tenant).length, codes, taken }
}

const times = <Value>(count: number, value: Value) => Array.from({ length: count }, () => value)

test('one tenant can fill seven eighths of the queue, and others are still admitted', () => {
  const { count, codes } = served([...times(1000, 'a'), ...times(1000, 'b'), 'c'], {
    parallel: 8,
    queue: 256,
  })
  assert.equal(count('a'), 8 + 224)
  assert.ok(count('b') >= 16)
  assert.equal(count('c'), 1)
  assert.deepEqual([...codes], ['engine_share_full'])
})

test('many tenants together can fill the whole queue', () => {
  const many = Array.from({ length: 1000 }, (_, i) => `tenant ${i % 50}`)
  const { taken, codes } = served(many, { parallel: 8, queue: 256 })
  assert.equal(taken.length, 264)
  assert.deepEqual([...codes], ['engine_queue_full'])
})

test('a short queue has no shares', () => {
  for (const queue of [0, 1, 4, 7]) {
    const { count, codes } = served(times(100, 'a'), { parallel: 2, queue })
    assert.equal(count('a'), 2 + queue)
    assert.deepEqual([...codes], ['engine_queue_full'])
  }
})

test('there are no shares for requests without a tenant', () => {
  assert.equal(served(times(100, undefined), { parallel: 2, queue: 16 }).count(), 18)
})
