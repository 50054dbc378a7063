import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluate, type FieldValue } from '../../src/domain/expressions/evaluate.ts'
import { fieldsOf } from '../../src/domain/expressions/expression.ts'
import { jsonField } from '../../src/domain/expressions/json-field.ts'
import { decimalText, parseNumber } from '../../src/domain/expressions/numbers.ts'
import { parseExpression, parseExpressionText } from '../../src/domain/expressions/parse.ts'
import { splitPath } from '../../src/domain/expressions/path.ts'
import { Refusal } from '../../src/domain/refusals.ts'

const columns: Record<string, FieldValue> = {
  name: { kind: 'text', value: 'Ada' },
  nobody: { kind: 'text', value: null },
  count: { kind: 'number', value: 9007199254740993n },
  score: { kind: 'number', value: 0.5 },
  at: { kind: 'time', value: 1_767_323_045_500_000 },
  never: { kind: 'time', value: null },
}

/** Evaluates the expression; `d` is a JSON column with this text. */
function judge(expression: string, data: string | null = null): boolean | null {
  return evaluate(parseExpressionText(`{"$expr":${expression}}`), (field) => {
    const [first, ...path] = splitPath(field)
    return columns[field] ?? (first === 'd' ? jsonField(data, path) : { kind: 'text', value: null })
  })
}

/** Compares the field `d` with a constant. */
function compared(data: string, operator: string, constant: string): boolean | null {
  return judge(`{"${operator}":[{"$getField":"d"},{"$literal":${constant}}]}`, data)
}

test('a field is converted to the type of the constant', () => {
  const cases: [string, string, string, boolean | null][] = [
    ['0.9', '$gte', '1', false],
    ['1.5', '$gte', '1', true],
    ['1.5', '$gte', '1.0', true],
    ['"1.5"', '$gte', '1', true],
    ['5.0', '$eq', '5', true],
    ['5', '$eq', '5.0', true],
    ['5.0', '$eq', '"5"', true],
    ['5.50', '$eq', '"5.50"', true],
    ['"5.0"', '$eq', '"5"', false],
    ['"5.0"', '$eq', '5', true],
    ['1e3', '$eq', '1000', true],
    ['1e3', '$eq', '"1e3"', true],
    ['"10"', '$lt', '"9"', true],
    ['10', '$lt', '9', false],
    ['9007199254740993', '$eq', '9007199254740992', false],
    ['9007199254740993', '$gt', '9007199254740992.0', true],
    ['9007199254740993', '$gt', '9.007199254740992e15', true],
    ['9223372036854775807', '$lt', '9223372036854775808', true],
    ['"abc"', '$eq', '1', null],
    ['"1e1000"', '$eq', '1', null],
    ['"0x10"', '$eq', '16', null],
    ['" 5"', '$eq', '5', null],
    ['"+.5"', '$eq', '0.5', true],
    ['true', '$eq', 'true', true],
    ['"true"', '$eq', 'true', true],
    ['1', '$eq', 'true', true],
    ['0', '$eq', 'true', false],
    ['2', '$eq', 'true', null],
    ['true', '$eq', '"true"', true],
    ['true', '$eq', '1', null],
    ['null', '$eq', '""', true],
    ['null', '$eq', 'null', true],
    ['""', '$eq', 'null', false],
    ['0', '$gt', 'null', null],
    ['{"a":[1.0,"x"]}', '$eq', '"{\\"a\\":[1.0,\\"x\\"]}"', true],
    ['"\uffff"', '$lt', '"😀"', true],
    ['"a\\u0000b"', '$eq', '"a\\u0000b"', true],
    ['"\\ud800"', '$eq', '"\ufffd"', true],
  ]
  for (const [data, operator, constant, expected] of cases) {
    assert.equal(compared(data, operator, constant), expected, `${data} ${operator} ${constant}`)
  }
})

