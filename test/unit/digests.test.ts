import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { canonicalJson } from '../../packages/json/index.ts'
import { digestOf, digestOfJson, digestOfTable } from '../../src/domain/digests.ts'

test('canonical JSON is the text that Python writes', () => {
  const cases: [given: string, canonical: string][] = [
    ['{"b":2,"a":1}', '{"a": 1, "b": 2}'],
    ['[1,1.0,1e5,1E400,-0,-0.0,0.00001,0.0001]', '[1, 1.0, 100000.0, Infinity, 0, -0.0, 1e-05, 0.0001]'],
    ['[1e15,1e16,1.5e300,123456789.125]', '[1000000000000000.0, 1e+16, 1.5e+300, 123456789.125]'],
    [
      '[9007199254740993,123456789012345678901234567890]',
      '[9007199254740993, 123456789012345678901234567890]',
    ],
    ['{"t":"é\\u007f/\\n\\"😀"}', '{"t": "\\u00e9\\u007f/\\n\\"\\ud83d\\ude00"}'],
    ['{"\\uff5e":1,"😀":2}', '{"\\uff5e": 1, "\\ud83d\\ude00": 2}'],
    ['{"__proto__":1,"a":{}}', '{"__proto__": 1, "a": {}}'],
    ['[]', '[]'],
  ]
  for (const [given, canonical] of cases) assert.equal(canonicalJson(given), canonical)
})

test('digests of values, of whole tables and of bytes', async () => {
  const values: [json: string, digest: string][] = [
    ['{"a": 1}', 'XdhgKMbg1k4iUYb5astpM4ssWXZN95FiEH9cS7NNExA'],
    ['{"b": 2, "a": 1}', '2El9nYJ3CnBykmEJWqmPfvUVTXr0mfgDe2yiUClnhaY'],
    ['{"a": 1.0}', 'dCYJsgfwkAqOLf866DrEeUGvXCm7brXylYTKfdY9g1Q'],
    ['{"t": "é"}', '6xdsEUiCMk8tALgv0LqXUqNjtX98IdmCIZZgcLzEp04'],
    ['{"q": "2+2?", "idx": 0}', '2id9XvLdU42z8TL30iQa4u4aGGwkxyvsnoipYvzB5Ek'],
    ['null', 'dCNOmKYnSYX12vHzasLXiswzlGT5UHA7jAGYkvmCuQs'],
    ['{"x":1}', 'YTYlqmU0Pbsbmr5qusZ3P1yRvWDT8vX34urmnh24sic'],
    ['{"x":2}', 'JPVyYA4VDTIwE4OFqgAGyhuZO0a7Qn90bMaQyY2TJBM'],
  ]
  for (const [json, digest] of values) assert.equal(digestOfJson(json), digest)
  assert.equal(
    await digestOfTable([
      'YTYlqmU0Pbsbmr5qusZ3P1yRvWDT8vX34urmnh24sic',
      'JPVyYA4VDTIwE4OFqgAGyhuZO0a7Qn90bMaQyY2TJBM',
    ]),
    'ed8bd1f8cb829eeb6b3fef95a7cd8401f7e5af825c4c9aa144a1ceb9f32c3654',
  )
  assert.equal(await digestOfTable([]), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  assert.equal(digestOf(Buffer.from('hello')), 'LPJNulXwow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ')
  assert.equal(digestOf('plain'), 'oRbJ7UbWIHc0pDMX0wYYj1KshjTDfZBLv05B2GX5BHU')
})

test('the digest of a long table is that of its rows joined, and other work continues meanwhile', async () => {
  const rows = Array.from({ length: 1000 }, (_, n) => `row ${n}`)
  let breaths = 0
  const digest = await digestOfTable(rows, () => {
    breaths++
    return undefined
  })
  assert.equal(digest, createHash('sha256').update(rows.join('')).digest('hex'))
  assert.equal(breaths, 3)
})
