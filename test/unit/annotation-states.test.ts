import assert from 'node:assert/strict'
import { test } from 'node:test'
import { annotationStates, isFinished, itemStates, statesAfter } from '../../src/domain/annotation-states.ts'

for (const [from, accepted] of [
  ['unstarted', ['in_progress', 'completed', 'skipped']],
  ['in_progress', ['in_progress', 'completed', 'skipped']],
  ['completed', ['completed']],
  ['skipped', ['skipped']],
] as const) {
  test(`${from} may be followed by ${accepted.join(' or ')}`, () => {
    assert.deepEqual(statesAfter(from), accepted)
  })
}

test('completed and skipped items are finished', () => {
  assert.deepEqual(itemStates.filter(isFinished), ['completed', 'skipped'])
})

test('every state may be set again, and a finished item cannot be reopened', () => {
  for (const state of annotationStates) {
    assert.ok(statesAfter(state).includes(state))
    if (isFinished(state)) assert.deepEqual(statesAfter(state), [state])
  }
})
