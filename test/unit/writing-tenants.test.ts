import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWritingTenants } from '../../src/storage/engines/sqlite/writing-tenants.ts'

function open() {
  let time = 0
  const tenants = createWritingTenants(() => time)
  const pass = (ms: number) => {
    time += ms
  }
  return { tenants, pass }
}

test('other tenants count for ten seconds after their last write; the server itself does not count', () => {
  const { tenants, pass } = open()
  assert.equal(tenants.hasOthers('alice'), false)
  tenants.note('alice', 1)
  tenants.note('', 1)
  assert.deepEqual([tenants.hasOthers('alice'), tenants.hasOthers('bob')], [false, true])
  pass(9_000)
  tenants.note('bob', 1)
  assert.equal(tenants.hasOthers('bob'), true)
  pass(1_000)
  assert.deepEqual([tenants.hasOthers('alice'), tenants.hasOthers('bob')], [true, false])
  tenants.note('bob', 1)
  pass(9_999)
  assert.equal(tenants.hasOthers('alice'), true)
  pass(1)
  assert.equal(tenants.hasOthers('alice'), false)
})

test('a write is expected to take as long as the last one, or half as long as a longer one before that', () => {
  const { tenants } = open()
  assert.equal(tenants.expectedMs('alice'), 0)
  tenants.note('alice', 8)
  tenants.note('alice', 1)
  tenants.note('bob', 2)
  assert.deepEqual([tenants.expectedMs('alice'), tenants.expectedMs('bob')], [4, 2])
  tenants.note('alice', 9)
  assert.equal(tenants.expectedMs('alice'), 9)
})

test('next to others, a tenant pauses for as long as it wrote, three times as long after a long write, with a limit', () => {
  const { tenants, pass } = open()
  const wrote = (tenant: string, ms: number, groupMs: number, { bytes = 0, jobs = 1 } = {}) => {
    tenants.note(tenant, ms)
    tenants.rest(new Map([[tenant, { jobs, ms, bytes }]]), groupMs)
    return tenants.restMs(tenant)
  }
  wrote('alice', 50, 60)
  assert.equal(tenants.rests('alice'), false, 'no other tenant has written')
  assert.equal(wrote('bob', 0.1, 20) > 0, false, 'only the flush took long')
  assert.equal(wrote('alice', 1.5, 20), 3)
  assert.deepEqual([tenants.rests('alice'), tenants.rests('bob')], [true, false])
  pass(3)
  assert.equal(tenants.rests('alice'), false)
  assert.equal(wrote('alice', 10, 60), 60, 'the write could not be interrupted')
  pass(60)
  assert.equal(wrote('alice', 10, 12), 36, 'the group took no longer')
  pass(36)
  assert.equal(wrote('bob', 1, 1), 1)
  assert.equal(wrote('alice', 0.2, 0.5, { bytes: 256 * 1024 }), 8, 'its bytes reach the disk later')
  pass(8)
  wrote('bob', 1, 1)
  const large = 8 * 1024 * 1024
  assert.equal(
    wrote('alice', 5, 12, { bytes: large }),
    384,
    'it was one transaction, and its bytes reach the disk later',
  )
  pass(384)
  wrote('bob', 1, 1)
  assert.equal(wrote('alice', 5, 12, { bytes: 128 * large }), 1_000)
  pass(1_000)
  wrote('bob', 1, 1)
  assert.equal(
    wrote('alice', 0.2, 1.5, { jobs: 4 }),
    1.5,
    'it has more writes waiting, and sends them in fewer groups',
  )
  pass(1.5)
  assert.equal(wrote('alice', 0.2, 2_000, { jobs: 4 }), 3, 'the time of a hung disk does not count')
  pass(3)
  assert.equal(wrote('alice', 5_000, 6_000), 250)
  pass(250)
  assert.equal(wrote('alice', 50, 60) > 0, false, 'the other tenant has stopped')
})

test('a tenant with many waiting writes pauses for the flush next to one with few, but not next to others with many', () => {
  const { tenants, pass } = open()
  const wrote = (jobs: Record<string, number>) => {
    const names = Object.keys(jobs)
    for (const name of names) tenants.note(name, 0.1)
    tenants.rest(new Map(names.map((name) => [name, { jobs: jobs[name] ?? 0, ms: 0.1, bytes: 0 }])), 2)
    return names.filter(tenants.rests)
  }
  assert.deepEqual(wrote({ alice: 4, bob: 4 }), [])
  pass(10)
  assert.deepEqual(wrote({ alice: 1, bob: 4 }), [], 'a group with only one of many writes')
  pass(10)
  assert.deepEqual(wrote({ alice: 4, bob: 4, carol: 1 }), ['alice', 'bob'])
  pass(2)
  assert.deepEqual(wrote({ alice: 4 }), ['alice'], 'carol has just written')
  pass(2)
  assert.deepEqual(wrote({ carol: 2 }), ['carol'], 'any tenant with several writes')
  pass(250)
  assert.deepEqual(wrote({ alice: 4, bob: 4 }), [], 'carol no longer counts')
})

test('several tenants write if two have written within a quarter of a second', () => {
  const { tenants, pass } = open()
  assert.equal(tenants.areSeveral, false)
  tenants.note('alice', 1)
  tenants.note('alice', 1)
  tenants.note('', 1)
  assert.equal(tenants.areSeveral, false)
  tenants.note('bob', 1)
  assert.equal(tenants.areSeveral, true)
  pass(200)
  tenants.note('bob', 1)
  assert.equal(tenants.areSeveral, true)
  pass(50)
  assert.equal(tenants.areSeveral, false)
})
