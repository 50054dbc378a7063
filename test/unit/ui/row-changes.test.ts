import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { rowChanges } from '../../../ui/screens/object/row-changes.ts'

const rows = (text: string) => [...text].map((digest) => ({ digest }))

function shortOf(before: string, after: string): string {
  return rowChanges(rows(before), rows(after))
    .map((change) => {
      if (change.kind === 'added') return `+${change.after.digest}`
      if (change.kind === 'removed') return `-${change.before.digest}`
      return `${change.before.digest}>${change.after.digest}`
    })
    .join(' ')
}

test('rows are added, removed or changed, and unchanged rows are recognised', () => {
  assert.equal(shortOf('abcd', 'abcd'), '')
  assert.equal(shortOf('abcd', 'abxd'), 'c>x')
  assert.equal(shortOf('abcd', 'acd'), '-b')
  assert.equal(shortOf('abcd', 'abcdef'), '+e +f')
  assert.equal(shortOf('abcd', 'xabcd'), '+x')
  assert.equal(shortOf('aaa', 'aa'), '-a')
  assert.equal(shortOf('', 'a'), '+a')
})

test('the changes lead from one table to the other, whatever the rows are', () => {
  const table = fc.array(fc.constantFrom(...'abcdefgh'), { maxLength: 30 })
  const count = (all: readonly string[], one: string) => all.filter((digest) => digest === one).length
  fc.assert(
    fc.property(table, table, (before, after) => {
      const changes = rowChanges(rows(before.join('')), rows(after.join('')))
      for (const digest of 'abcdefgh') {
        let left = count(before, digest)
        for (const change of changes) {
          if (change.kind !== 'added' && change.before.digest === digest) left--
          if (change.kind !== 'removed' && change.after.digest === digest) left++
        }
        assert.equal(left, count(after, digest))
      }
    }),
  )
})
