import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type KeepPlan, parseKeeping } from '../../src/domain/json/keep.ts'
import { compactJson, DepthError, membersOf } from '../../src/domain/json/scan.ts'
import { JsonText, writeJson } from '../../src/domain/json/text.ts'
import { parseInSteps } from '../support/shapes.ts'

const fields = (plan: Record<string, KeepPlan>): KeepPlan => ({ fields: new Map(Object.entries(plan)) })
const batch = fields({ batch: { items: fields({ kept: 'keep', req: fields({ kept: 'keep' }) }) } })

/** The parsed value with kept texts as strings that begin with a mark. */
function shown(value: unknown): unknown {
  if (value instanceof JsonText) return `kept ${value.text}`
  if (Array.isArray(value)) return value.map(shown)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shown(member)]))
}

for (const [text, plan, expected] of [
  ['{"a": 1.0}', 'keep', 'kept {"a":1.0}'],
  [' [ 1.0 , 2 ] ', 'keep', 'kept [1.0,2]'],
  ['null', 'keep', null],
  ['1.0', 'keep', 'kept 1.0'],
  [' "a b" ', 'keep', 'kept "a b"'],
  ['{"a":{"b":1.0},"c":1.0}', fields({ a: 'keep' }), { a: 'kept {"b":1.0}', c: 1 }],
  ['{"a":{"b":1.0,"c":2.0}}', fields({ a: fields({ b: 'keep' }) }), { a: { b: 'kept 1.0', c: 2 } }],
  ['[[1.0],[2.0,null]]', { items: { items: 'keep' } }, [['kept 1.0'], ['kept 2.0', null]]],
  ['{"\\u0061":1.0}', fields({ a: 'keep' }), { a: 'kept 1.0' }],
  ['{"a":5}', fields({ a: fields({ b: 'keep' }) }), { a: 5 }],
  ['{"a":[{"b":1.0}]}', fields({ a: fields({ b: 'keep' }) }), { a: [{ b: 1 }] }],
  ['{"a":{"0":1.0}}', fields({ a: { items: 'keep' } }), { a: { '0': 1 } }],
  ['{"a":"}","b":"\\"{","c":1.0}', fields({ c: 'keep' }), { a: '}', b: '"{', c: 'kept 1.0' }],
  ['{"a":1.0,"a":2.0}', fields({ a: 'keep' }), { a: 'kept 2.0' }],
  ['{"a":{"b":1},"a":null}', fields({ a: 'keep' }), { a: null }],
  ['{"a":null,"a":{"b":1}}', fields({ a: 'keep' }), { a: 'kept {"b":1}' }],
  ['{"a":{"b":1.0},"a":{}}', fields({ a: fields({ b: 'keep' }) }), { a: {} }],
  ['{"a":{"b":1.0},"a":{"b":2.0}}', fields({ a: fields({ b: 'keep' }) }), { a: { b: 'kept 2.0' } }],
  ['{"a":[1.0,2.0,3.0],"a":[4.0]}', fields({ a: { items: 'keep' } }), { a: ['kept 4.0'] }],
  ['{"a":{"b":1.0},"a":5}', fields({ a: fields({ b: 'keep' }) }), { a: 5 }],
  ['{}', fields({ a: 'keep' }), {}],
  ['[]', { items: 'keep' }, []],
] as [string, KeepPlan, unknown][]) {
  test(`parseKeeping: ${text}`, () => {
    assert.deepEqual(shown(parseKeeping(text, plan, 100)), expected)
  })
}

test('parseKeeping: a kept text knows its value', () => {
  const kept = parseKeeping('{ "a" : [ 1 ] }', 'keep', 100) as JsonText
  assert.deepEqual([kept.text, kept.value], ['{"a":[1]}', { a: [1] }])
})

test('parseKeeping: __proto__ is a key like any other', () => {
  const value = parseKeeping('{"__proto__":{"a":1.0}}', fields({ a: 'keep' }), 100) as object
  assert.deepEqual(Object.keys(value), ['__proto__'])
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
})

for (const [levels, plan] of [
  [(n: number) => `${'['.repeat(n)}${']'.repeat(n)}`, {}],
  [(n: number) => `${'['.repeat(n)}${']'.repeat(n)}`, 'keep'],
  [(n: number) => `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`, {}],
  [(n: number) => `{"batch":[{"kept":${'['.repeat(n - 3)}${']'.repeat(n - 3)}}]}`, batch],
  [(n: number) => `{"batch":[{"other":${'['.repeat(n - 3)}${']'.repeat(n - 3)}}]}`, batch],
  [(n: number) => `{"other":[${'['.repeat(n - 2)}${']'.repeat(n - 2)}],"batch":[]}`, batch],
] as [(n: number) => string, KeepPlan][]) {
  test(`parseKeeping: ${levels(5)} is bounded in depth`, async () => {
    const steps = (n: number) => parseInSteps(levels(n), plan, 10, () => undefined)
    assert.doesNotThrow(() => parseKeeping(levels(10), plan, 10))
    await steps(10)
    assert.throws(() => parseKeeping(levels(11), plan, 10), DepthError)
    await assert.rejects(steps(11), DepthError)
  })
}

