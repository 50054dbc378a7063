import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftOf, validateDraft } from '../../../ui/review/draft.ts'
import { hintOf, shapeOf } from '../../../ui/review/field.ts'
import { jsonNode } from '../../../ui/value/json-index.ts'

test('a schema gives a form field, and any other schema a field for JSON', () => {
  for (const [schema, hint, isCertain] of [
    [{ enum: ['a', 'b', null] }, 'a, b, none', true],
    [{ type: 'boolean' }, 'Yes, No', true],
    [{ type: 'integer', minimum: 0, maximum: 10 }, '0, 1, 2, 3, 7 more', true],
    [{ type: 'integer', minimum: 0, maximum: 11 }, 'whole number from 0 to 11', true],
    [{ type: 'number', minimum: 0, maximum: 1 }, 'number from 0 to 1', true],
    [{ type: 'number', multipleOf: 0.5 }, 'number', false],
    [{ type: 'string', maxLength: 5 }, 'text', true],
    [{ type: 'string', pattern: '^a' }, 'text', false],
    [{ anyOf: [{ type: 'boolean' }, { type: 'null' }] }, 'Yes, No', true],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, 'any of a, b', true],
    [{ type: 'object', properties: { why: { type: 'string', title: 'Why' } } }, 'Why', true],
    [{ type: 'object' }, 'any value, as JSON', false],
    [{}, 'any value, as JSON', false],
    [true, 'any value, as JSON', false],
  ] as const) {
    const shape = shapeOf(schema)
    assert.deepEqual([hintOf(shape.field), shape.isCertain], [hint, isCertain], JSON.stringify(schema))
  }
})

test('each option has a key, and a number is its own key', () => {
  const keysOf = (schema: object) => {
    const { field } = shapeOf(schema)
    return field.kind === 'choice' ? field.options.map(({ key }) => key) : undefined
  }
  assert.deepEqual(keysOf({ enum: ['a', 'b'] }), ['1', '2'])
  assert.deepEqual(keysOf({ type: 'integer', minimum: 0, maximum: 3 }), ['0', '1', '2', '3'])
  assert.deepEqual(keysOf({ type: 'integer', minimum: 8, maximum: 10 }), ['8', '9', '0'])
  assert.deepEqual(keysOf({ type: 'integer', minimum: -1, maximum: 0 }), [undefined, '0'])
})

test('an entered value becomes JSON with its digits, or an error message', () => {
  const group = {
    type: 'object',
    properties: { kind: { enum: ['a', 'b'] }, size: { type: 'integer' } },
    required: ['kind'],
  }
  for (const [schema, draft, result] of [
    [{ type: 'number' }, '0.10', { json: '0.10' }],
    [{ type: 'integer' }, ' 9007199254740993 ', { json: '9007199254740993' }],
    [{ type: 'integer' }, '1.5', { problem: 'This is not a whole number.' }],
    [{ type: 'number' }, '1,5', { problem: 'This is not a number.' }],
    [{ type: 'number', maximum: 1 }, '2', { problem: 'At most 1.' }],
    [{ type: 'number' }, '', {}],
    [{ type: 'string', minLength: 2 }, '😀', { problem: 'At least 2 characters.' }],
    [{ type: 'string' }, 'a"b', { json: '"a\\"b"' }],
    [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 }, ['"b"', '"a"'], { json: '["a","b"]' }],
    [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 }, ['"b"'], { problem: 'Choose at least 2.' }],
    [group, { kind: '"b"', size: '1' }, { json: '{"kind":"b","size":1}' }],
    [group, { size: '1' }, { problem: 'kind is missing.' }],
    [group, { kind: '"b"', size: 'x' }, { problem: 'size: This is not a number.' }],
    [group, undefined, {}],
    [{}, '[1.0]', { json: '[1.0]' }],
  ] as const) {
    assert.deepEqual(validateDraft(shapeOf(schema).field, draft), result, JSON.stringify([schema, draft]))
  }
})

test('an earlier value can be edited', () => {
  for (const [schema, value] of [
    [{ enum: ['a', 'b'] }, '"b"'],
    [{ type: 'number' }, '0.10'],
    [{ type: 'string' }, '"a b"'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, '["a","b"]'],
    [{ type: 'object', properties: { kind: { enum: ['a'] } } }, '{"kind":"a"}'],
    [{}, '[9007199254740993]'],
  ] as const) {
    const { field } = shapeOf(schema)
    assert.deepEqual(validateDraft(field, draftOf(field, jsonNode(value))), { json: value })
  }
})