test('paths reach into objects and lists', () => {
  const data = '{"a":{"b":[10,{"0":"zero"}]},"x.y":1,"":{"":2},"0":3,"q\\"\\\\":4,"\\u00e9":5,"01":6}'
  const cases: [string, string][] = [
    ['d.a.b.0', '10'],
    ['d.a.b.1.0', '"zero"'],
    ['d.x\\.y', '1'],
    ['d..', '2'],
    ['d.0', '3'],
    ['d.q"\\', '4'],
    ['d.é', '5'],
    ['d.01', '6'],
    ['d.a.b.01', 'null'],
    ['d.a.b.-1', 'null'],
    ['d.a.b.2', 'null'],
    ['d.a.b.length', 'null'],
    ['d.__proto__', 'null'],
    ['d.a.b.0.0', 'null'],
  ]
  for (const [field, constant] of cases) {
    const query = `{"$eq":[{"$getField":${JSON.stringify(field)}},{"$literal":${constant}}]}`
    assert.equal(judge(query, data), true, field)
  }
})

test('columns of each kind are compared', () => {
  const cases: [string, boolean | null][] = [
    ['{"$eq":[{"$getField":"name"},{"$literal":"Ada"}]}', true],
    ['{"$eq":[{"$literal":"Ada"},{"$getField":"name"}]}', true],
    ['{"$eq":[{"$getField":"nobody"},{"$literal":"Ada"}]}', null],
    ['{"$eq":[{"$getField":"nobody"},{"$literal":null}]}', true],
    ['{"$eq":[{"$literal":null},{"$getField":"name"}]}', false],
    ['{"$gte":[{"$getField":"nobody"},{"$literal":null}]}', null],
    ['{"$not":[{"$eq":[{"$getField":"nobody"},{"$literal":"x"}]}]}', null],
    ['{"$eq":[{"$getField":"count"},{"$literal":9007199254740993}]}', true],
    ['{"$eq":[{"$getField":"count"},{"$literal":9007199254740992}]}', false],
    ['{"$eq":[{"$getField":"count"},{"$literal":"9007199254740993"}]}', true],
    ['{"$eq":[{"$getField":"score"},{"$literal":0.50}]}', true],
    ['{"$lt":[{"$getField":"score"},{"$getField":"count"}]}', true],
    ['{"$eq":[{"$getField":"at"},{"$literal":1767323045.5}]}', true],
    ['{"$eq":[{"$getField":"at"},{"$literal":"2026-01-02T04:04:05.5+01:00"}]}', true],
    ['{"$gt":[{"$getField":"at"},{"$literal":"2026-01-02"}]}', true],
    ['{"$lt":[{"$getField":"at"},{"$literal":1e30}]}', true],
    ['{"$eq":[{"$getField":"never"},{"$literal":null}]}', true],
    ['{"$lt":[{"$getField":"never"},{"$getField":"at"}]}', null],
    ['{"$contains":{"input":{"$getField":"at"},"substr":{"$literal":"05.500Z"}}}', true],
  ]
  for (const [query, expected] of cases) assert.equal(judge(query), expected, query)
})

test('operators have three truth values', () => {
  const [yes, no, unknown] = ['{"$literal":true}', '{"$literal":false}', '{"$literal":null}']
  const within = (list: string) => `{"$in":[{"$getField":"d"},[${list}]]}`
  const contains = (data: string, substr: string, fold: boolean) =>
    judge(
      `{"$contains":{"input":{"$getField":"d"},"substr":{"$literal":${substr}},"case_insensitive":${fold}}}`,
      data,
    )
  assert.equal(judge(`{"$and":[${yes},${unknown}]}`), null)
  assert.equal(judge(`{"$and":[${no},${unknown}]}`), false)
  assert.equal(judge(`{"$and":[${yes}]}`), true)
  assert.equal(judge(`{"$or":[${yes},${unknown}]}`), true)
  assert.equal(judge(`{"$or":[${no},${unknown}]}`), null)
  assert.equal(judge(`{"$not":[${unknown}]}`), null)
  assert.equal(judge(`{"$not":[${no}]}`), true)
  assert.equal(judge(`{"$eq":[{"$not":[${no}]},${yes}]}`), true)
  assert.equal(judge(within('{"$literal":"a"},{"$literal":5}'), '5.0'), true)
  assert.equal(judge(within('{"$literal":"a"},{"$literal":4.5}'), '"a"'), true)
  assert.equal(judge(within('{"$literal":"a"},{"$literal":5}'), '"b"'), null)
  assert.equal(judge(within('{"$literal":"a"}'), '"b"'), false)
  assert.equal(judge(within('{"$literal":"a"},{"$literal":null}'), '{}'), false)
  assert.equal(judge(within('{"$literal":"a"},{"$literal":null}'), 'null'), true)
  assert.equal(judge(within(''), 'null'), false)
  assert.equal(contains('"Straße"', '"raß"', false), true)
  assert.equal(contains('"Straße"', '"RAß"', false), false)
  assert.equal(contains('"ÀB"', '"àb"', true), true)
  assert.equal(contains('"ΟΔΟΣΑ"', '"δος"', true), true)
  assert.equal(contains('[1,{"a":"x"}]', '"{\\"a\\":"', false), true)
  assert.equal(contains('null', '""', false), true)
})

