import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labelOf } from '../../../ui/screens/play/field.ts'
import { requestFields } from '../../../ui/screens/play/request-fields.ts'

test('each setting of the playground is called by words, and no two by the same', () => {
  const labels = requestFields.map(({ name }) => labelOf(name))
  for (const label of labels) assert.match(label, /^[A-Z][^_]*$/)
  assert.equal(new Set(labels).size, labels.length)
  assert.equal(labelOf('n'), 'Number of answers')
  assert.equal(labelOf('presence_penalty'), 'Presence penalty')
})
