import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { createInternedRows } from '../grammar/interned-rows.ts'

test('equal rows share one position and different rows have their own, also after the store has grown', () => {
  const random = seededRandom(7)
  const rows = createInternedRows()
  const positions = new Map<string, number>()
  for (let i = 0; i < 30_000; i++) {
    const row = Array.from({ length: Math.floor(random() * 5) }, () => Math.floor(random() * 12) - 2)
    const at = rows.add(row)
    assert.equal(at, positions.get(row.join()) ?? at)
    positions.set(row.join(), at)
  }
  const taken = rows.taken()
  assert.equal(taken.length, rows.length)
  for (const [key, at] of positions) {
    const row = key === '' ? [] : key.split(',').map(Number)
    assert.deepEqual([...taken.subarray(at, at + row.length)], row)
  }
  const most = [...positions.keys()].reduce((sum, key) => sum + (key === '' ? 0 : key.split(',').length), 0)
  assert.equal(rows.length, most)
})

test('a changed row is no longer found by its old values', () => {
  const rows = createInternedRows()
  const at = rows.add([1, 2, 3])
  rows.change(at + 1, 9)
  assert.deepEqual([...rows.taken()], [1, 9, 3])
  assert.notEqual(rows.add([1, 2, 3]), at)
})
