import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KeepPlan, parseKeeping } from '../../src/domain/json/keep.ts'
import { DepthError } from '../../src/domain/json/scan.ts'
import { parseInSteps } from '../support/shapes.ts'

/** A long list in an item of a long list, as exports of spans have it. */
const plan: KeepPlan = {
  fields: new Map([
    [
      'groups',
      {
        items: {
          fields: new Map<string, KeepPlan>([
            ['head', 'keep'],
            ['spans', { items: 'keep' }],
          ]),
        },
      },
    ],
  ]),
}

const span = `{ "n": 1.0, "text": "${'x'.repeat(100)}" }`
const spans = Array(2000).fill(span).join(' , ')
const body = `{"groups": [ {"head": {"a": 1.50}, "spans": [${spans}]}, {"spans": []}, 5 ], "rest": 2}`

test('what is read in steps is the same', async () => {
  let breaths = 0
  const inSteps = await parseInSteps(body, plan, 200, () => {
    breaths++
    return undefined
  })
  assert.deepEqual(inSteps, parseKeeping(body, plan, 200))
  assert.ok(breaths > 2000, 'between the spans others get their turn')
})

for (const [name, text] of [
  ['a comma too many', body.replace(']}, {', ',]}, {')],
  ['a comma too few', body.replace(' , ', ' ')],
  ['a group that does not end', body.replace(']}, {', ']}} , {')],
  ['a span that is no JSON', body.replace('1.0', '1.')],
] as const) {
  test(`${name} is not JSON, deep in a body too`, async () => {
    await assert.rejects(
      parseInSteps(text, plan, 200, () => undefined),
      SyntaxError,
    )
  })
}

test('the bound on depth counts from the outside', async () => {
  const nested = `${'['.repeat(195)}${']'.repeat(195)}`
  for (const [value, deepest] of [
    [nested, 200],
    [nested, 199],
  ] as const) {
    const text = body.replace('"n": 1.0', `"n": ${value}`)
    const reading = parseInSteps(text, plan, deepest, () => undefined)
    if (deepest === 199) await assert.rejects(reading, DepthError)
    else assert.deepEqual(await reading, parseKeeping(text, plan, deepest))
    if (deepest === 199) assert.throws(() => parseKeeping(text, plan, deepest), DepthError)
  }
})
