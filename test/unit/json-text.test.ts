import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compactJson, compareText, itemsOf, membersOf } from '../../packages/json/index.ts'
import {
  JsonText,
  joined,
  type SharedText,
  sharedText,
  textOfShared,
  withTexts,
  writeJson,
} from '../../src/domain/json/text.ts'

const json = fc.jsonValue({ depthSize: 'medium' })
const space = fc.constantFrom('', ' ', '\n', '\t ', '  \r\n')

test('compactJson: removes the white space between tokens only', () => {
  fc.assert(
    fc.property(json, space, (value, indent) => {
      assert.equal(compactJson(JSON.stringify(value, null, indent)), JSON.stringify(value))
    }),
  )
  assert.equal(compactJson(' { "a b" : " \\" " , "\\\\" : [ ] } '), '{"a b":" \\" ","\\\\":[]}')
})

test('membersOf: gives the texts of the members, and the last of a repeated key', () => {
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

test('writeJson: writes what JSON.stringify writes, and kept texts unchanged', () => {
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

test('itemsOf: gives the texts of the items', () => {
  fc.assert(
    fc.property(fc.array(json, { maxLength: 6 }), space, (list, gap) => {
      const texts = list.map((item) => JSON.stringify(item))
      assert.deepEqual(itemsOf(`[${gap}${texts.join(`${gap},${gap}`)}${gap}]`), texts)
    }),
  )
})

test('a text in shared memory is read as the same text, anywhere in a value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const shared = new JsonText(sharedText(text))
      assert.deepEqual([shared.text, shared.bytes], [text, Buffer.byteLength(text)])
      assert.deepEqual(withTexts({ a: [sharedText(text), 1], b: { c: sharedText(text), d: null } }), {
        a: [text, 1],
        b: { c: text, d: null },
      })
    }),
  )
  assert.equal(joined(['a', 'é']), 'aé')
  assert.equal(textOfShared(joined(['a', sharedText('é'), 'ж']) as SharedText), 'aéж')
  const bytes = new Uint8Array([1, 2])
  assert.equal(withTexts({ bytes }).bytes, bytes, 'other bytes are left unchanged')
})

test('texts are ordered by code point, lone surrogates included', () => {
  const points = (text: string) => [...text].map((one) => one.codePointAt(0) as number)
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom('a', '\ud83d', '\ude00', '\ude01', '\ue000', '\uffff', '😀'),
        maxLength: 4,
      }),
      fc.string({
        unit: fc.constantFrom('a', '\ud83d', '\ude00', '\ude01', '\ue000', '\uffff', '😀'),
        maxLength: 4,
      }),
      (left, right) => {
        const [l, r] = [points(left), points(right)]
        const at = l.findIndex((point, i) => point !== r[i])
        const expected = at === -1 ? l.length - r.length : (l[at] as number) - (r[at] ?? -1)
        assert.equal(Math.sign(compareText(left, right)), Math.sign(expected))
      },
    ),
    { numRuns: 3000 },
  )
})
