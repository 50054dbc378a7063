import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { digitsAt } from '../../src/domain/json/digits.ts'
import { anyShape, DepthError, readJson, type Shape } from '../../src/domain/json/read.ts'
import { JsonText } from '../../src/domain/json/text.ts'

const kept: Shape = { verbatim: true }
const fields = (members: Record<string, Shape>): Shape => ({ fields: new Map(Object.entries(members)) })
const open = (shape: Shape): Shape => ({ ...shape, others: anyShape })

/** The value that was read, with kept texts as strings that begin with `kept`. */
function shown(value: unknown): unknown {
  if (value instanceof JsonText) return `kept ${value.text}`
  if (Array.isArray(value)) return value.map(shown)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shown(member)]))
}

for (const [text, shape, expected] of [
  ['{"a": 1.0}', kept, 'kept {"a":1.0}'],
  [' [ 1.0 , 2 ] ', kept, 'kept [1.0,2]'],
  ['null', kept, null],
  ['1.0', kept, 'kept 1.0'],
  [' "a b" ', kept, 'kept "a b"'],
  ['{"a":{"b":1.0},"c":1.0}', fields({ a: kept, c: {} }), { a: 'kept {"b":1.0}', c: 1 }],
  ['{"a":{"b":1.0,"c":2.0}}', fields({ a: open(fields({ b: kept })) }), { a: { b: 'kept 1.0', c: 2 } }],
  ['[[1.0],[2.0,null]]', { items: { items: kept } }, [['kept 1.0'], ['kept 2.0', null]]],
  ['{"\\u0061":1.0}', fields({ a: kept }), { a: 'kept 1.0' }],
  ['{"a":5}', fields({ a: fields({ b: kept }) }), { a: 5 }],
  ['{"a":"}","b":"\\"{","c":1.0}', open(fields({ c: kept })), { a: '}', b: '"{', c: 'kept 1.0' }],
  ['{"a":1.0,"a":2.0}', fields({ a: kept }), { a: 'kept 2.0' }],
  ['{"a":{"b":1},"a":null}', fields({ a: kept }), { a: null }],
  ['{"a":{"b":1.0},"a":{}}', fields({ a: fields({ b: kept }) }), { a: {} }],
  ['{}', fields({ a: kept }), {}],
  ['[]', { items: kept }, []],
] as [string, Shape, unknown][]) {
  test(`${text} is read according to its shape`, () => {
    assert.deepEqual(shown(readJson(text, shape, 100)), expected)
  })
}

test('__proto__ is a key like any other', () => {
  const value = readJson('{"__proto__":{"a":1.0}}', anyShape, 100) as object
  assert.deepEqual(Object.keys(value), ['__proto__'])
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
})

test('unknown members are checked, named and left out', () => {
  const text = `{"unknown":${'['.repeat(30)}1${']'.repeat(30)},"a":1,"b":{"c":[{}]}}`
  const shape = fields({ a: {}, b: {} })
  assert.deepEqual(readJson(text, shape, 50), { unknown: null, a: 1, b: {} })
  for (const [right, wrong] of [
    ['[1]', '[01]'],
    ['[1]', '[1,]'],
    ['"a":1', '"a"=1'],
    ['"a":1', '"a":'],
    ['"a":1', '"a":1,'],
    ['"a":1', '"\u0001":1'],
  ] as const) {
    assert.throws(() => readJson(text.replace(right, wrong), shape, 50), SyntaxError, wrong)
  }
})

test('items beyond the limit of a contract are not created', () => {
  const many = 50_000
  const list = Array(many).fill('"x"').join()
  const members = Array.from({ length: many }, (_, n) => `"m${n}":1`).join()
  const few = (shape: Shape): Shape => ({ ...shape, most: 4 })
  assert.equal((readJson(`[${list}]`, few({ items: {} }), 9) as unknown[]).length, 5)
  assert.equal(Object.keys(readJson(`{${members}}`, few({ others: {} }), 9) as object).length, 5)
  assert.deepEqual(readJson(`{"a":[${list}],"b":{${members}}}`, fields({ a: {}, b: {} }), 9), {
    a: [],
    b: {},
  })
  assert.ok(Object.keys(readJson(`{${members}}`, fields({}), 9) as object).length < 100)
})

