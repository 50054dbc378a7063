import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMoves } from '../../../src/operations/calls/cold.ts'
import { folderStore } from '../../../src/storage/cold/store.ts'
import { coldCall, coldParts, contentsOf, never, openWithCalls, unpacked } from './cold-app.ts'

test('cold calls: a file that always fails is made smaller until one call is passed over', async (t) => {
  const calls = Array.from({ length: 20 }, (_, index) => coldCall(index % 9 === 5 ? 'Bad' : `K${index}`))
  const { database, folder } = await openWithCalls(t, calls, (path) => {
    const store = folderStore(path)
    return {
      ...store,
      async write(file, bytes) {
        if (unpacked(bytes).includes('question of Bad')) throw new Error('too large')
        await store.write(file, bytes)
      },
    }
  })
  const moves = createMoves(coldParts(database), 1)
  let moved = 0
  // Each file that fails has half of the calls of the last.
  for (let step = 0; step < 60; step++) moved += await moves.move(never).catch(() => 0)
  assert.equal(moved, 18)
  for (const { id } of calls.filter(({ inputs }) => !JSON.stringify(inputs).includes('Bad'))) {
    assert.ok(contentsOf(folder).includes(id))
  }
})
