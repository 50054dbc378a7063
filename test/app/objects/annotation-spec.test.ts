import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { objectOf, readObject } from '../../support/objects.ts'

const specOf = (val: unknown) => objectOf('spec', val, { builtin_object_class: 'AnnotationSpec' })

test('obj/create: an annotation spec gets its defaults and its class', async (t) => {
  const opened = await openApp(t)
  const val = { name: 'Quality', field_schema: { type: 'number', minimum: 0 } }
  assert.equal((await opened.post('/obj/create', specOf(val))).status, 200)
  const { obj } = (await readObject(opened, 'spec')).json
  assert.deepEqual(obj.val, {
    name: 'Quality',
    description: null,
    field_schema: { type: 'number', minimum: 0 },
    unique_among_creators: false,
    op_scope: null,
    _type: 'AnnotationSpec',
    _class_name: 'AnnotationSpec',
    _bases: ['BaseObject', 'BaseModel'],
  })
  assert.deepEqual(
    [obj.kind, obj.base_object_class, obj.leaf_object_class],
    ['object', 'AnnotationSpec', 'AnnotationSpec'],
  )
})

test('obj/create: values of an annotation spec override the defaults, and unknown keys are kept', async (t) => {
  const opened = await openApp(t)
  const val = {
    name: null,
    description: 'how good',
    field_schema: true,
    unique_among_creators: true,
    op_scope: ['weave:///acme/qa/op/answer:*'],
    colour: 'red',
  }
  assert.equal((await opened.post('/obj/create', specOf(val))).status, 200)
  const { _type, _class_name, _bases, ...stored } = (await readObject(opened, 'spec')).json.obj.val
  assert.deepEqual(stored, val)
})

test('obj/create: accepts schemas of draft-07 and 2020-12', async (t) => {
  const { post } = await openApp(t)
  for (const field_schema of [
    {},
    true,
    { type: 'string', enum: ['a', 'b'] },
    { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] },
    { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'string' }] },
    { $defs: { a: { type: 'integer' } }, $ref: '#/$defs/a' },
    { type: 'string', format: 'made-up', 'x-order': 1 },
    { nullable: true },
    { id: 'quality', type: 'string', pattern: '^[\\w-.]+$' },
  ]) {
    const { status, text } = await post('/obj/create', specOf({ field_schema }))
    assert.equal(status, 200, text)
  }
})

test('obj/create: an invalid annotation spec is refused, and its path is named', async (t) => {
  const opened = await openApp(t)
  for (const [val, place] of [
    [5, 'obj.val'],
    [null, 'obj.val'],
    [{ name: 5 }, 'obj.val.name'],
    [{ description: [] }, 'obj.val.description'],
    [{ field_schema: 5 }, 'obj.val.field_schema'],
    [{ field_schema: null }, 'obj.val.field_schema'],
    [{ field_schema: { type: 'nothing' } }, 'obj.val.field_schema'],
    [{ field_schema: { minimum: 'x' } }, 'obj.val.field_schema'],
    [{ field_schema: { $ref: 'https://example.com/schema' } }, 'obj.val.field_schema'],
    [{ field_schema: { pattern: '(' } }, 'obj.val.field_schema'],
    [{ field_schema: { $async: true, type: 'string' } }, 'obj.val.field_schema'],
    [{ op_scope: Array(600).fill('x'.repeat(1000)) }, 'obj.val'],
    [{ field_schema: { description: 'x'.repeat(70_000) } }, 'obj.val.field_schema'],
    [{ unique_among_creators: 'yes' }, 'obj.val.unique_among_creators'],
    [{ op_scope: ['a', 5] }, 'obj.val.op_scope.1'],
  ] as const) {
    const { status, json } = await opened.post('/obj/create', specOf(val))
    assert.deepEqual([status, json.code], [422, 'invalid_request'], place)
    assert.deepEqual(json.detail[0].loc.slice(1).join('.'), place)
    assert.ok(json.reason.startsWith(`The body does not fit the schema: ${place}: expected `), json.reason)
  }
  assert.equal((await readObject(opened, 'spec')).status, 404)
})

test('obj/create: an asynchronous schema is refused without affecting the checks of other specs', async (t) => {
  const { post } = await openApp(t)
  const given = [{ $async: true, type: 'string' }, { type: 'number' }, { $async: true }, { type: 'string' }]
  const answers = await Promise.all(
    given.map((field_schema) => post('/obj/create', specOf({ field_schema }))),
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    [422, 200, 422, 200],
  )
  assert.match(
    answers[0]?.json.reason,
    /obj\.val\.field_schema: expected a JSON Schema, but "\$async" is not accepted/,
  )
})

test('obj/create: a value that only resembles an annotation spec is stored unchanged', async (t) => {
  const opened = await openApp(t)
  const val = { _type: 'AnnotationSpec', field_schema: { type: 'nothing' } }
  assert.deepEqual(whole(await opened.post('/obj/create', objectOf('o', val))).status, 200)
  assert.deepEqual((await readObject(opened, 'o')).json.obj.val, val)
})