test('values are converted', () => {
  const converted = (data: string, to: string, constant: string) =>
    judge(`{"$eq":[{"$convert":{"input":{"$getField":"d"},"to":"${to}"}},{"$literal":${constant}}]}`, data)
  const cases: [string, string, string, boolean | null][] = [
    ['"2.50"', 'double', '2.5', true],
    ['"2.50"', 'double', '"2.5"', true],
    ['"2.50"', 'string', '2.5', false],
    ['"x"', 'double', '1', null],
    ['"x"', 'double', 'null', true],
    ['5.0', 'int', '5', true],
    ['"5.0"', 'int', '5', null],
    ['2.5', 'int', '2', null],
    ['"-7"', 'int', '-7', true],
    ['2.5', 'string', '"2.5"', true],
    ['null', 'string', '""', true],
    ['"1"', 'bool', 'true', true],
    ['"yes"', 'bool', 'true', null],
    ['0', 'exists', 'true', true],
    ['null', 'exists', 'true', false],
    ['1', 'exists', '"true"', true],
  ]
  for (const [data, to, constant, expected] of cases) {
    assert.equal(converted(data, to, constant), expected, `${data} to ${to} = ${constant}`)
  }
  assert.equal(judge('{"$and":[{"$convert":{"input":{"$getField":"nobody"},"to":"exists"}}]}'), false)
  assert.equal(
    judge('{"$eq":[{"$convert":{"input":{"$getField":"at"},"to":"double"}},{"$literal":1767323045.5}]}'),
    true,
  )
})

test('a conversion to exists or bool is a condition by itself', () => {
  const alone = (field: string, to: string) => `{"$convert":{"input":{"$getField":"${field}"},"to":"${to}"}}`
  assert.equal(judge(alone('d.a', 'exists'), '{"a":0}'), true)
  assert.equal(judge(alone('d.a', 'exists'), '{"a":null}'), false)
  assert.equal(judge(alone('d.a', 'bool'), '{"a":"1"}'), true)
  assert.equal(judge(alone('d.a', 'bool'), '{"a":"x"}'), null)
})