const lists = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
for (const [name, levels, shape] of [
  ['lists', lists, anyShape],
  ['lists that are kept', lists, kept],
  ['lists that are left out', (n: number) => `{"x":${lists(n - 1)}}`, fields({})],
  ['objects', (n: number) => `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`, anyShape],
  [
    'a value that is kept in a list',
    (n: number) => `{"a":[${lists(n - 2)}]}`,
    fields({ a: { items: kept } }),
  ],
] as [string, (depth: number) => string, Shape][]) {
  test(`the depth of ${name} is bounded, counted from the outside`, () => {
    readJson(levels(10), shape, 10)
    assert.throws(() => readJson(levels(11), shape, 10), DepthError)
  })
}

const scalar = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    '-0',
    '1.0',
    '1e400',
    '-1.5E-7',
    '12345678901234567890',
    '"\\u00e9\\ud83d"',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => JSON.stringify(text)),
)
const key = fc.oneof(
  fc.constantFrom('"a"', '"\\u0061"', '"__proto__"', '"10"', '"b"'),
  fc.string({ unit: 'binary', maxLength: 4 }).map((text) => JSON.stringify(text)),
)
const space = fc.constantFrom('', '', ' ', '\r\n\t')
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc
      .tuple(fc.array(tie('json'), { maxLength: 6 }), space)
      .map(([items, s]) => `[${s}${items.join(`${s},${s}`)}${s}]`),
    fc
      .tuple(fc.array(fc.tuple(key, tie('json')), { maxLength: 6 }), space)
      .map(
        ([list, s]) => `{${s}${list.map(([name, one]) => `${name}${s}:${s}${one}`).join(`${s},${s}`)}${s}}`,
      ),
  ),
}))

/** Texts that are JSON or nearly so. */
const texts = fc
  .tuple(
    json,
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(3),
        fc.constantFrom(
          '',
          '',
          ',',
          ']',
          '}',
          '{',
          '[',
          ':',
          '"',
          '\\',
          '\\u00',
          '1',
          '.',
          '-',
          'e',
          'x',
          '\n',
          '\0',
        ),
      ),
      { maxLength: 2 },
    ),
  )
  .map(([text, edits]) => {
    let edited = text
    for (const [at, length, insert] of edits) {
      const from = at % (edited.length + 1)
      edited = edited.slice(0, from) + insert + edited.slice(from + length)
    }
    return edited
  })

/** What V8 13.6 itself may read wrongly: docs/promises.md. */
const nameEndingInEscape = /\\(?:u[0-9a-f]{4}|.)"\s*:/i

function outcome(read: () => unknown): unknown {
  try {
    return { value: read() }
  } catch (error) {
    assert.ok(error instanceof SyntaxError, String(error))
    return 'not JSON'
  }
}

test('a text is read or refused as by JSON.parse', () => {
  fc.assert(
    fc.property(texts, (text) => {
      fc.pre(!nameEndingInEscape.test(text))
      const expected = outcome(() => JSON.parse(text))
      assert.deepEqual(
        outcome(() => readJson(text, anyShape, 1000)),
        expected,
      )
      const isKept = expected !== 'not JSON' && (expected as { value: unknown }).value !== null
      const value = outcome(() => readJson(text, kept, 1000))
      if (isKept)
        assert.deepEqual(
          ((value as { value: JsonText }).value as JsonText).value,
          (expected as { value: unknown }).value,
        )
      else assert.deepEqual(value, expected)
      assert.equal(
        typeof outcome(() => readJson(text, {}, 1000)),
        typeof expected,
        'members that are left out are checked',
      )
    }),
    { numRuns: 5000 },
  )
})

test('the digits of a number that a double would round are available', () => {
  const text =
    '{"a":9007199254740993,"b":[1,{"__proto__":-9223372036854775809}],"c":1e400,"d":9007199254740991,"a":12345678901234567890}'
  const value = readJson(text, anyShape, 10)
  assert.equal(digitsAt(value, ['a']), '12345678901234567890')
  assert.equal(digitsAt(value, ['b', 1, '__proto__']), '-9223372036854775809')
  assert.equal(digitsAt(value, ['c']), '1e400')
  for (const path of [[], ['d'], ['b'], ['b', 0], ['b', 1], ['x', 'y'], ['a', 'b']]) {
    assert.equal(digitsAt(value, path), undefined, path.join('.'))
  }
  const many = readJson(`[${'9007199254740993,'.repeat(1000)}1]`, anyShape, 10)
  assert.equal(digitsAt(many, [99]), '9007199254740993')
  assert.equal(digitsAt(many, [100]), undefined)
})
