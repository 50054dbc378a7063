import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { digestOf, digestOfJson, openDigest } from '../../src/domain/digests.ts'

/** JavaScript itself sorts keys that are whole numbers. */
const json = fc.jsonValue({ maxDepth: 4 })

function withKeysReversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withKeysReversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, withKeysReversed(member)]),
  )
}

test('the digest of a value does not depend on the order of keys', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = JSON.stringify(value)
      assert.equal(digestOfJson(JSON.stringify(withKeysReversed(JSON.parse(text)))), digestOfJson(text))
    }),
  )
})

test('the digest of a value does not depend on space between its tokens', () => {
  fc.assert(
    fc.property(json, fc.constantFrom('\t', ' ', '   ', '\n'), (value, space) => {
      assert.equal(digestOfJson(JSON.stringify(value, null, space)), digestOfJson(JSON.stringify(value)))
    }),
  )
})

test('the digest of a value does not depend on how its characters are escaped', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const escaped = `"${[...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`
      assert.equal(digestOfJson(escaped), digestOfJson(JSON.stringify(text)))
    }),
  )
})

test('different values have different digests', () => {
  fc.assert(
    fc.property(json, json, (one, other) => {
      const [a, b] = [one, other].map((value) => JSON.stringify(value)) as [string, string]
      const same = (text: string) => JSON.stringify(sorted(JSON.parse(text)))
      fc.pre(same(a) !== same(b))
      assert.notEqual(digestOfJson(a), digestOfJson(b))
    }),
  )
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .map(([key, member]) => [key, sorted(member)])
    .toSorted(([a], [b]) => ((a as string) < (b as string) ? -1 : 1))
}

test('content in pieces has the digest of the whole', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (pieces) => {
      const digest = openDigest()
      for (const piece of pieces) digest.add(piece)
      const whole = Buffer.concat(pieces)
      const end = digest.end()
      assert.equal(end, digestOf(whole))
      assert.match(end, /^[0-9A-Za-z]{43}$/)
      assert.equal(
        end,
        createHash('sha256').update(whole).digest('base64url').replace(/-/g, 'X').replace(/_/g, 'Y'),
      )
    }),
  )
})
