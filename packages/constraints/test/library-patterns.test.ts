import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { walksOf } from '../../../test/support/turn-walks.ts'
import { compile, formats } from '../index.ts'

/** Patterns that libraries write next to a format. */

function textsOf(schema: object, count: number): string[] {
  const { grammar } = compile({ kind: 'json', schema }, { whitespace: 'none' })
  const walk = walksOf(grammar)
  const random = seededRandom(15)
  return Array.from({ length: count }, () => JSON.parse(walk(random, 60)) as string)
}

test('a pattern that a format implies matches each of its texts', () => {
  let implied = 0
  for (const [format, { implied: patterns = [] }] of Object.entries(formats)) {
    for (const pattern of patterns) {
      implied++
      const expression = new RegExp(pattern, 'u')
      for (const text of textsOf({ type: 'string', format }, 300)) assert.match(text, expression, format)
      assert.deepEqual(
        textsOf({ type: 'string', format, pattern }, 20),
        textsOf({ type: 'string', format }, 20),
      )
    }
  }
  assert.ok(implied >= 2)
})

test('a format is only a description next to a pattern that excludes all its texts', () => {
  for (const [format, pattern] of [
    ['time', '^(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?$'],
    ['date-time', '^\\d{4}-(?:0[1-9]|1[0-2])-[0-2]\\dT[0-5]\\d:[0-5]\\dZ$'],
    ['mac', '^(?:[0-9A-F]{2}-){5}[0-9A-F]{2}$'],
    ['ipv4', '^x$'],
  ] as const) {
    for (const text of textsOf({ type: 'string', format, pattern }, 20))
      assert.match(text, new RegExp(pattern, 'u'))
  }
  // A pattern that some of its texts match narrows it.
  for (const text of textsOf({ type: 'string', format: 'ipv4', pattern: '^10\\.' }, 20))
    assert.match(text, /^10\.\d+\.\d+\.\d+$/)
})

test('a pattern that nothing matches is still refused', () => {
  const schema = { type: 'string', format: 'time', pattern: '^(?=a)b$' }
  assert.throws(() => textsOf(schema, 1), { fault: 'impossible' })
})

test('an unmatched closing bracket stands for itself, as without the flag u', () => {
  for (const text of textsOf({ type: 'string', pattern: '^\\[a]{1,2}$' }, 20))
    assert.match(text, /^\[a\]{1,2}$/)
})
