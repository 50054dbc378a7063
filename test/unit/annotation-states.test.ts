import assert from 'node:assert/strict'
import { test } from 'node:test'
import { annotationStates, isFinished, itemStates, statesAfter } from '../../src/domain/annotation-states.ts'

for (const [from, accepted] of [
  ['unstarted', ['in_progress', 'completed', 'skipped']],
  ['in_progress', ['in_progress', 'completed', 'skipped']],
  ['completed', ['completed']],
  ['skipped', ['skipped']],
] as const) {
  test(`after ${from} comes ${accepted.join(' or ')}`, () => {
    assert.deepEqual(statesAfter(from), accepted)
  })
}

test('an annotator is done with what it completed or skipped', () => {
  assert.deepEqual(itemStates.filter(isFinished), ['completed', 'skipped'])
})

test('whatever is said may be said again, and nothing finished is begun again', () => {
  for (const state of annotationStates) {
    assert.ok(statesAfter(state).includes(state))
    if (isFinished(state)) assert.deepEqual(statesAfter(state), [state])
  }
})
