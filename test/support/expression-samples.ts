import fc from 'fast-check'
import { compareText, JsonNumber } from '../../packages/json/index.ts'
import type { FieldReader } from '../../src/domain/expressions/evaluate.ts'
import { jsonField } from '../../src/domain/expressions/json-field.ts'
import { isPresent, textOfJson, valueAt } from '../../src/domain/expressions/json-value.ts'
import { compareNumbers, parseNumber } from '../../src/domain/expressions/numbers.ts'
import { splitPath } from '../../src/domain/expressions/path.ts'
import { Refusal, refuse } from '../../src/domain/refusals.ts'
import { storableText } from '../../src/domain/text.ts'
import type { FieldResolver } from '../../src/storage/sql/readings.ts'
import { rawSql } from '../../src/storage/sql/sql.ts'

/** A table with a column of every kind, and random rows, fields and expressions for it. */
export interface Row {
  name: string | null
  amount: number | null
  count: bigint | null
  at: number | null
  data: string | null
}

export const fieldOf: FieldResolver = (field) => {
  const [column = '', ...path] = splitPath(field)
  if (column === 'data') return { kind: 'json', column: rawSql('data'), path }
  if (field === 'name') return { kind: 'text', sql: rawSql('name') }
  if (field === 'amount' || field === 'count') return { kind: 'number', sql: rawSql(field) }
  if (field === 'at') return { kind: 'time', sql: rawSql('at') }
  const accepted = 'name, amount, count, at, data'
  throw refuse('unknown_field', { field: 'query', received: field, accepted })
}

export function readerOf(row: Row): FieldReader {
  return (field) => {
    const reading = fieldOf(field)
    if (reading.kind === 'json') return jsonField(row.data, reading.path)
    if (reading.kind === 'text') return { kind: 'text', value: row.name }
    if (reading.kind === 'time') return { kind: 'time', value: row.at }
    return { kind: 'number', value: field === 'count' ? row.count : row.amount }
  }
}

/** A refusal is a result like any other; which of several mistakes it names is not fixed. */
export function outcome<T>(work: () => T): T | string {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

/** The order that `compileOrder` promises, with the position in the table between equals. */
export function sortedBy(rows: readonly Row[], field: string, direction: 'asc' | 'desc'): number[] {
  const way = direction === 'asc' ? 1 : -1
  const path = splitPath(field).slice(1)
  const keys = rows.map(({ data }) => {
    const json = data === null ? undefined : valueAt(data, path)
    return { exists: isPresent(json), number: parseNumber(textOfJson(json)), text: textOfJson(json) }
  })
  return keys
    .map((key, id) => ({ ...key, id }))
    .sort((a, b) => {
      if (a.exists !== b.exists) return a.exists ? -1 : 1
      if ((a.number === null) !== (b.number === null)) return a.number === null ? 1 : -1
      const numbers = a.number === null || b.number === null ? 0 : compareNumbers(a.number, b.number)
      return way * numbers || way * compareText(a.text, b.text) || a.id - b.id
    })
    .map(({ id }) => id)
}

const keys = [
  'a',
  'b',
  'a.b',
  '"',
  '\\',
  '',
  '0',
  '1',
  '2',
  '10',
  '-1',
  '01',
  ' 1',
  'é',
  '😀',
  "it's",
  '$',
  '[0]',
  '?',
  '\n',
]
const key = fc.constantFrom(...keys, '__proto__', 'x?', '$1', '#', 'a"b', '99999999999')
const commonKey = fc.oneof(
  { arbitrary: fc.constantFrom('a', 'b', '0'), weight: 4 },
  { arbitrary: fc.constantFrom('1', 'a.b', ''), weight: 1 },
  { arbitrary: key, weight: 1 },
)

export const words = [
  ...[
    '',
    'a',
    'A',
    'abc',
    'ABC',
    'äÖ',
    'ÄÖ',
    'ΟΔΟΣ',
    'οδος',
    'ß',
    'İ',
    '😀',
    '\u{10ffff}',
    '\uffff',
    '\ufffd',
  ],
  ...[
    '5',
    '5.0',
    '+5',
    '-5',
    '.5',
    '5.',
    '1e3',
    '1E-3',
    '1e9999',
    '1e999',
    '-',
    '+',
    'e',
    '1-2',
    '0x10',
    ' 5',
    '٣',
  ],
  ...[
    '9007199254740993',
    '9223372036854775808',
    '-9223372036854775808',
    '00',
    '0',
    '1',
    'true',
    'false',
    'null',
  ],
  ...[
    "it's",
    '"',
    '\\',
    '\\u0000',
    '\0',
    'a\0b',
    '\ud800',
    '\udc00x',
    '\ud83d',
    '%',
    '_',
    '?',
    '$1',
    '[1]',
    '{}',
  ],
  ...['2026-01-02', '2026-01-02T03:04:05.123456Z', 'constructor', '__proto__', '\\ud83d\udc00'],
]
const word = fc.oneof(
  { arbitrary: fc.constantFrom(...words), weight: 8 },
  { arbitrary: fc.string({ maxLength: 4 }), weight: 1 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 3 }), weight: 1 },
)

