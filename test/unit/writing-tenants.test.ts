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

test('a tenant has others while another than itself wrote within ten seconds; the server itself is none', () => {
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

test('a write is expected to take as long as the last, or half of what a longer one took before it', () => {
  const { tenants } = open()
  assert.equal(tenants.expectedMs('alice'), 0)
  tenants.note('alice', 8)
  tenants.note('alice', 1)
  tenants.note('bob', 2)
  assert.deepEqual([tenants.expectedMs('alice'), tenants.expectedMs('bob')], [4, 2])
  tenants.note('alice', 9)
  assert.equal(tenants.expectedMs('alice'), 9)
})