/** What became of a text: its value, or the kind of its refusal. */
async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return shown(await parse())
  } catch (error) {
    assert.ok(error instanceof SyntaxError, String(error))
    return 'not JSON'
  }
}

const json = fc.jsonValue({ depthSize: 'medium' })
const space = fc.constantFrom('', ' ', '\n', '\t ', '  \r\n')

/** Batches, and other things that look like them. */
const bodies = fc
  .oneof(
    fc.record({
      batch: fc.array(fc.record({ kept: json, req: fc.record({ kept: json }), other: json })),
      more: json,
    }),
    fc.record({ batch: json }),
    fc.record({ more: json, batch: fc.array(json) }),
    json,
  )
  .chain((body) => space.map((indent) => JSON.stringify(body, null, indent)))

const edits = fc.array(
  fc.record({
    at: fc.nat(),
    remove: fc.nat(3),
    insert: fc.constantFrom(
      '',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      ' ',
      '0',
      '-',
      'null',
      '"batch":[1],',
    ),
  }),
  { maxLength: 3 },
)

test('parseInSteps: gives what parseKeeping gives, for any text', async () => {
  await fc.assert(
    fc.asyncProperty(bodies, edits, async (body, changes) => {
      let text = body
      for (const { at, remove, insert } of changes) {
        const from = at % (text.length + 1)
        text = text.slice(0, from) + insert + text.slice(from + remove)
      }
      const expected = await outcome(() => parseKeeping(text, batch, 1000))
      for (const piece of [1, 8, 10_000]) {
        const found = await outcome(() => parseInSteps(text, batch, 1000, () => undefined, piece))
        assert.deepEqual(found, expected, text)
      }
    }),
    { numRuns: 2000 },
  )
})

test('parseInSteps: rests between the items', async () => {
  let rests = 0
  const text = JSON.stringify({ batch: [{ kept: 1 }, { kept: 2 }, { kept: 3 }] })
  await parseInSteps(
    text,
    batch,
    10,
    () => {
      rests++
      return Promise.resolve()
    },
    15,
  )
  assert.equal(rests, 4, 'behind each item, and behind the list')
})

test('compactJson: takes the space between tokens out, and no other', () => {
  fc.assert(
    fc.property(json, space, (value, indent) => {
      assert.equal(compactJson(JSON.stringify(value, null, indent)), JSON.stringify(value))
    }),
  )
  assert.equal(compactJson(' { "a b" : " \\" " , "\\\\" : [ ] } '), '{"a b":" \\" ","\\\\":[]}')
})

test('membersOf: the texts of the members, the last of a key that is given twice', () => {
  const members = membersOf('{"a":1.0,"b":{"c":[1,{}]},"":"x,}","\\u0064":null,"a":2.0,"__proto__":[]}')
  assert.deepEqual(
    [...members],
    [
      ['a', '2.0'],
      ['b', '{"c":[1,{}]}'],
      ['', '"x,}"'],
      ['d', 'null'],
      ['__proto__', '[]'],
    ],
  )
  assert.deepEqual([...membersOf('{}')], [])
})

test('membersOf: agrees with JSON.parse', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), (object) => {
      const members = [...membersOf(JSON.stringify(object))]
      assert.deepEqual(
        new Map(members.map(([name, text]) => [name, JSON.parse(text)])),
        new Map(Object.entries(JSON.parse(JSON.stringify(object)))),
      )
    }),
  )
})

test('writeJson: writes what JSON.stringify writes, and kept texts as they are', () => {
  fc.assert(
    fc.property(json, (value) => {
      assert.equal(writeJson(value), JSON.stringify(value))
    }),
  )
  const kept = new JsonText('{"n":1.0}')
  assert.equal(writeJson(kept), '{"n":1.0}')
  assert.equal(
    writeJson({ a: [kept, undefined], b: undefined, c: { d: kept } }),
    '{"a":[{"n":1.0},null],"c":{"d":{"n":1.0}}}',
  )
  assert.equal(writeJson(Number.NaN), 'null')
  assert.equal(writeJson(undefined), 'null')
})
