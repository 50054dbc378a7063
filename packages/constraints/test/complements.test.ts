import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import {
  type Automaton,
  accepts,
  automatonOf,
  compileRegex,
  createBudget,
  difference,
  lengths,
  smallest,
} from '../index.ts'

/** A copy of which nothing is known yet. */
const copied = ({ edges, accepting }: Automaton): Automaton => ({ edges, accepting })

test('a complement has as few states as possible and accepts exactly the other texts', () => {
  const random = seededRandom(11)
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
  const pattern = (depth: number): string =>
    depth === 0
      ? pick(['a', 'b', '[ab]', '[^a]', '.', 'ab', 'c{2,3}'])
      : pick([
          () => `${pattern(depth - 1)}${pattern(depth - 1)}`,
          () => `(?:${pattern(depth - 1)}|${pattern(depth - 1)})`,
          () => `(?:${pattern(depth - 1)})*`,
          () => `(?:${pattern(depth - 1)})?`,
        ])()
  for (let round = 0; round < 200; round++) {
    const budget = createBudget(10_000_000)
    const source = pattern(3)
    const all = lengths(0, Number.POSITIVE_INFINITY, budget)
    const taken = automatonOf(compileRegex(source, { search: false }), budget)
    const rest = difference(all, taken, budget)
    assert.equal(smallest(copied(rest), budget).accepting.length, rest.accepting.length, source)
    const whole = new RegExp(`^(?:${source})$`, 'u')
    for (let i = 0; i < 40; i++) {
      const text = Array.from({ length: Math.floor(random() * 6) }, () => pick(['a', 'b', 'c', 'é'])).join('')
      assert.equal(accepts(rest, text), !whole.test(text), `${source} ${text}`)
    }
  }
})
