import assert from 'node:assert/strict'
import { test } from 'node:test'
import { opNameOf } from '../../src/domain/refs.ts'

for (const [op, name] of [
  ['answer', 'answer'],
  ['', ''],
  ['a:b', 'a:b'],
  ['lib/op/answer', 'lib/op/answer'],
  ['weave:///acme/qa/op/answer:4f5', 'answer'],
  ['weave:///acme/qa/op/answer:*', 'answer'],
  ['weave:///acme/qa/op/answer', 'answer'],
  ['other:///acme/qa/op/Evaluation.predict_and_score:4f5', 'Evaluation.predict_and_score'],
  ['weave:///acme/qa/op/a/op/b:c:d', 'a/op/b'],
  ['weave:///acme/qa/object/answer:4f5', 'weave:///acme/qa/object/answer:4f5'],
] as const) {
  test(`the op ${JSON.stringify(op)} is named ${JSON.stringify(name)}`, () => {
    assert.equal(opNameOf(op), name)
  })
}
