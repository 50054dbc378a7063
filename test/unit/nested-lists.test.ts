import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type KeepPlan, parseKeeping } from '../../src/domain/json/keep.ts'
import { itemsOf } from '../../src/domain/json/scan.ts'
import { parseInSteps } from '../support/shapes.ts'

const plan: KeepPlan = {
  fields: new Map<string, KeepPlan>([
    ['table', { fields: new Map<string, KeepPlan>([['rows', { items: 'keep' }]]) }],
  ]),
}

const noPause = () => undefined
const inSteps = (text: string, deepest = 20, piece?: number) =>
  parseInSteps(text, plan, deepest, noPause, piece)

const space = fc.constantFrom('', ' ', '\n\t')
const value = fc.jsonValue({ maxDepth: 3 })
const body = fc
  .tuple(
    fc.array(value, { maxLength: 5 }),
    fc.dictionary(fc.constantFrom('a', 'rows', 'table'), value),
    space,
  )
  .map(([rows, others, gap]) => {
    const list = rows.map((row) => JSON.stringify(row)).join(`${gap},${gap}`)
    const rest = Object.entries(others).map(
      ([name, other]) => `${JSON.stringify(name)}:${JSON.stringify(other)},`,
    )
    return `{${rest.join('')}${gap}"table"${gap}:${gap}{${rest.join(gap)}"rows":[${gap}${list}${gap}]${gap}}}`
  })

test('a list inside an object is read in steps as it is read at once', async () => {
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      for (const piece of [1, 8, 10_000])
        assert.deepEqual(await inSteps(text, 20, piece), parseKeeping(text, plan, 20))
    }),
  )
})

test('what is no JSON is refused in steps as well', async () => {
  await fc.assert(
    fc.asyncProperty(body, fc.nat(), fc.constantFrom('', ',', ']', '}', '"', 'x'), async (text, at, sign) => {
      const place = at % text.length
      const broken = text.slice(0, place) + sign + text.slice(place + 1)
      const outcome = async (read: () => unknown) => {
        try {
          return { value: await read() }
        } catch (error) {
          assert.ok(error instanceof SyntaxError)
          return 'refused'
        }
      }
      assert.deepEqual(
        await outcome(() => inSteps(broken)),
        await outcome(() => parseKeeping(broken, plan, 20)),
      )
    }),
  )
})

test('a list that is not where the plan has it is read at once', async () => {
  for (const text of [
    '{"table":[1]}',
    '{"table":{"rows":5}}',
    '{"rows":[1]}',
    '[]',
    '5',
    '{"table":null}',
    '{}',
  ]) {
    assert.deepEqual(await inSteps(text), parseKeeping(text, plan, 20), text)
  }
})

test('depth is counted from the outside', async () => {
  const nested = (depth: number) => `{"table":{"rows":[${'['.repeat(depth)}${']'.repeat(depth)}]}}`
  assert.ok(await inSteps(nested(7), 10))
  await assert.rejects(inSteps(nested(8), 10))
})

test('the items of a list are its texts', () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 6 }), space, (list, gap) => {
      const texts = list.map((item) => JSON.stringify(item))
      assert.deepEqual(itemsOf(`[${gap}${texts.join(`${gap},${gap}`)}${gap}]`), texts)
    }),
  )
})
