// biome-ignore-all lint/suspicious/noThenProperty: the keyword of JSON Schema is called that.

import { schemaCase as row, type SchemaCase } from './schema-case.ts'

const name = { type: 'string', minLength: 1 }
const abc = { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'boolean' } }

/** Keywords about the same thing, two and three at a time. */
export const pairCases: readonly SchemaCase[] = [
  row(
    'minLength and maxLength',
    { type: 'string', minLength: 2, maxLength: 4 },
    ['ab', 'abcd', '😀😀'],
    ['a', 'abcde'],
  ),
  row(
    'minLength equal to maxLength',
    { type: 'string', minLength: 3, maxLength: 3 },
    ['abc'],
    ['ab', 'abcd'],
  ),
  row(
    'minLength and pattern',
    { type: 'string', minLength: 3, pattern: '^[a-z]*$' },
    ['abc', 'abcdef'],
    ['ab', 'ABC', ''],
  ),
  row(
    'maxLength and pattern',
    { type: 'string', maxLength: 4, pattern: '^[a-z]+\\d*$' },
    ['a', 'ab12', 'abcd'],
    ['ab123', '12', ''],
  ),
  row(
    'lengths and pattern',
    { type: 'string', minLength: 3, maxLength: 5, pattern: '^(ab)+$' },
    ['abab'],
    ['ab', 'ababab'],
  ),
  row(
    'lengths and a pattern that is not anchored',
    { type: 'string', minLength: 2, maxLength: 3, pattern: 'x' },
    ['ax', 'xx', 'axb'],
    ['x', 'abc', 'axbc'],
  ),
  row(
    'a slug with a length',
    { type: 'string', maxLength: 30, pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' },
    ['a', 'a-b', 'some-long-slug-1'],
    ['-a', 'a-', 'a--b', 'a'.repeat(31)],
  ),
  row(
    'maxLength above a counted class',
    { type: 'string', maxLength: 1000, pattern: '^[a-f0-9]+$' },
    ['a', 'f'.repeat(1000)],
    ['f'.repeat(1001), ''],
  ),
  row('pattern and enum', { enum: ['a', 'b1', 'c2'], pattern: '\\d' }, ['b1', 'c2'], ['a']),
  row('pattern and const', { const: 'abc', pattern: '^a' }, ['abc'], ['a']),
  row(
    'two patterns',
    { type: 'string', allOf: [{ pattern: '[A-Z]' }, { pattern: '\\d' }] },
    ['A1', '1A', 'xA1'],
    ['A', '1', 'a1'],
  ),
  row(
    'a password',
    {
      type: 'string',
      minLength: 4,
      maxLength: 12,
      allOf: [{ pattern: '[a-z]' }, { pattern: '[A-Z]' }, { pattern: '[0-9]' }],
    },
    ['aB3x', '0aB________'],
    ['aB3', 'abc1', 'ABC1'],
  ),
  row(
    'pattern and not pattern',
    { type: 'string', pattern: '^[a-z]+$', not: { pattern: 'xx' } },
    ['a', 'axbx'],
    ['xx', 'axxb'],
  ),
  row('type and enum', { type: 'string', enum: ['a', 1, null] }, ['a'], [1, null]),
  row('enum and minimum', { enum: [1, 5, 10], minimum: 4 }, [5, 10], [1]),
  row('enum and type integer', { enum: [1, 1.5, '1'], type: 'integer' }, [1], [1.5, '1']),
  row('enum and not', { enum: ['a', 'b', 'c'], not: { const: 'b' } }, ['a', 'c'], ['b']),
  row(
    'enum and enum',
    { allOf: [{ enum: ['a', 'b', 'c'] }, { enum: ['b', 'c', 'd'] }] },
    ['b', 'c'],
    ['a', 'd'],
  ),
  row(
    'enum and anyOf',
    { enum: ['a', 'bb', 'ccc'], anyOf: [{ maxLength: 1 }, { minLength: 3 }] },
    ['a', 'ccc'],
    ['bb'],
  ),
  row('const and minProperties', { enum: [{}, { a: 1 }], minProperties: 1 }, [{ a: 1 }], [{}]),
  row('enum of lists and items', { enum: [[1], ['a'], []], items: { type: 'integer' } }, [[1], []], [['a']]),
  row('nullable and minLength', { type: 'string', nullable: true, minLength: 2 }, ['ab', null], ['a']),
  row(
    'type list and keywords of each',
    { type: ['string', 'integer'], minLength: 2, minimum: 5 },
    ['ab', 5],
    ['a', 4],
  ),

  row('minimum and maximum', { type: 'integer', minimum: 1, maximum: 10 }, [1, 5, 9, 10], [0, 11, -1, 100]),
  row(
    'minimum and maximum of ages',
    { type: 'integer', minimum: 18, maximum: 120 },
    [18, 19, 20, 99, 100, 119, 120],
    [17, 121, 9, 1000],
  ),
  row(
    'minimum and maximum of years',
    { type: 'integer', minimum: 1987, maximum: 2034 },
    [1987, 1990, 1999, 2000, 2029, 2034],
    [1986, 2035, 198, 20340],
  ),
  row(
    'minimum and maximum around zero',
    { type: 'integer', minimum: -25, maximum: 25 },
    [-25, -9, 0, 7, 25],
    [-26, 26, -100],
  ),
  row(
    'minimum and maximum below zero',
    { type: 'integer', minimum: -120, maximum: -7 },
    [-120, -99, -10, -7],
    [-121, -6, 0, 7],
  ),
  row('minimum equal to maximum', { type: 'integer', minimum: 7, maximum: 7 }, [7], [6, 8]),
  row(
    'minimum and maximum of many digits',
    { type: 'integer', minimum: 123456, maximum: 9876543 },
    [123456, 123457, 200000, 9876543, 999999],
    [123455, 9876544],
  ),
  row(
    'a probability',
    { type: 'number', minimum: 0, maximum: 1 },
    [0, 1, 0.5, 0.123456789, 1e-7],
    [-0.1, 1.1, 2],
  ),
  row(
    'a latitude',
    { type: 'number', minimum: -90, maximum: 90 },
    [-90, 90, 0, 45.123456, -0.5],
    [90.1, -91, 180],
  ),
  row(
    'a longitude',
    { type: 'number', minimum: -180, maximum: 180 },
    [-180, 180, 12.5, -179.999999],
    [180.5, -181],
  ),
  row(
    'fractions as bounds',
    { type: 'number', minimum: 1.25, maximum: 1.75 },
    [1.25, 1.3, 1.5, 1.749, 1.75],
    [1.24, 1.76, 1, 2],
  ),
  row(
    'fractions as bounds with one common digit',
    { type: 'number', minimum: 0.12, maximum: 0.125 },
    [0.12, 0.121, 0.125, 0.1249],
    [0.119, 0.126, 0.1],
  ),
  row(
    'exclusive bounds',
    { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
    [0.5, 1e-9, 0.9999999999999999],
    [0, 1, -0.1],
  ),
  row(
    'exclusive bounds of integers',
    { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 },
    [1, 9],
    [0, 10],
  ),
  row('minimum and exclusiveMinimum', { type: 'number', minimum: 5, exclusiveMinimum: 5 }, [5.1, 6], [5, 4]),
  row(
    'minimum and multipleOf',
    { type: 'integer', minimum: 10, multipleOf: 5 },
    [10, 15, 100],
    [5, 12, 0, -10],
  ),
  row(
    'range and multipleOf',
    { type: 'integer', minimum: 0, maximum: 100, multipleOf: 25 },
    [0, 25, 50, 75, 100],
    [125, 26, -25],
  ),
  row(
    'range and multipleOf 15',
    { type: 'integer', minimum: 15, maximum: 480, multipleOf: 15 },
    [15, 30, 480, 255],
    [0, 16, 495],
  ),
  row(
    'an amount of money',
    { type: 'number', minimum: 0, multipleOf: 0.01 },
    [0, 0.01, 9.99, 1000, 12.5],
    [-0.01, 0.001],
  ),
  row(
    'an amount of money with a limit',
    { type: 'number', exclusiveMinimum: 0, maximum: 500, multipleOf: 0.05 },
    [0.05, 0.1, 499.95, 500],
    [0, 0.03, 500.05],
  ),
  row(
    'half stars',
    { type: 'number', minimum: 0.5, maximum: 5, multipleOf: 0.5 },
    [0.5, 1, 4.5, 5],
    [0, 0.7, 5.5],
  ),
  row(
    'two steps',
    { type: 'integer', allOf: [{ multipleOf: 4 }, { multipleOf: 6 }] },
    [0, 12, -24],
    [4, 6, 8],
  ),
  row(
    'anyOf two ranges',
    { type: 'integer', anyOf: [{ maximum: 3 }, { minimum: 8, maximum: 12 }] },
    [-5, 3, 8, 12],
    [4, 7, 13],
  ),
  row(
    'a range without one value',
    { type: 'integer', minimum: 1, maximum: 5, not: { const: 3 } },
    [1, 2, 4, 5],
    [3, 0],
  ),
  row(
    'numbers without one value',
    { type: 'number', minimum: 0, maximum: 2, not: { const: 1 } },
    [0, 0.5, 0.9999999999999999, 1.5, 2],
    [1],
  ),
  row('format int32 and minimum', { type: 'integer', format: 'int32', minimum: 0 }, [0, 2147483647], [-1]),

  row(
    'items and minItems',
    { type: 'array', items: { type: 'integer' }, minItems: 1 },
    [[1], [1, 2]],
    [[], ['a']],
  ),
  row(
    'items and maxItems',
    { type: 'array', items: name, maxItems: 2 },
    [[], ['a', 'b']],
    [['a', 'b', 'c'], ['']],
  ),
  row(
    'items and both counts',
    { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 4 },
    [
      [1, 2],
      [1, 2, 3, 4],
    ],
    [[1], [1, 2, 3, 4, 5]],
  ),
  row(
    'items and equal counts',
    { type: 'array', items: { type: 'number' }, minItems: 3, maxItems: 3 },
    [[1, 2, 3]],
    [
      [1, 2],
      [1, 2, 3, 4],
    ],
  ),
  row(
    'prefixItems and items',
    { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'integer' } },
    [[], ['a'], ['a', 1, 2]],
    [[1], ['a', 'b']],
  ),
  row(
    'prefixItems and items false',
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false },
    [[], ['a'], ['a', 1]],
    [['a', 1, 2]],
  ),
  row(
    'prefixItems and minItems',
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], minItems: 2, items: false },
    [['a', 1]],
    [[], ['a']],
  ),
  row(
    'prefixItems and minItems above them',
    {
      type: 'array',
      prefixItems: [{ type: 'string' }],
      items: { type: 'integer' },
      minItems: 3,
      maxItems: 4,
    },
    [
      ['a', 1, 2],
      ['a', 1, 2, 3],
    ],
    [
      ['a', 1],
      ['a', 1, 2, 3, 4],
    ],
  ),
  row(
    'prefixItems and maxItems below them',
    { type: 'array', prefixItems: [{ const: 1 }, { const: 2 }, { const: 3 }], maxItems: 2 },
    [[], [1], [1, 2]],
    [[1, 2, 3], [2]],
  ),
  row(
    'contains and items',
    { type: 'array', items: { type: 'integer' }, contains: { minimum: 10 } },
    [[10], [1, 20, 3]],
    [[], [1, 2], [1, 'a', 20]],
  ),
  row(
    'contains and minItems',
    { type: 'array', contains: { const: 0 }, minItems: 3 },
    [
      [0, 1, 2],
      [1, 1, 0, 1],
    ],
    [[0], [1, 2, 3]],
  ),
  row(
    'contains and maxItems',
    { type: 'array', contains: { const: 0 }, maxItems: 2 },
    [[0], [1, 0], [0, 1]],
    [[1], [1, 1, 0], []],
  ),
  row(
    'contains and counts of it',
    { type: 'array', items: { type: 'integer' }, contains: { minimum: 5 }, minContains: 1, maxContains: 2 },
    [[5], [1, 5, 9], [9, 1]],
    [[1], [5, 6, 7], []],
  ),
  row(
    'uniqueItems and minItems',
    { type: 'array', items: { enum: ['a', 'b', 'c'] }, uniqueItems: true, minItems: 2 },
    [
      ['a', 'b'],
      ['c', 'b', 'a'],
    ],
    [['a'], ['a', 'a']],
  ),
  row(
    'uniqueItems and maxItems',
    { type: 'array', items: { enum: [1, 2, 3, 4] }, uniqueItems: true, maxItems: 2 },
    [[], [1], [4, 2]],
    [
      [1, 2, 3],
      [1, 1],
    ],
  ),
  row(
    'items and anyOf',
    { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
    [[], [1, null, 2]],
    [['a']],
  ),
  row(
    'items merged from two',
    {
      allOf: [
        { type: 'array', items: { minimum: 0 } },
        { items: { type: 'integer', maximum: 9 }, maxItems: 2 },
      ],
    },
    [[], [0, 9]],
    [[-1], [10], [1, 2, 3]],
  ),
  row(
    'prefixItems merged from two',
    {
      allOf: [
        { type: 'array', prefixItems: [{ type: 'integer' }] },
        { prefixItems: [{ minimum: 3 }, { const: 'x' }], items: false },
      ],
    },
    [[], [3], [3, 'x']],
    [[2], [3, 'y'], [3, 'x', 1]],
  ),
  row('no empty list', { type: 'array', items: { type: 'integer' }, not: { maxItems: 0 } }, [[1]], [[]]),
  row(
    'not all integers',
    { type: 'array', not: { items: { type: 'integer' } } },
    [['a'], [1, 'b']],
    [[], [1, 2]],
  ),
  row(
    'no strings in a list',
    { type: 'array', not: { contains: { type: 'string' } } },
    [[], [1, null]],
    [['a'], [1, 'b']],
  ),

  row(
    'properties and required',
    { type: 'object', properties: abc, required: ['a', 'c'] },
    [
      { a: 1, c: true },
      { a: 1, b: 'x', c: false },
    ],
    [{ a: 1 }, { c: true }, {}],
  ),
  row(
    'properties, required, closed',
    { type: 'object', properties: abc, required: ['a', 'b', 'c'], additionalProperties: false },
    [{ a: 1, b: '', c: true }],
    [
      { a: 1, b: '' },
      { a: 1, b: '', c: true, d: 1 },
    ],
  ),
  row(
    'all optional, closed',
    { type: 'object', properties: abc, additionalProperties: false },
    [{}, { a: 1 }, { b: '' }, { c: true }, { a: 1, c: true }, { b: '', c: true }],
    [{ d: 1 }],
  ),
  row(
    'first required',
    { type: 'object', properties: abc, required: ['a'], additionalProperties: false },
    [{ a: 1 }, { a: 1, c: true }],
    [{ b: '' }, {}],
  ),
  row(
    'last required',
    { type: 'object', properties: abc, required: ['c'], additionalProperties: false },
    [{ c: true }, { a: 1, c: true }, { b: '', c: true }],
    [{ a: 1, b: '' }, {}],
  ),
  row(
    'properties and additionalProperties of a type',
    { type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: { type: 'string' } },
    [{}, { a: 1, x: 'y' }, { x: 'y' }],
    [{ x: 1 }, { a: 'x' }],
  ),
  row(
    'properties and patternProperties',
    {
      type: 'object',
      properties: { id: { type: 'integer' } },
      patternProperties: { '^x_': { type: 'string' } },
      additionalProperties: false,
    },
    [{}, { id: 1, x_a: 'b' }],
    [{ x_a: 1 }, { other: 1 }],
  ),
  row(
    'patternProperties and additionalProperties',
    {
      type: 'object',
      patternProperties: { '^\\d+$': { type: 'integer' } },
      additionalProperties: { type: 'string' },
    },
    [{ 1: 2 }, { 1: 2, a: 'x' }],
    [{ 1: 'x' }, { a: 1 }],
  ),
  row(
    'propertyNames and additionalProperties',
    { type: 'object', propertyNames: { pattern: '^[a-z]{1,3}$' }, additionalProperties: { type: 'integer' } },
    [{}, { ab: 1 }],
    [{ abcd: 1 }, { ab: 'x' }],
  ),
  row(
    'propertyNames and properties',
    { type: 'object', propertyNames: { maxLength: 2 }, properties: { abc: {}, ab: { const: 1 } } },
    [{}, { ab: 1 }, { xy: 0 }],
    [{ abc: 1 }, { ab: 2 }],
  ),
  row(
    'propertyNames and minProperties',
    { type: 'object', propertyNames: { enum: ['x', 'y', 'z'] }, minProperties: 2 },
    [
      { x: 1, y: 2 },
      { x: 1, z: 3 },
      { x: 1, y: 2, z: 3 },
    ],
    [{ x: 1 }, {}],
  ),
  row(
    'branches of anyOf that hold together and unevaluatedProperties',
    {
      type: 'object',
      anyOf: [
        { properties: { a: { type: 'integer' } }, required: ['a'] },
        { properties: { b: { type: 'integer' } }, required: ['b'] },
      ],
      unevaluatedProperties: false,
    },
    [{ a: 1 }, { b: 1 }, { a: 1, b: 2 }],
    [{ a: 1, b: 'x' }, { a: 1, c: 2 }, {}],
  ),
  row(
    'not not, which evaluates nothing, and unevaluatedProperties',
    {
      type: 'object',
      not: { not: { properties: { a: { type: 'integer' } } } },
      unevaluatedProperties: false,
    },
    [{}],
    [{ a: 1 }, { b: 1 }],
  ),
  row(
    'minProperties and maxProperties',
    { type: 'object', properties: abc, additionalProperties: false, minProperties: 1, maxProperties: 2 },
    [{ a: 1 }, { b: '', c: true }],
    [{}, { a: 1, b: '', c: true }],
  ),
  row(
    'maxProperties and required',
    { type: 'object', properties: abc, required: ['b'], maxProperties: 2 },
    [{ b: '' }, { a: 1, b: '' }, { b: '', x: 1 }],
    [{ a: 1 }, { a: 1, b: '', c: true }],
  ),
  row(
    'minProperties and additionalProperties',
    { type: 'object', properties: { a: {} }, minProperties: 1, additionalProperties: { type: 'integer' } },
    [{ a: 'x' }, { z: 1 }, { a: 1, z: 1 }],
    [{}, { z: 'x' }],
  ),
  row(
    'maxProperties and additionalProperties',
    { type: 'object', properties: { a: {} }, maxProperties: 1 },
    [{}, { a: 1 }, { z: 1 }],
    [{ a: 1, z: 1 }],
  ),
  row(
    'dependentRequired twice',
    { type: 'object', properties: abc, dependentRequired: { a: ['b'], b: ['c'] } },
    [{}, { c: true }, { b: '', c: true }, { a: 1, b: '', c: true }],
    [{ a: 1 }, { b: '' }, { a: 1, b: '' }],
  ),
  row(
    'dependentRequired and closed',
    {
      type: 'object',
      properties: { a: {}, b: {} },
      additionalProperties: false,
      dependentRequired: { a: ['b'], b: ['a'] },
    },
    [{}, { a: 1, b: 2 }],
    [{ a: 1 }, { b: 1 }],
  ),
  row(
    'required of a member that may not be',
    { anyOf: [{ type: 'object', properties: { a: false }, required: ['a'] }, { type: 'null' }] },
    [null],
    [{}, { a: 1 }],
  ),
  row(
    'closed merged with open',
    {
      allOf: [
        { type: 'object', properties: { a: {}, b: {} }, additionalProperties: false },
        { required: ['a'], properties: { a: { type: 'integer' } } },
      ],
    },
    [{ a: 1 }, { a: 1, b: 'x' }],
    [{}, { a: 'x' }, { a: 1, c: 1 }],
  ),
  row(
    'closed merged with closed',
    {
      allOf: [
        { type: 'object', properties: { a: {}, b: {} }, additionalProperties: false },
        { properties: { b: {}, c: {} }, additionalProperties: false },
      ],
    },
    [{}, { b: 1 }],
    [{ a: 1 }, { c: 1 }],
  ),
  row(
    'additionalProperties merged',
    {
      allOf: [
        { type: 'object', additionalProperties: { type: 'integer' } },
        { additionalProperties: { minimum: 3 } },
      ],
    },
    [{}, { x: 3 }],
    [{ x: 2 }, { x: 'a' }],
  ),
  row(
    'additionalProperties of one and properties of another',
    { allOf: [{ type: 'object', properties: { a: {} } }, { additionalProperties: { type: 'integer' } }] },
    [{}, { a: 1 }, { a: 1, b: 2 }],
    [{ a: 'x' }, { b: 'x' }],
  ),

  row(
    'allOf in allOf',
    { allOf: [{ allOf: [{ type: 'integer' }, { minimum: 0 }] }, { allOf: [{ maximum: 5 }] }] },
    [0, 5],
    [-1, 6],
  ),
  row(
    'allOf and $ref',
    {
      allOf: [{ $ref: '#/$defs/base' }, { properties: { x: { type: 'integer' } }, required: ['x'] }],
      $defs: { base: { type: 'object', properties: { id: name }, required: ['id'] } },
    },
    [{ id: 'a', x: 1 }],
    [{ id: 'a' }, { x: 1 }, { id: '', x: 1 }],
  ),
  row(
    'anyOf and anyOf',
    {
      allOf: [
        { anyOf: [{ type: 'string' }, { type: 'integer' }] },
        { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      ],
    },
    [1],
    ['a', null],
  ),
  row('anyOf in anyOf', { anyOf: [{ anyOf: [{ const: 1 }, { const: 2 }] }, { const: 3 }] }, [1, 2, 3], [4]),
  row(
    'anyOf and required of each branch',
    {
      type: 'object',
      properties: abc,
      required: ['a'],
      anyOf: [{ required: ['b'] }, { properties: { c: { const: true } }, required: ['c'] }],
    },
    [
      { a: 1, b: '' },
      { a: 1, c: true },
      { a: 1, b: '', c: false },
    ],
    [{ a: 1 }, { a: 1, c: false }, { b: '' }],
  ),
  row(
    'anyOf of $refs',
    {
      anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }],
      $defs: { a: { type: 'integer', minimum: 10 }, b: { type: 'string', maxLength: 1 } },
    },
    [10, 'a', ''],
    [9, 'ab'],
  ),
  row(
    'oneOf and $ref, told apart by required',
    {
      oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }],
      $defs: {
        a: { type: 'object', properties: { a: {} }, required: ['a'], additionalProperties: false },
        b: { type: 'object', properties: { b: {} }, required: ['b'], additionalProperties: false },
      },
    },
    [{ a: 1 }, { b: 1 }],
    [{}, { a: 1, b: 1 }],
  ),
  row(
    'oneOf of three constants',
    {
      oneOf: [
        { const: 'a', title: 'A' },
        { const: 'b', title: 'B' },
        { const: 'c', title: 'C' },
      ],
    },
    ['a', 'b', 'c'],
    ['d'],
  ),
  row(
    'oneOf of a schema and null',
    { oneOf: [{ type: 'object', properties: { a: name }, required: ['a'] }, { type: 'null' }] },
    [{ a: 'x' }, null],
    [{}, 1],
  ),
  row(
    'oneOf of lists and their items',
    { oneOf: [name, { type: 'array', items: name }] },
    ['a', [], ['a', 'b']],
    ['', [1], ['']],
  ),
  row(
    'oneOf that all hold',
    { type: 'integer', oneOf: [{ minimum: 0 }, { minimum: 10 }, { minimum: 20 }] },
    [0, 9],
    [10, 20, -1],
  ),
  row(
    'not and anyOf',
    { type: 'integer', not: { anyOf: [{ const: 1 }, { minimum: 10 }] } },
    [0, 2, 9, -10],
    [1, 10],
  ),
  row(
    'not and allOf',
    { type: 'string', not: { allOf: [{ minLength: 2 }, { pattern: '^a' }] } },
    ['', 'a', 'ba'],
    ['ab', 'aaa'],
  ),
  row(
    'not and oneOf',
    { type: 'integer', not: { oneOf: [{ minimum: 0 }, { maximum: 10 }] } },
    [0, 5, 10],
    [-1, 11],
  ),
  row(
    'not and properties',
    {
      type: 'object',
      properties: { k: { type: 'string' } },
      not: { properties: { k: { const: 'x' } }, required: ['k'] },
    },
    [{}, { k: 'y' }, { k: '' }],
    [{ k: 'x' }],
  ),
  row(
    'if with two members',
    {
      type: 'object',
      properties: { country: { enum: ['US', 'NL'] }, zip: { type: 'string' } },
      required: ['country', 'zip'],
      if: { properties: { country: { const: 'US' } } },
      then: { properties: { zip: { pattern: '^\\d{5}$' } } },
      else: { properties: { zip: { pattern: '^\\d{4} [A-Z]{2}$' } } },
    },
    [
      { country: 'US', zip: '12345' },
      { country: 'NL', zip: '1234 AB' },
    ],
    [
      { country: 'US', zip: '1234 AB' },
      { country: 'NL', zip: '12345' },
    ],
  ),
  row(
    'several ifs',
    {
      type: 'object',
      properties: { n: { type: 'integer' }, s: { type: 'string' } },
      allOf: [
        { if: { required: ['n'] }, then: { properties: { n: { minimum: 1 } } } },
        { if: { required: ['s'] }, then: { required: ['n'] } },
      ],
    },
    [{}, { n: 1 }, { n: 2, s: '' }],
    [{ n: 0 }, { s: '' }],
  ),
  row(
    'recursion and anyOf',
    {
      $ref: '#/$defs/e',
      $defs: {
        e: {
          anyOf: [
            { type: 'integer' },
            {
              type: 'object',
              properties: {
                op: { enum: ['+', '*'] },
                args: { type: 'array', items: { $ref: '#/$defs/e' }, minItems: 2, maxItems: 2 },
              },
              required: ['op', 'args'],
              additionalProperties: false,
            },
          ],
        },
      },
    },
    [1, { op: '+', args: [1, { op: '*', args: [2, 3] }] }],
    ['a', { op: '+', args: [1] }, { op: '-', args: [1, 2] }],
  ),
  row(
    'recursion and oneOf',
    {
      $ref: '#/$defs/f',
      $defs: {
        f: {
          oneOf: [
            {
              type: 'object',
              properties: { and: { type: 'array', items: { $ref: '#/$defs/f' }, minItems: 1 } },
              required: ['and'],
              additionalProperties: false,
            },
            {
              type: 'object',
              properties: { field: name, eq: {} },
              required: ['field', 'eq'],
              additionalProperties: false,
            },
          ],
        },
      },
    },
    [{ field: 'a', eq: 1 }, { and: [{ field: 'a', eq: null }, { and: [{ field: 'b', eq: [] }] }] }],
    [{ and: [] }, { field: 'a' }, {}],
  ),
  row(
    'recursion and allOf',
    {
      $ref: '#/$defs/n',
      $defs: {
        base: { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/n' } } } },
        n: { allOf: [{ $ref: '#/$defs/base' }, { properties: { v: { type: 'integer' } }, required: ['v'] }] },
      },
    },
    [{ v: 1 }, { kids: [{ v: 2 }], v: 1 }],
    [{}, { kids: [{}], v: 1 }],
  ),
  row(
    'a map of maps',
    { type: 'object', additionalProperties: { type: 'object', additionalProperties: { type: 'integer' } } },
    [{}, { a: {} }, { a: { b: 1 } }],
    [{ a: 1 }, { a: { b: 'x' } }],
  ),
  row(
    'a map that refers to itself',
    { type: 'object', additionalProperties: { $ref: '#' } },
    [{}, { a: {} }, { a: { b: {} }, c: {} }],
    [{ a: 1 }],
  ),
  row(
    'unevaluatedProperties and anyOf',
    {
      type: 'object',
      properties: { t: { type: 'string' } },
      anyOf: [
        { properties: { a: { type: 'integer' } }, required: ['a'] },
        { properties: { b: { type: 'integer' } }, required: ['b'] },
      ],
      unevaluatedProperties: false,
    },
    [{ t: 'x', a: 1 }, { b: 1 }],
    [{ t: 'x' }, { a: 1, z: 1 }],
  ),
  row(
    'unevaluatedProperties and $ref',
    {
      $ref: '#/$defs/b',
      properties: { x: {} },
      unevaluatedProperties: false,
      $defs: { b: { type: 'object', properties: { y: {} } } },
    },
    [{}, { x: 1 }, { x: 1, y: 2 }],
    [{ z: 1 }],
  ),
]
