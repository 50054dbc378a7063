import { schemaCase as row, type SchemaCase } from '../../support/schemas/schema-case.ts'

const draft = (number: number) => ({ $schema: `http://json-schema.org/draft-0${number}/schema#` })
const latest = { $schema: 'https://json-schema.org/draft/2020-12/schema' }

/** Where the drafts differ. The cases of drafts 3 and 4 are decided by hand, the others by ajv too. */
export const draftCases: readonly SchemaCase[] = [
  row(
    'draft 4: a bound that is left out',
    { ...draft(4), type: 'integer', minimum: 3, exclusiveMinimum: true, maximum: 6, exclusiveMaximum: false },
    [4, 6],
    [3, 7],
  ),
  row(
    'a bound that is left out, without a draft',
    { type: 'number', maximum: 3, exclusiveMaximum: true },
    [2],
    [3],
  ),
  row(
    'a bound that is left out, of nothing',
    { ...draft(4), exclusiveMinimum: true, type: 'integer' },
    [0],
    [''],
  ),
  row(
    'draft 4: an identifier beside a reference is none',
    {
      ...draft(4),
      id: 'http://a.example/folder/',
      type: 'object',
      properties: { a: { id: 'http://b.example/', $ref: 'short.json' } },
      definitions: {
        here: { id: 'short.json', type: 'string', maxLength: 2 },
        there: { id: 'http://b.example/short.json', type: 'integer' },
      },
    },
    [{ a: 'ab' }],
    [{ a: 1 }, { a: 'abc' }],
  ),
  row(
    'draft 4: an identifier is what references inside of it are relative to',
    {
      ...draft(4),
      id: 'http://a.example/root.json',
      type: 'object',
      required: ['one', 'two'],
      properties: {
        one: { $ref: 'other.json#/definitions/short' },
        two: { $ref: '#/definitions/short' },
      },
      definitions: {
        short: { type: 'string', maxLength: 2 },
        other: {
          id: 'other.json',
          definitions: { short: { type: 'integer' } },
        },
      },
    },
    [{ one: 1, two: 'ab' }],
    [
      { one: 'ab', two: 'ab' },
      { one: 1, two: 'abc' },
      { one: 1, two: 1 },
    ],
  ),
  row(
    'draft 4: an identifier that is an anchor',
    {
      ...draft(4),
      items: { $ref: '#word' },
      type: 'array',
      definitions: { w: { id: '#word', type: 'string' } },
    },
    [['a']],
    [[1]],
  ),
  row(
    'a label that looks like an identifier, without a draft',
    {
      type: 'array',
      items: { id: 'label', allOf: [{ $ref: '#/definitions/w' }] },
      definitions: { w: { type: 'string' } },
    },
    [['a']],
    [[1]],
  ),
  row(
    'draft 7: a property called id',
    { ...draft(7), type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
    [{ id: 1 }],
    [{ id: 'a' }],
  ),
  row(
    'draft 4: keywords beside a reference hold',
    { ...draft(4), definitions: { w: { type: 'string' } }, $ref: '#/definitions/w', maxLength: 1 },
    ['a'],
    ['ab', 1],
  ),
  row(
    'draft 4: items by place, and no more of them',
    { ...draft(4), type: 'array', items: [{ type: 'integer' }, { type: 'string' }], additionalItems: false },
    [[], [1], [1, 'a']],
    [['a'], [1, 'a', 2]],
  ),
  row(
    'draft 3: members that say that they are needed',
    {
      ...draft(3),
      type: 'object',
      properties: { a: { type: 'integer', required: true }, b: { type: 'string', required: false } },
    },
    [{ a: 1 }, { a: 1, b: '' }],
    [{}, { b: '' }, { a: '' }],
  ),
  row(
    'needed members without a draft',
    { type: 'object', properties: { a: { type: 'integer', required: true } } },
    [{ a: 1 }],
    [{}],
  ),
  row('draft 3: steps', { ...draft(3), type: 'integer', divisibleBy: 5 }, [5, 10], [4]),
  row(
    'draft 3: what it extends',
    { ...draft(3), extends: [{ type: 'string' }, { minLength: 2 }], maxLength: 3 },
    ['ab'],
    ['a', 'abcd', 1],
  ),
  row('draft 3: what it disallows', { ...draft(3), disallow: ['string', 'null'] }, [1, []], ['a', null]),
  row('draft 3: any type', { ...draft(3), type: 'any' }, [1, 'a', null], []),
  row(
    'draft 3: types that are schemas',
    { ...draft(3), type: ['integer', { type: 'string', minLength: 2 }] },
    [1, 'ab'],
    ['a', null],
  ),
  row(
    'draft 3: a dependency on one name',
    { ...draft(3), type: 'object', properties: { a: {}, b: {} }, dependencies: { a: 'b' } },
    [{ b: 1 }, { a: 1, b: 1 }, {}],
    [{ a: 1 }],
  ),
  row(
    'draft 6: a schema of names',
    {
      ...draft(6),
      type: 'object',
      propertyNames: { maxLength: 1 },
      additionalProperties: { type: 'integer' },
    },
    [{ a: 1 }],
    [{ ab: 1 }],
  ),
  row(
    'identifiers and anchors',
    {
      ...latest,
      $id: 'https://a.example/root',
      type: 'array',
      prefixItems: [{ $ref: 'part#word' }, { $ref: '#word' }, { $ref: 'https://a.example/part' }],
      minItems: 3,
      items: false,
      $defs: {
        part: { $id: 'part', type: 'boolean', $defs: { w: { $anchor: 'word', type: 'integer' } } },
        w: { $anchor: 'word', type: 'string' },
      },
    },
    [[1, 'a', true]],
    [
      ['a', 'a', true],
      [1, 1, true],
      [1, 'a', 2],
    ],
  ),
  row(
    'a dynamic reference to the only schema of its name',
    {
      ...latest,
      $dynamicAnchor: 'node',
      type: 'object',
      properties: { next: { $dynamicRef: '#node' } },
      additionalProperties: false,
    },
    [{}, { next: { next: {} } }],
    [{ next: 1 }, { other: 1 }],
  ),
  row(
    'a recursive reference of draft 2019-09',
    {
      $schema: 'https://json-schema.org/draft/2019-09/schema',
      $recursiveAnchor: true,
      type: 'object',
      properties: { next: { $recursiveRef: '#' } },
      additionalProperties: false,
    },
    [{ next: {} }],
    [{ next: 1 }],
  ),
  row(
    'what looks like a schema in data is data',
    { enum: [{ $id: 'https://b.example', id: 'x' }, { $ref: '#/nowhere' }] },
    [{ $id: 'https://b.example', id: 'x' }],
    [{}],
  ),
  ...(
    [
      ['http://json-schema.org/draft-04/schema#/properties/maxLength', 1, -1],
      ['http://json-schema.org/draft-07/schema#/definitions/simpleTypes', 'null', 'text'],
      ['https://json-schema.org/draft/2019-09/meta/validation#/$defs/simpleTypes', 'null', 'text'],
      ['https://json-schema.org/draft/2020-12/meta/validation#/$defs/nonNegativeInteger', 1, -1],
    ] as const
  ).map(([published, good, bad]) =>
    row(`from the schema of a draft: ${published}`, { $ref: published }, [good], [bad]),
  ),
]
