import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDraftBenefit } from '../../../src/inference/embedded/drafts/draft-benefit.ts'

interface Cost {
  tokens: number
  ms: number
}

/** What each batch of four writers did, given the cost of each way: `a` for reading ahead, `p` for plain. */
function played(
  worth: ReturnType<typeof createDraftBenefit>,
  batches: number,
  ahead: Cost,
  plain: Cost,
): string {
  return Array.from({ length: batches }, () => {
    const isAhead = worth.isWorth(4)
    const { tokens, ms } = isAhead ? ahead : plain
    worth.took(4, isAhead, tokens, ms)
    return isAhead ? 'a' : 'p'
  }).join('')
}

const plain = { tokens: 4, ms: 20 }

test('the faster way is used after the other was tried', () => {
  const faster = createDraftBenefit()
  assert.equal(played(faster, 30, { tokens: 20, ms: 70 }, plain), `${'a'.repeat(8)}pppp${'a'.repeat(18)}`)
  const slower = createDraftBenefit()
  assert.equal(played(slower, 30, { tokens: 20, ms: 300 }, plain), `${'a'.repeat(8)}${'p'.repeat(22)}`)
})

test('occasional attempts find out that reading ahead has become faster', () => {
  const worth = createDraftBenefit()
  played(worth, 30, { tokens: 20, ms: 300 }, plain)
  const later = played(worth, 2000, { tokens: 20, ms: 70 }, plain)
  assert.match(later, /^p+a/)
  assert.match(later.slice(-300), /^a*(p{4}a{100,})*p{0,4}a*$/, 'reading ahead is then kept')
})

test('a single delayed batch changes nothing', () => {
  const worth = createDraftBenefit()
  played(worth, 20, { tokens: 20, ms: 70 }, plain)
  assert.equal(worth.isWorth(4), true)
  worth.took(4, true, 20, 5_000)
  assert.equal(played(worth, 20, { tokens: 20, ms: 70 }, plain), 'a'.repeat(20))
})

test('each number of writers is measured separately', () => {
  const worth = createDraftBenefit()
  played(worth, 30, { tokens: 20, ms: 300 }, plain)
  assert.equal(worth.isWorth(4), false)
  assert.equal(worth.isWorth(3), true)
})

test('a single writer always reads ahead', () => {
  const alone = createDraftBenefit()
  for (let turn = 0; turn < 300; turn++) {
    assert.ok(alone.isWorth(1))
    alone.took(1, true, 2, 500)
  }
})
