import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classesOf } from '../../src/operations/objects/classes.ts'
import { Value } from '../../src/operations/objects/values.ts'

test('a value is read by names and indexes, and numbers keep their digits', () => {
  const value = new Value('{"a":[1.0,{"b\\u0041":9007199254740993}],"a b":"x\\n"}')
  assert.equal(value.member('a')?.item(0)?.text, '1.0')
  assert.equal(value.member('a')?.item(1)?.member('bA')?.text, '9007199254740993')
  assert.equal(value.member('a b')?.string, 'x\n')
  assert.equal(value.member('a')?.string, undefined)
  for (const nothing of [
    value.item(0),
    value.member('c'),
    value.member('toString'),
    value.member('a')?.item(2),
    value.member('a')?.item(-1),
    value.member('a')?.member('0'),
    value.member('a b')?.item(0),
    value.member('a b')?.member('length'),
  ]) {
    assert.equal(nothing, undefined)
  }
})

const classes = (value: unknown) => classesOf(JSON.stringify(value))

test('a class is recognised only by its bases and its name', () => {
  const none = { kind: 'object', base: null, leaf: null }
  for (const value of [
    null,
    5,
    'x',
    [],
    [{ _class_name: 'X' }],
    {},
    { _bases: ['BaseModel', 'Object'], _class_name: 'X' },
    { _bases: ['Object'], _class_name: 'X' },
    { _bases: { length: 2 }, _class_name: 'X' },
    { weave_type: { type: 'Op' } },
    { _type: 'CustomWeaveType', weave_type: null },
    { _type: 'CustomWeaveType', weave_type: 'Op' },
  ]) {
    assert.deepEqual(classes(value), none, JSON.stringify(value))
  }
  const bases = ['Object', 'BaseModel']
  assert.deepEqual(classes({ _bases: bases }), none)
  assert.deepEqual(classes({ _bases: bases, _class_name: 5 }), none)
  assert.deepEqual(classes({ _bases: ['A', 5, ...bases], _class_name: 'X' }), { ...none, leaf: 'X' })
  assert.deepEqual(classes({ _bases: ['A', 'B', ...bases], _class_name: 'X' }), {
    kind: 'object',
    base: 'B',
    leaf: 'X',
  })
  assert.deepEqual(classes({ _type: 'CustomWeaveType', weave_type: { type: 'Op' } }), {
    kind: 'op',
    base: null,
    leaf: null,
  })
})

test('a class is found in a large value, too', () => {
  const marks = { _class_name: 'X', _bases: ['Object', 'BaseModel'] }
  const found = { kind: 'object', base: 'X', leaf: 'X' }
  const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, _class_name: 'Inner', _bases: [] }))
  const named = Object.fromEntries(rows.map((row) => [`row ${row.n}`, row]))
  for (const value of [
    { rows, ...marks },
    { ...marks, rows },
    { ...named, ...marks },
    { ...marks, ...named },
    { ...marks, inner: { ...named, ...marks, _class_name: 'Inner' } },
  ]) {
    assert.deepEqual(classes(value), found)
  }
  const text = JSON.stringify({ ...marks, rows })
  const again = `${text.slice(0, -1)},"_class_name":"Y"}`
  assert.deepEqual(classesOf(again), { ...found, base: 'Y', leaf: 'Y' })
  assert.deepEqual(classes({ rows: [marks, ...rows] }), { kind: 'object', base: null, leaf: null })
})
