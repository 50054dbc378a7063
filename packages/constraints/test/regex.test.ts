import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { writeGbnf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher, type GbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { regexes } from '../../../test/support/regexes.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { loadXGrammar } from '../../../test/support/xgrammar.ts'
import { BudgetExceededError, ConstraintError, compileRegex, RegexError, regexGrammar } from '../index.ts'
import { propertyRanges } from '../regex/characters.ts'

function matcherOf(source: string): GbnfMatcher {
  return createGbnfMatcher(writeGbnf(regexGrammar(source)))
}

function searching(source: string): GbnfMatcher {
  const root = compileRegex(source, { search: true })
  return createGbnfMatcher(writeGbnf({ rules: new Map([['root', root]]) }))
}

describe('a regular expression as a grammar', () => {
  for (const { source, yes, no } of regexes) {
    it(`matches what ${source || 'the empty expression'} matches`, () => {
      const matcher = matcherOf(source)
      for (const text of yes) assert.equal(matcher.accepts(text), true, JSON.stringify(text))
      for (const text of no) assert.equal(matcher.accepts(text), false, JSON.stringify(text))
    })
  }

  const refused: [source: string, kind: RegexError['fault'], why: RegExp][] = [
    ['(a)\\1', 'unsupported', /^a back-reference \(\\1\) is not supported$/],
    ['(?<x>a)\\k<x>', 'unsupported', /^a back-reference \(\\k<x>\)/],
    ['(?=a)'.repeat(33), 'unsupported', /^it has more than 32 assertions/],
    ['('.repeat(300) + ')'.repeat(300), 'unsupported', /nested more than 200 deep/],
    ['a'.repeat(40_000), 'unsupported', /40000 characters, at most 32768/],
    ['\\p{L}'.repeat(17), 'unsupported', /17 Unicode properties/],
    ['(^|a)'.repeat(101), 'unsupported', /101 anchors, at most 100/],
    ['(', 'invalid', /^Unterminated group at character 2$/],
    ['[z-a]', 'invalid', /^Range out of order/],
    ['a**', 'invalid', /^Nothing to repeat/],
    ['a{2,1}', 'invalid', /^numbers out of order/],
    ['\\A\\d+\\Z', 'invalid', /^Invalid escape/],
    ['\\p{Nonsense}', 'invalid', /^Invalid property name/],
    ['a\0b', 'invalid', /NUL/],
  ]
  for (const [source, kind, why] of refused) {
    it(`refuses ${JSON.stringify(source.slice(0, 30))} with the reason`, () => {
      assert.throws(
        () => regexGrammar(source),
        (error) => {
          assert.ok(error instanceof RegexError, String(error))
          assert.equal(error.fault, kind)
          assert.match(error.why, why)
          return true
        },
      )
    })
  }

  it('refuses an expression that no text matches', () => {
    for (const source of ['a^', '$a', '[]', '\\ud800', 'a[]b', 'a(?=b)', '(?<!a)b(?<=a)', 'a\\Ba\\bb'])
      assert.throws(() => matcherOf(source), { fault: 'impossible' })
  })

  it('refuses an expression that would need too many positions at once', () => {
    for (const source of ['((a{0,50}){0,50}){0,50}', '(a|b)*a(a|b){300}', '(.*a){200}.*b(.*c){200}']) {
      assert.throws(() => regexGrammar(source), BudgetExceededError, source)
    }
  })

  it('is followed in one position where possible', () => {
    for (const source of [
      '(a|b)*a(a|b){5}',
      '(ab|ac|a)+',
      '(\\w+\\s?)*\\.',
      '[a-z]{1,100}@[a-z]{1,100}\\.com',
    ]) {
      const matcher = matcherOf(source)
      const random = seededRandom(5)
      for (let count = 0; count < 20; count++) matcher.accepts(matcher.sample(random))
      // The end of the text is a position of its own, and so is each alternative that is still unread.
      assert.ok(matcher.widest <= 4, `${source}: ${matcher.widest}`)
    }
  })

  it('gives Unicode properties the code points that the standard library gives them', () => {
    for (const property of [
      '\\p{Lu}',
      '\\p{Script=Han}',
      '\\p{Emoji}',
      '\\p{Cn}',
      '\\p{Co}',
      '\\p{Noncharacter_Code_Point}',
      '\\p{Any}',
    ]) {
      const pattern = new RegExp(`^${property}$`, 'u')
      const ranges = propertyRanges(property)
      let at = 0
      for (let point = 0; point <= 0x10ffff; point += point % 0x10000 > 0xff00 || point < 0x3400 ? 1 : 13) {
        if (point >= 0xd800 && point <= 0xdfff) continue
        while (at < ranges.length && (ranges[at]?.[1] ?? 0) < point) at++
        const held = (ranges[at]?.[0] ?? Infinity) <= point
        if (held !== pattern.test(String.fromCodePoint(point)))
          assert.fail(`${property}: U+${point.toString(16)}`)
      }
    }
  })

  it('does not take negated classes and escaped characters for anchors', () => {
    const matcher = matcherOf('[^ab]\\$[$^]\\^'.repeat(60))
    assert.equal(matcher.accepts('c$^^'.repeat(60)), true)
    assert.equal(matcher.accepts('a$^^'.repeat(60)), false)
  })

  it('accepts the same texts in another grammar engine', async () => {
    const oracle = loadXGrammar()
    const ascii = (text: string) => /^[\t\n -~]*$/.test(text) && text.length < 500
    let compared = 0
    for (const { source, yes, no } of regexes) {
      // The other engine treats ranges above ASCII differently.
      const gbnf = writeGbnf(regexGrammar(source))
      if (/\\[uU]/.test(gbnf)) continue
      const theirs = await oracle.gbnf(gbnf)
      for (const text of yes.filter(ascii)) {
        compared++
        assert.equal(await theirs.accepts(text), true, `${source}: ${text}`)
      }
      for (const text of no.filter(ascii)) {
        compared++
        assert.equal(await theirs.accepts(text), false, `${source}: ${text}`)
      }
      theirs.close()
    }
    assert.ok(compared > 60, `${compared} texts compared`)
  })

  it('matches anywhere in the text when it searches', () => {
    const cases: [source: string, text: string, found: boolean][] = [
      ['b', 'abc', true],
      ['b', '\nb\n', true],
      ['b', 'ac', false],
      ['^b', 'bc', true],
      ['^b', 'ab', false],
      ['b$', 'ab', true],
      ['b$', 'b\n', false],
      ['^b$', 'b', true],
      ['^b$', 'bb', false],
      ['^a|b$', 'ax', true],
      ['^a|b$', 'xb', true],
      ['^a|b$', 'xa', false],
      ['', 'anything', true],
      ['x*', 'anything', true],
      ['^$', '', true],
      ['^$', 'a', false],
    ]
    for (const [source, text, found] of cases) {
      assert.equal(searching(source).accepts(text), found, `${source} in ${JSON.stringify(text)}`)
    }
  })

  it('means the same as in the standard library', () => {
    let compared = 0
    fc.assert(
      fc.property(sources, fc.array(texts, { maxLength: 4 }), fc.nat(), (source, inputs, seed) => {
        for (const search of [false, true]) {
          const expected = new RegExp(search ? source : `^(?:${source})$`, 'u')
          let matcher: GbnfMatcher
          try {
            matcher = search ? searching(source) : matcherOf(source)
          } catch (error) {
            if (error instanceof ConstraintError && error.fault === 'impossible') {
              for (const text of [...usual, ...inputs])
                assert.equal(expected.test(text), false, `${source} in ${text}`)
            } else {
              assert.ok(
                error instanceof RegexError && /an anchor .* repetition/.test(error.why),
                String(error),
              )
            }
            continue
          }
          const random = seededRandom(seed)
          const sampled = Array.from({ length: 3 }, () => matcher.sample(random, 10))
          for (const text of [...usual, ...inputs, ...sampled]) {
            compared++
            assert.equal(
              matcher.accepts(text),
              expected.test(text),
              `${source} (search: ${search}): ${JSON.stringify(text)}`,
            )
          }
        }
      }),
      { numRuns: 1000 },
    )
    assert.ok(compared > 10_000, `${compared} texts compared`)
  })
})

const usual = ['', 'a', 'b', 'ab', 'ba', 'aab', 'abb', 'abab', 'bbbb', 'c', '\n', 'aé😀']
const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-', '\n', '😀'), maxLength: 8 })
const { source: sources } = fc.letrec<{ source: string }>((tie) => ({
  source: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'regex' },
    fc.constantFrom('a', 'b', '[ab]', '[^a]', '.', '\\w', '\\W', '😀', 'ab', '', '^', '$'),
    fc.array(tie('source'), { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join('')),
    fc.array(tie('source'), { minLength: 1, maxLength: 3 }).map((pieces) => `(${pieces.join('|')})`),
    fc
      .tuple(tie('source'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,3}', '*?', '{2,}'))
      .map(([inner, count]) => `(?:${inner})${count}`),
  ),
}))