test('refusals name the path, what was given and what is accepted', () => {
  const deep = (levels: number) => `${'{"$not":['.repeat(levels)}{"$literal":true}${']}'.repeat(levels)}`
  const many = (count: number, item = '{"$literal":1}') => Array.from({ length: count }, () => item).join(',')
  const cases: [string, string][] = [
    ['{"a":1}', 'query: has the unknown operator "a"; accepted: {"$expr": …}.'],
    ['{}', 'query: is an empty object; accepted: {"$expr": …}.'],
    ['[1]', 'query: is a list of 1; accepted: {"$expr": …}.'],
    ['{"$expr":{"$and":[]},"more":1}', 'query: has the unknown operator "more"; accepted: {"$expr": …}.'],
    [
      '{"$expr":{"$literal":true}}',
      'query.$expr: has the unknown operator "$literal"; accepted: an object with one of $and, $or, $not, $eq, $gt, $gte, $lt, $lte, $in, $contains, $convert.',
    ],
    [
      '{"$expr":{"$nor":[]}}',
      'query.$expr: has the unknown operator "$nor"; accepted: an object with one of $and, $or, $not, $eq, $gt, $gte, $lt, $lte, $in, $contains, $convert.',
    ],
    [
      '{"$expr":{"__proto__":[]}}',
      'query.$expr: has the unknown operator "__proto__"; accepted: an object with one of $and, $or, $not, $eq, $gt, $gte, $lt, $lte, $in, $contains, $convert.',
    ],
    [
      '{"$expr":{"$and":[],"$or":[]}}',
      'query.$expr: has 2 operators: $and, $or; accepted: an object with one of $and, $or, $not, $eq, $gt, $gte, $lt, $lte, $in, $contains, $convert.',
    ],
    ['{"$expr":{"$and":[]}}', 'query.$expr.$and: is empty; accepted: a list of at least one operand.'],
    ['{"$expr":{"$or":{"a":1}}}', 'query.$expr.$or: is an object; accepted: a list of operands.'],
    [
      '{"$expr":{"$and":[{"$literal":true},{"$eq":[{"$literal":1}]}]}}',
      'query.$expr.$and[1].$eq: has 1 operands; accepted: a list of exactly 2.',
    ],
    [
      '{"$expr":{"$not":[{"$literal":1},{"$literal":1}]}}',
      'query.$expr.$not: has 2 operands; accepted: a list of exactly 1.',
    ],
    [
      '{"$expr":{"$eq":[{"$literal":1},7]}}',
      'query.$expr.$eq[1]: is 7; accepted: an object with one of $literal, $getField, $convert, $size, $and, $or, $not, $eq, $gt, $gte, $lt, $lte, $in, $contains.',
    ],
    [
      '{"$expr":{"$eq":[{"$literal":1},{"$literal":{}}]}}',
      'query.$expr.$eq[1].$literal: is an object; accepted: a string, a number, a boolean or null.',
    ],
    [
      '{"$expr":{"$eq":[{"$literal":1},{"$literal":[1,2]}]}}',
      'query.$expr.$eq[1].$literal: is a list of 2; accepted: a string, a number, a boolean or null.',
    ],
    [
      '{"$expr":{"$eq":[{"$literal":1e400},{"$literal":1}]}}',
      'query.$expr.$eq[0].$literal: is 1e400; accepted: a number in the range of a double.',
    ],
    [
      '{"$expr":{"$eq":[{"$getField":5},{"$literal":1}]}}',
      'query.$expr.$eq[0].$getField: is 5; accepted: a path such as "inputs.name".',
    ],
    [
      '{"$expr":{"$eq":[{"$getField":""},{"$literal":1}]}}',
      'query.$expr.$eq[0].$getField: is ""; accepted: a path such as "inputs.name".',
    ],
    [
      '{"$expr":{"$eq":[{"$getField":"a\\u0000"},{"$literal":1}]}}',
      'query.$expr.$eq[0].$getField: holds U+0000 or half of a surrogate pair; accepted: a path without them.',
    ],
    [
      '{"$expr":{"$eq":[{"$getField":"a.0.1.2.3"},{"$literal":1}]}}',
      'query.$expr.$eq[0].$getField: has more than 3 whole-number segments; accepted: at most 3.',
    ],
    [
      '{"$expr":{"$in":[{"$literal":1},{"$literal":1}]}}',
      'query.$expr.$in[1]: is an object; accepted: a list of operands.',
    ],
    [
      `{"$expr":{"$in":[{"$literal":1},[${many(1001)}]]}}`,
      'query.$expr.$in[1]: has 1001 values; accepted: at most 1000 values.',
    ],
    [
      '{"$expr":{"$contains":{"input":{"$literal":"a"}}}}',
      'query.$expr.$contains.substr: is missing; accepted: an object with input, substr.',
    ],
    [
      '{"$expr":{"$contains":{"input":{"$literal":"a"},"substr":{"$literal":5.0}}}}',
      'query.$expr.$contains.substr.$literal: is 5; accepted: a string.',
    ],
    [
      '{"$expr":{"$contains":{"input":{"$literal":"a"},"substr":{"$literal":null}}}}',
      'query.$expr.$contains.substr.$literal: is null; accepted: a string.',
    ],
    [
      '{"$expr":{"$contains":{"input":{"$literal":"a"},"substr":{"$literal":"a"},"regex":true}}}',
      'query.$expr.$contains: has the unknown member "regex"; accepted: input, substr, case_insensitive.',
    ],
    [
      '{"$expr":{"$contains":{"input":{"$literal":"a"},"substr":{"$literal":"a"},"case_insensitive":1}}}',
      'query.$expr.$contains.case_insensitive: is 1; accepted: true or false.',
    ],
    [
      '{"$expr":{"$and":[{"$convert":{"input":{"$literal":1},"to":"float"}}]}}',
      'query.$expr.$and[0].$convert.to: is "float"; accepted: "double", "string", "int", "bool", "exists".',
    ],
    [
      '{"$expr":{"$convert":{"input":{"$literal":1},"to":"double"}}}',
      'query.$expr.$convert.to: is "double"; accepted: "bool", "exists".',
    ],
    [`{"$expr":${deep(100)}}`, 'query: is nested deeper than 100 operators; accepted: at most 100.'],
    [
      `{"$expr":{"$and":[${many(1000)}]}}`,
      'query: has more than 1000 operators and operands; accepted: at most 1000; many values fit into one $in.',
    ],
  ]
  for (const [text, message] of cases) {
    assert.throws(
      () => parseExpressionText(text),
      (error: unknown) =>
        error instanceof Refusal && error.code === 'invalid_expression' && error.message === message,
      `${text}\n${message}`,
    )
  }
  const time = '{"$and":[{"$gt":[{"$getField":"at"},{"$literal":"yesterday"}]}]}'
  assert.throws(() => judge(time), {
    message:
      'query.$expr.$and[0].$gt: compares a time with "yesterday"; accepted: Unix seconds, or ISO 8601 such as "2026-01-31T12:00:00Z".',
  })
})