export const tokens = [
  ...[
    '0',
    '-0',
    '1',
    '1.0',
    '1.00',
    '5',
    '5.0',
    '5.50',
    '0.1',
    '0.30000000000000004',
    '-1.5e3',
    '1E5',
    '1.0e+3',
    '2.50e-2',
  ],
  ...[
    '9007199254740992',
    '9007199254740993',
    '9007199254740993.0',
    '-9223372036854775808',
    '9223372036854775807',
  ],
  ...[
    '9223372036854775808',
    '1152921504606847000',
    '1152921504606846976',
    '1.152921504606847e18',
    '1e15',
    '1e300',
  ],
  ...[
    '-9.223372036854775808e18',
    '1.7976931348623157e308',
    '5e-324',
    '2e-324',
    '1e-999',
    '1e22',
    '100000000000000000000000',
  ],
]
const token = fc.oneof(
  { arbitrary: fc.constantFrom(...tokens), weight: 6 },
  { arbitrary: fc.integer({ min: -20, max: 20 }).map(String), weight: 2 },
  { arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String), weight: 1 },
  {
    arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
    weight: 1,
  },
  {
    arbitrary: fc.double({ min: -10, max: 10, noNaN: true }).map((number) => JSON.stringify(number)),
    weight: 1,
  },
)
/** Beyond a double, so only stored JSON may have them. */
export const endless = ['1e999', '-1e400', '1e1000', `1${'0'.repeat(400)}`, `0.${'0'.repeat(400)}1`]
const storedToken = fc.oneof(
  { arbitrary: token, weight: 20 },
  { arbitrary: fc.constantFrom(...endless), weight: 1 },
)

