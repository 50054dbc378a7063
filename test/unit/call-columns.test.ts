import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endFields, startFields } from '../../src/operations/calls/contract.ts'
import { nameOf, recordedColumns, sentColumns } from '../../src/storage/calls/columns.ts'

const fields = { start: startFields, end: endFields }

for (const half of ['start', 'end'] as const) {
  test(`clients may send each column of the ${half} of a call`, () => {
    const recorded: readonly string[] = recordedColumns
    const sent = sentColumns(half).filter((name) => recorded.includes(name))
    assert.notEqual(sent.length, 0)
    assert.deepEqual(
      sent.map(nameOf).filter((name) => !Object.hasOwn(fields[half], name)),
      [],
      'add them to src/operations/calls/contract.ts: what is not in the contract is taken from nobody',
    )
  })
}
