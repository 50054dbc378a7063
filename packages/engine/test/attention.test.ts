import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPlainCostly } from '../native/attention.ts'

const small = { heads: 9, headLength: 64, context: 1024, batch: 512, sequences: 1 }

test('plain attention is costly with a long context, or with many sequences', () => {
  assert.equal(isPlainCostly(small), false)
  assert.equal(isPlainCostly({ ...small, context: 2048 }), true)
  assert.equal(isPlainCostly({ ...small, sequences: 3 }), false)
  assert.equal(isPlainCostly({ ...small, sequences: 4 }), true)
})

test('heads with few numbers stay with plain attention however many sequences there are', () => {
  const builtin = { ...small, heads: 4, headLength: 32, context: 2048 }
  assert.equal(isPlainCostly({ ...builtin, sequences: 16 }), false)
  assert.equal(isPlainCostly({ ...builtin, batch: 2048, sequences: 1 }), true)
})
