import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createYieldToLoop } from '../../packages/waiting/index.ts'
import { createMeans } from '../../src/operations/evaluation-runs/means.ts'

async function meansOf(...values: string[]): Promise<string> {
  const means = createMeans(() => undefined)
  for (const value of values) await means.addMembers(value)
  return means.text()
}

for (const [values, expected] of [
  [[], '{}'],
  [['{}', 'null', '[1,2]', '"text"', '5'], '{}'],
  [['{"a":1}', '{"a":2}', '{"b":true}', '{"b":false}'], '{"a":{"mean":1.5},"b":{"mean":0.5}}'],
  [['{"a":"1","b":null,"c":[1],"d":{},"e":{"f":"x"}}'], '{}'],
  [['{"a":{"b":{"c":1,"d":3}}}', '{"a":{"b":{"c":2}}}'], '{"a":{"b":{"c":{"mean":1.5},"d":{"mean":3}}}}'],
  [['{"a":1}', '{"a":{"b":3}}'], '{"a":{"b":{"mean":3},"mean":1}}'],
  [['{"a":-1.5e1,"b":1.0,"c":-0}'], '{"a":{"mean":-15},"b":{"mean":1},"c":{"mean":0}}'],
  [['{"a":1e999,"b":1}'], '{"b":{"mean":1}}'],
  [
    ['{"__proto__":1,"constructor":2,"":3}'],
    '{"__proto__":{"mean":1},"constructor":{"mean":2},"":{"mean":3}}',
  ],
  [['{"a\\"b":1,"\\u0061":2}'], '{"a\\"b":{"mean":1},"a":{"mean":2}}'],
  [['{"a":[{"b":[1,{"c":2}]}],"d":1}'], '{"d":{"mean":1}}'],
] as [string[], string][]) {
  test(`means of ${values.join(' ')}`, async () => {
    assert.equal(await meansOf(...values), expected)
  })
}

test('means: the number of names is bounded', async () => {
  const values = Array.from({ length: 12_000 }, (_, n) => `{"n${n}":1,"always":${n % 2}}`)
  const means = JSON.parse(await meansOf(...values))
  assert.equal(Object.keys(means).length, 10_000)
  assert.deepEqual([means.always, means.n9998, means.n11999], [{ mean: 0.5 }, { mean: 1 }, undefined])
})

test('means: a large value is walked in small steps', async () => {
  let steps = 0
  const means = createMeans(() => {
    steps++
    return undefined
  })
  await means.add('output', `{"list":[${'1,'.repeat(9_999)}1],"n":5}`)
  assert.ok(steps >= 10_000)
  assert.equal(means.text(), '{"output":{"n":{"mean":5}}}')
})

test('means: other work runs while a large value is walked', async () => {
  const means = createMeans(createYieldToLoop())
  let others = 0
  let going = true
  const count = () => {
    others++
    if (going) setImmediate(count)
  }
  setImmediate(count)
  await means.add('output', `[${'1,'.repeat(1_000_000)}1]`)
  going = false
  assert.ok(others > 1)
})