test('the bounds themselves are accepted', () => {
  const literals = (count: number) => Array.from({ length: count }, () => '{"$literal":1}').join(',')
  assert.equal(judge(`${'{"$not":['.repeat(99)}{"$literal":true}${']}'.repeat(99)}`), false)
  assert.equal(judge(`{"$and":[${literals(999)}]}`), true)
  assert.equal(judge(`{"$in":[{"$literal":1},[${literals(1000)}]]}`), true)
  assert.equal(judge('{"$eq":[{"$getField":"d.0.0.0"},{"$literal":1}]}', '[[[1]]]'), true)
})

test('parsed values and other field names are accepted', () => {
  const expression = parseExpression({ $expr: { $eq: [{ $getField: 'a' }, { $literal: 1.5 }] } })
  assert.equal(
    evaluate(expression, () => ({ kind: 'number', value: 1.5 })),
    true,
  )
  assert.throws(() => parseExpression({ $expr: {} }, 'filters[2].query'), {
    message: /^filters\[2\]\.query\.\$expr: /,
  })
})

test('the fields of an expression are listed once each', () => {
  const expression = parseExpressionText(
    `{"$expr":{"$or":[{"$in":[{"$getField":"a"},[{"$getField":"b.c"}]]},{"$not":[{"$contains":{"input":{"$convert":
      {"input":{"$getField":"a"},"to":"string"}},"substr":{"$getField":"e"}}}]},{"$eq":[{"$literal":"f"},{"$getField":"g"}]}]}}`,
  )
  assert.deepEqual(fieldsOf(expression), ['a', 'b.c', 'e', 'g'])
})

test('paths are split at dots', () => {
  const cases: [string, string[]][] = [
    ['a', ['a']],
    ['a.b', ['a', 'b']],
    ['a\\.b.c', ['a.b', 'c']],
    ['a..b.', ['a', '', 'b', '']],
    ['a\\b.c\\', ['a\\b', 'c\\']],
  ]
  for (const [field, path] of cases) assert.deepEqual(splitPath(field), path)
})

test('numbers are read from text and written back', () => {
  const read: [string, bigint | number | null][] = [
    ['9223372036854775807', 9223372036854775807n],
    ['9223372036854775808', 2 ** 63],
    ['+5', 5n],
    ['5.', 5n],
    ['.5', 0.5],
    ['-0', 0n],
    ['1e18', 10n ** 18n],
    ['1e19', 1e19],
    ['1e309', null],
    ['1e-999', 0n],
    ['1e1000', null],
    ['', null],
    ['.', null],
    ['1_000', null],
    ['٣', null],
    ['1'.repeat(401), null],
  ]
  for (const [text, value] of read) assert.equal(parseNumber(text), value, text)
  const written: [bigint | number, string][] = [
    [5, '5'],
    [-0, '0'],
    [0.1, '0.1'],
    [1e-7, '0.0000001'],
    [-1.5e-9, '-0.0000000015'],
    [1.5e21, '1500000000000000000000'],
    [2 ** 60, '1152921504606846976'],
    [-(2n ** 63n), '-9223372036854775808'],
  ]
  for (const [value, text] of written) assert.equal(decimalText(value), text)
})
