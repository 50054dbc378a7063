import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { writeGbnf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { ConstraintError, choiceGrammar } from '../index.ts'

describe('a choice as a grammar', () => {
  it('accepts exactly the given texts', () => {
    const choices = [
      'positive',
      'negative',
      'neutral',
      'neutral',
      'a "quoted" \\ text\n',
      '[x]',
      'é😀',
      ' ',
      '',
    ]
    const matcher = createGbnfMatcher(writeGbnf(choiceGrammar(choices)))
    for (const choice of choices) assert.equal(matcher.accepts(choice), true, choice)
    for (const text of ['n', 'neg', 'neutrals', 'positivenegative', '  ', 'é']) {
      assert.equal(matcher.accepts(text), false, text)
    }
  })

  it('accepts exactly the given texts, also of random ones', () => {
    const texts = fc.array(
      fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', ']', '^', '-', '\n', '😀'), maxLength: 6 }),
      {
        minLength: 1,
        maxLength: 12,
      },
    )
    fc.assert(
      fc.property(texts, texts, (choices, others) => {
        const matcher = createGbnfMatcher(writeGbnf(choiceGrammar(choices)))
        for (const text of [...choices, ...others])
          assert.equal(matcher.accepts(text), choices.includes(text), text)
      }),
      { numRuns: 300 },
    )
  })

  it('accepts thousands of texts', () => {
    const choices = Array.from({ length: 10_000 }, (_, at) => `Q${at * 7919}`)
    const matcher = createGbnfMatcher(writeGbnf(choiceGrammar(choices)))
    assert.equal(matcher.accepts('Q7919'), true)
    assert.equal(matcher.accepts('Q7918'), false)
    assert.ok(matcher.widest <= 11, `${matcher.widest} positions`)
  })

  it('accepts texts that are prefixes of one another', () => {
    const choices = Array.from({ length: 1400 }, (_, length) => 'a'.repeat(length))
    const matcher = createGbnfMatcher(writeGbnf(choiceGrammar(choices)))
    assert.equal(matcher.accepts('a'.repeat(1399)), true)
    assert.equal(matcher.accepts('a'.repeat(1400)), false)
  })

  const refused: [choices: string[], path: string, why: RegExp][] = [
    [[], '', /nothing to choose from/],
    [['a', 'b\0'], '/1', /NUL/],
    [['\ud800'], '/0', /surrogate/],
    [['a'.repeat(2 ** 20), 'b'], '', /1048577 characters, at most 1048576/],
  ]
  for (const [choices, path, why] of refused) {
    it(`refuses ${JSON.stringify(choices).slice(0, 30)}`, () => {
      assert.throws(
        () => choiceGrammar(choices),
        (error) => {
          assert.ok(error instanceof ConstraintError, String(error))
          assert.equal(error.path, path)
          assert.match(error.why, why)
          return true
        },
      )
    })
  }
})
