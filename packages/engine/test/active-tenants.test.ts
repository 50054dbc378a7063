import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActiveTenants } from '../loop/turns/active-tenants.ts'

test('other tenants count for five minutes after their last request', () => {
  let now = 0
  const tenants = createActiveTenants(() => now)
  tenants.noteRequest('alice')
  assert.equal(tenants.hasOthers('alice'), false)
  assert.equal(tenants.hasOthers('bob'), true)
  tenants.noteRequest('bob')
  assert.equal(tenants.hasOthers('alice'), true)
  now = 299_000
  tenants.noteRequest('alice')
  assert.equal(tenants.hasOthers('alice'), true)
  now = 301_000
  assert.equal(tenants.hasOthers('alice'), false)
  assert.equal(tenants.hasOthers('bob'), true)
  tenants.noteRequest('bob')
  assert.equal(tenants.hasOthers('alice'), true)
})
