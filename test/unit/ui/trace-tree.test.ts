import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { linesOf, spanOf, treeOf } from '../../../ui/screens/trace/tree.ts'
import type { CallRow } from '../../../ui/server/calls.ts'

const rowOf = (id: string, parent: string | null, from = 0, to: number | null = 1): CallRow => ({
  id,
  op_name: 'op',
  display_name: null,
  trace_id: 't',
  parent_id: parent,
  started_at: new Date(from).toISOString(),
  ended_at: to === null ? null : new Date(to).toISOString(),
  exception: null,
  svc_user_id: null,
  storage_size_bytes: 0,
  summary: {},
})

const shown = (rows: readonly CallRow[], closed: string[] = []) =>
  linesOf(treeOf(rows), new Set(closed)).map(({ row, depth }) => `${depth} ${row.id}`)

test('callers stand before what they called, in the order of the rows', () => {
  const rows = [rowOf('b', 'a'), rowOf('a', null), rowOf('d', 'b'), rowOf('c', 'a')]
  assert.deepEqual(shown(rows), ['0 a', '1 b', '2 d', '1 c'])
  assert.deepEqual(shown(rows, ['b']), ['0 a', '1 b', '1 c'])
  assert.deepEqual(shown(rows, ['a']), ['0 a'])
})

test('a call whose caller is not there is a root', () => {
  assert.deepEqual(shown([rowOf('a', 'gone'), rowOf('b', 'a')]), ['0 a', '1 b'])
})

test('every call has its place exactly once, whoever is said to have called it', () => {
  const rows = fc.integer({ min: 1, max: 30 }).chain((count) =>
    fc
      .array(fc.option(fc.integer({ min: 0, max: 35 }), { freq: 8 }), {
        minLength: count,
        maxLength: count,
      })
      .map((parents) =>
        parents.map((parent, index) => rowOf(`${index}`, parent === null ? null : `${parent}`)),
      ),
  )
  fc.assert(
    fc.property(rows, (given) => {
      const ids = linesOf(treeOf(given), new Set()).map(({ row }) => row.id)
      assert.deepEqual(ids.toSorted(), given.map(({ id }) => id).toSorted())
    }),
    { numRuns: 500 },
  )
})

test('100,000 calls below one another are a tree like any other', () => {
  const rows = Array.from({ length: 100_000 }, (_, index) =>
    rowOf(`${index}`, index === 0 ? null : `${index - 1}`),
  )
  assert.equal(shown(rows).length, 100_000)
})

test('a trace lasts from its first start to its last end, or to now', () => {
  assert.deepEqual(spanOf([rowOf('a', null, 100, 200), rowOf('b', 'a', 50, 150)], 1_000), {
    start: 50,
    end: 200,
  })
  assert.deepEqual(spanOf([rowOf('a', null, 100, null)], 1_000), { start: 100, end: 1_000 })
  assert.deepEqual(spanOf([], 7), { start: 7, end: 7 })
})
