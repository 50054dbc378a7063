import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeOf, directionOf } from '../../../ui/value/direction.ts'

test('the direction of a score is what its scorer says, and otherwise guessed from the last step of its name', () => {
  const stated = new Map([
    ['toxic', 'lower'],
    ['length v1.2', 'none'],
    ['saved cost', 'higher'],
  ] as const)
  const of = (field: string) => directionOf(field, stated)
  assert.equal(of('scores.toxic.passed'), 'lower')
  assert.equal(of('scores.length v1\\.2'), 'none')
  assert.equal(of('scores.saved cost.cost'), 'higher')
  for (const field of ['latency', 'judge.total_tokens', 'judge.latencyMs', 'cost', 'a.b.errors'])
    assert.equal(of(`scores.${field}`), 'lower', field)
  for (const field of ['exact', 'latency.passed', 'costume', 'judge.score'])
    assert.equal(of(`scores.${field}`), 'higher', field)
})

test('a difference is better or worse by the direction, and neither where the score has none', () => {
  assert.deepEqual([changeOf(1, 'higher'), changeOf(-1, 'higher')], ['is-better', 'is-worse'])
  assert.deepEqual([changeOf(1, 'lower'), changeOf(-1, 'lower')], ['is-worse', 'is-better'])
  assert.deepEqual([changeOf(1, 'none'), changeOf(0, 'higher')], ['is-same', 'is-same'])
})
