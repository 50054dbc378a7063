import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pointsOf, symbolOfMarker } from '../../constraints/index.ts'
import { firstMarker, lastMarker, unitOfMarker } from '../control-tokens.ts'

test('the markers of answers are the control tokens of grammars', () => {
  for (const index of [0, 1, lastMarker - firstMarker])
    assert.deepEqual(pointsOf(unitOfMarker(index)), [symbolOfMarker(index)])
  const before = String.fromCharCode(firstMarker - 1)
  assert.deepEqual(pointsOf(before), [firstMarker - 1])
})