/** JSON has several ways to write the same text. */
export function written(text: string, escaped: boolean): string {
  if (!escaped) return JSON.stringify(text)
  const units = Array.from({ length: text.length }, (_, at) =>
    text.charCodeAt(at).toString(16).padStart(4, '0'),
  )
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`
}
const sometimes = fc.integer({ min: 0, max: 7 }).map((number) => number === 0)
const jsonString = fc.tuple(word, sometimes).map(([text, escaped]) => written(text, escaped))

const { document } = fc.letrec<{ json: string; list: string; object: string; document: string }>((tie) => ({
  document: fc.oneof({ arbitrary: tie('object'), weight: 6 }, { arbitrary: tie('json'), weight: 1 }),
  json: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { arbitrary: fc.oneof(jsonString, storedToken, fc.constantFrom('null', 'true', 'false')), weight: 4 },
    { arbitrary: tie('list'), weight: 2 },
    { arbitrary: tie('object'), weight: 2 },
  ),
  list: fc.array(tie('json'), { maxLength: 4 }).map((values) => `[${values.join(',')}]`),
  object: fc
    .uniqueArray(fc.tuple(commonKey, sometimes, tie('json')), {
      minLength: 1,
      maxLength: 6,
      selector: ([name]) => name,
    })
    .map(
      (members) =>
        `{${members.map(([name, escaped, value]) => `${written(name, escaped)}:${value}`).join(',')}}`,
    ),
}))

const instants = [0, 1, -1, 1_767_323_045_123_456, 1_767_323_045_000_000, 1_767_323_045_120_000, -1_500_000]
const instant = fc.oneof(fc.constantFrom(...instants), fc.integer({ min: -9e15, max: 9e15 }))

const row: fc.Arbitrary<Row> = fc.record({
  name: fc.option(word.map(storableText)),
  amount: fc.option(
    fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, 1, 5, 0.1, 1e21, 1e-7)),
  ),
  count: fc.option(
    fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.constantFrom(0n, 1n, 5n)),
  ),
  at: fc.option(instant),
  data: fc.option(document, { freq: 15 }),
})

export const rows = fc.array(row, { minLength: 4, maxLength: 12 })

/** Paths that exist in most tables: short, and from the same few keys. */
export const path = fc.oneof(
  { arbitrary: fc.array(commonKey, { minLength: 1, maxLength: 1 }), weight: 5 },
  { arbitrary: fc.array(commonKey, { maxLength: 3 }), weight: 2 },
)

/** A field that reads this path. */
export function fieldAt(segments: readonly string[]): string {
  return ['data', ...segments].map((one) => one.replaceAll('.', '\\.')).join('.')
}

const field = fc.oneof(
  { arbitrary: fc.constantFrom('name', 'amount', 'count', 'at'), weight: 1 },
  {
    arbitrary: path.map(fieldAt),
    weight: 3,
  },
)

const literal = fc.oneof(
  { arbitrary: word, weight: 4 },
  { arbitrary: token.map((one) => new JsonNumber(one)), weight: 4 },
  { arbitrary: fc.boolean(), weight: 1 },
  { arbitrary: fc.constant(null), weight: 1 },
  // Around the times of the rows.
  {
    arbitrary: fc.constantFrom(
      1_767_323_045.123456,
      1_767_323_045,
      '2026-01-02T04:04:05.12+01:00',
      '1970-01-01',
    ),
    weight: 1,
  },
)

const { operation } = fc.letrec<{ operation: object; operand: object }>((tie) => {
  const read = field.map((name) => ({ $getField: name }))
  const constant = literal.map((value) => ({ $literal: value }))
  const pair = fc.oneof(
    { arbitrary: fc.tuple(read, constant), weight: 4 },
    { arbitrary: fc.tuple(constant, read), weight: 1 },
    { arbitrary: fc.tuple(tie('operand'), tie('operand')), weight: 4 },
  )
  const list = fc.array(
    fc.oneof({ arbitrary: constant, weight: 9 }, { arbitrary: tie('operand'), weight: 1 }),
    { maxLength: 6 },
  )
  return {
    operation: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      {
        arbitrary: fc
          .tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte'), pair)
          .map(([name, both]) => ({ [name]: both })),
        weight: 8,
      },
      { arbitrary: fc.tuple(tie('operand'), list).map((both) => ({ $in: both })), weight: 3 },
      {
        arbitrary: fc
          .record(
            {
              input: tie('operand'),
              substr: fc.oneof(
                word.map((text) => ({ $literal: text })),
                read,
              ),
              case_insensitive: fc.boolean(),
            },
            { requiredKeys: ['input', 'substr'] },
          )
          .map((members) => ({ $contains: members })),
        weight: 3,
      },
      {
        arbitrary: fc.array(tie('operand'), { minLength: 1, maxLength: 3 }).map((all) => ({ $and: all })),
        weight: 2,
      },
      {
        arbitrary: fc.array(tie('operand'), { minLength: 1, maxLength: 3 }).map((all) => ({ $or: all })),
        weight: 2,
      },
      { arbitrary: tie('operation').map((one) => ({ $not: [one] })), weight: 2 },
    ),
    operand: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      { arbitrary: read, weight: 8 },
      { arbitrary: constant, weight: 2 },
      {
        arbitrary: fc
          .record({ input: tie('operand'), to: fc.constantFrom('double', 'string', 'int', 'bool', 'exists') })
          .map((members) => ({ $convert: members })),
        weight: 2,
      },
      { arbitrary: tie('operand').map((one) => ({ $size: one })), weight: 1 },
      { arbitrary: tie('operation'), weight: 2 },
    ),
  }
})

/** The JSON text of a query. */
export const query = operation.map((one) => JSON.stringify({ $expr: one }))

const scalars = [...words.map((text) => JSON.stringify(text)), ...tokens, ...endless, 'null', 'true', 'false']
const compound = [
  '{}',
  '[]',
  '{"a":1,"0":"é"}',
  '[1.0,"\\u0000\\ud83d\\ude00\\\\ud83d\\ude00\\/"]',
  '["\\ud83d\\ude00\\ud83d"]',
]

function rowOf(data: string | null, rest: Partial<Row> = {}): Row {
  return { name: null, amount: null, count: null, at: null, data, ...rest }
}

/** Every kind of value that a JSON column may have, and one row in which it is null. */
export const everyValue: readonly Row[] = [null, ...scalars, ...compound].map((json) => rowOf(json))

/** Containers, and with `pathQueries` the segments that may or may not address something in them. */
export const everyContainer: readonly Row[] = [
  ...[
    '[]',
    '["zero","one",[2.0]]',
    '{"0":"zero","1":{"0":"x"}}',
    '[{"0":"x","-1":"y"},["z"]]',
    '"text"',
    '5',
    'null',
  ],
  `{${[...keys, 'x?'].map((name) => `${written(name, false)}:${written(name, true)}`).join(',')}}`,
  `{${keys.map((name) => `${written(name, true)}:${written(name, false)}`).join(',')}}`,
  '["\\\\ud83d\\ude00",["\\\\ud83d\\\\ude00"],"\\\\\\ud83d\\ude00"]',
  '{"\\ud83d\\ude00":"\\ud83d","a":"\\u0000","😀x":1}',
].map((json) => rowOf(json))

const segments = [...keys, '+1', '-0', '00', '1 ', '0x0', '1.0', '4294967296', '18446744073709551616']

export function pathQueries(): string[] {
  const paths = segments.flatMap((first) => [[first], [first, '0'], ['1', first], ['2', first]])
  return paths.flatMap((path) => {
    const read = `{"$getField":${JSON.stringify(fieldAt(path))}}`
    const constants = [
      '"zero"',
      '"x"',
      '"y"',
      '"z"',
      '2',
      '"2"',
      written(path[0] as string, false),
      'null',
      '"5"',
    ]
    return constants.map((constant) => `{"$expr":{"$eq":[${read},{"$literal":${constant}}]}}`)
  })
}

/** All of them next to each other in one row. */
export const everyPair: readonly Row[] = scalars.flatMap((a, index) =>
  // A third is enough to cover every neighbour, and keeps the table small.
  scalars.filter((_, other) => (index + other) % 3 === 0).map((b) => rowOf(`{"a":${a},"b":${b}}`)),
)

export const everyColumn: readonly Row[] = [
  ...words.map((text) => rowOf(null, { name: storableText(text) })),
  ...[0, -0, 1, 5, 0.1, -2.5, 1e-7, 1.5e-9, 1e21, 1.25e300, 2 ** 60, 2 ** 63, 5e-324].map((amount) =>
    rowOf(null, { amount }),
  ),
  ...[0n, 1n, -5n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)].map((count) => rowOf(null, { count })),
  ...instants.map((at) => rowOf(null, { at })),
]

const everyOperator = ['$eq', '$gt', '$gte', '$lt', '$lte']

function comparisons(left: string, right: string): string[] {
  return [
    ...everyOperator.map((operator) => `{"$expr":{"${operator}":[${left},${right}]}}`),
    `{"$expr":{"$in":[${left},[${right},{"$literal":"z"}]]}}`,
  ]
}

/** For each constant, the queries that compare a field with it, unchanged and converted. */
export function constantQueries(field: string): string[][] {
  const read = `{"$getField":${JSON.stringify(field)}}`
  const conversions = ['double', 'string', 'int', 'bool', 'exists'].map(
    (to) => `{"$convert":{"input":${read},"to":"${to}"}}`,
  )
  const constants = [...words.map((text) => JSON.stringify(text)), ...tokens, 'null', 'true', 'false']
  return constants.map((constant) => {
    const literal = `{"$literal":${constant}}`
    const contains = [false, true].map(
      (fold) => `{"$expr":{"$contains":{"input":${read},"substr":${literal},"case_insensitive":${fold}}}}`,
    )
    return [
      ...comparisons(read, literal),
      ...conversions.flatMap((converted) => comparisons(converted, literal).slice(0, 2)),
      ...(constant.startsWith('"') ? contains : []),
    ]
  })
}

export function fieldQueries(left: string, right: string): string[] {
  const [a, b] = [left, right].map((field) => `{"$getField":${JSON.stringify(field)}}`) as [string, string]
  return [
    ...comparisons(a, b),
    `{"$expr":{"$contains":{"input":${a},"substr":${b},"case_insensitive":true}}}`,
  ]
}
