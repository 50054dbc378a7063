import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { jsonObject, longList, shortList, shortRecord, withAliases } from '../../src/domain/fields.ts'
import { parseKeeping } from '../../src/domain/json/keep.ts'
import { parseByShape } from '../../src/domain/json/shape.ts'
import { keepPlanOf, shapeOf } from '../../src/http/body-shapes.ts'

const call = withAliases(
  { old_name: 'name' },
  z.object({ name: z.string().nullish(), inputs: jsonObject(), tags: shortList(z.string(), 2).nullish() }),
)
const contract = z.object({
  project: z.string().transform((text) => text.length),
  call: call.nullish(),
  batch: longList(
    z.discriminatedUnion('mode', [
      z.object({ mode: z.literal('a'), call }),
      z.object({ mode: z.literal('b'), n: z.int() }),
    ]),
  ).nullish(),
  prices: shortRecord(z.string(), z.object({ cost: z.number() }), {
    most: 3,
    things: 'prices',
    name: 'name',
  }).nullish(),
  either: z.union([z.string(), z.array(z.int()).max(3), z.record(z.string(), z.unknown())]).nullish(),
})

const parse = (text: string, piece?: number, schema: z.ZodType = contract) =>
  parseByShape(text, shapeOf(schema), 50, () => undefined, piece)

const names = [
  'project',
  'call',
  'batch',
  'prices',
  'either',
  'old_name',
  'name',
  'inputs',
  'tags',
  'mode',
  'n',
]
const name = fc.constantFrom(...names, 'cost', 'a', '__proto__', 'unknown')
const { body } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom('1', '1.0', 'null', '"a"', '"b"', 'true', '[]', '{}'),
    fc.array(tie('value'), { maxLength: 6 }).map((items) => `[${items.join()}]`),
    tie('body'),
  ),
  body: fc
    .array(fc.tuple(name, tie('value')), { maxLength: 8 })
    .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join()}}`),
})) as { body: fc.Arbitrary<string> }

/** Some that fit, as chance alone would find few. */
const fitting = fc.tuple(body, body).map(([inputs, unknown]) =>
  JSON.stringify({
    unknown: '@2',
    project: 'x',
    call: { inputs: '@1', tags: ['x'], unknown: '@2', old_name: 'y' },
    batch: [
      { mode: 'a', call: { name: 'z', inputs: '@1' }, unknown: '@2' },
      { mode: 'b', n: 1 },
    ],
    prices: { m: { cost: 1.5, unknown: '@2' } },
    either: { a: '@1' },
  })
    .replaceAll('"@1"', inputs)
    .replaceAll('"@2"', unknown),
)

test('a body that is read in pieces comes to what one comes to that is read at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(body, fitting), async (text) => {
      const whole = contract.safeParse(parseKeeping(text, keepPlanOf(contract), 50))
      for (const piece of [1, 10, 100]) {
        const pieces = contract.safeParse(await parse(text, piece))
        assert.deepEqual(pieces.data, whole.data)
        assert.deepEqual(pieces.error?.issues, whole.error?.issues)
      }
    }),
    { numRuns: 1000 },
  )
})

test('what has no place in a contract is looked at and left out', async () => {
  const text = `{"unknown":${'['.repeat(30)}1${']'.repeat(30)},"project":"x","n":1,"call":{"unknown":[1],"inputs":{"a":1}}}`
  assert.deepEqual(Object.keys((await parse(text)) as object), ['project', 'call'])
  for (const [right, wrong] of [
    ['1', '01'],
    ['[1]', '[1,]'],
    ['"n":1', '"n"=1'],
    ['"n":1', '"n":'],
    ['"n":1', '"n":1,'.repeat(2)],
    ['"n":1', '"\u0001":1'],
    ['"project":"x"', '"project":x'],
  ] as const) {
    for (const piece of [1, 1000])
      await assert.rejects(parse(text.replace(right, wrong), piece), SyntaxError, wrong)
  }
})

test('of what is more than a contract takes no more is made', async () => {
  const many = 50_000
  const list = Array(many).fill('"x"').join()
  const members = Array.from({ length: many }, (_, n) => `"m${n}":1`).join()
  const { call, prices } = (await parse(
    `{"project":"x","call":{"inputs":{},"tags":[${list}]},"prices":{${members}}}`,
  )) as { call: { tags: unknown[] }; prices: object }
  assert.equal(call.tags.length, 5)
  assert.ok(Object.keys(prices).length < many / 4)
  const wrong = (await parse(`{"project":[${list}],"batch":{${members}}}`)) as Record<string, object>
  assert.deepEqual(wrong, { project: [], batch: {} })
})

test('whatever fills a body, others get their turn meanwhile', async () => {
  const many = 20_000
  const members = Array.from({ length: many }, (_, n) => `"m${n}":1`).join()
  for (const [what, text] of [
    ['members beside those of the contract', `{${members},"project":"x"}`],
    ['an unknown member', `{"unknown":{${members}},"project":"x"}`],
    ['members inside', `{"project":"x","call":{${members},"inputs":{}}}`],
    ['one member again and again', `{"project":"x","call":{${'"inputs":{},'.repeat(many)}"inputs":{}}}`],
    ['names of the client', `{"project":"x","prices":{${members}}}`],
    ['items', `{"project":"x","call":{"inputs":{},"tags":[${'"x",'.repeat(many)}"x"]}}`],
    ['an object in the place of a text', `{"project":{${members}}}`],
  ] as const) {
    let breaths = 0
    const inTurns = await parseByShape(text, shapeOf(contract), 50, () => {
      breaths++
      return undefined
    })
    assert.ok(breaths >= many, `${what}: ${breaths}`)
    const { data } = contract.safeParse(inTurns)
    assert.deepEqual(data, contract.safeParse(parseKeeping(text, keepPlanOf(contract), 50)).data, what)
  }
})
