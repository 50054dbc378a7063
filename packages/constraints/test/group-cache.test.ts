import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGroupCache, rememberByGroup } from '../group-cache.ts'

test('what was made for one group is not found for another', (t) => {
  let group = 'a'
  rememberByGroup(() => group)
  t.after(() => rememberByGroup(() => ''))
  const cache = createGroupCache<{ of: string }>({ max: 10 })
  const made = cache.memo('text', () => ({ of: 'a' }))
  assert.equal(
    cache.memo('text', () => ({ of: 'again' })),
    made,
  )
  group = 'b'
  assert.equal(cache.get('text'), undefined)
  assert.equal(cache.memo('text', () => ({ of: 'b' })).of, 'b')
  group = 'a'
  assert.equal(cache.get('text'), made)
})
