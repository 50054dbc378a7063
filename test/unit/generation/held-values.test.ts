import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createVectorBudget } from '../../../src/operations/pooling/vector-budget.ts'

test('a tenant may use three times what is free, and another tenant always finds room', () => {
  const held = createVectorBudget(100)
  const give = held.take('library', 60)
  assert.throws(() => held.take('library', 30), { code: 'queue_full' })
  held.take('question', 20)()
  give()
  // A single request is always accepted, however large it is.
  held.take('library', 1_000)()
  held.take('library', 75)
  assert.throws(() => held.take('question', 26), { code: 'queue_full' })
})
