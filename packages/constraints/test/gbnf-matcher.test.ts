import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'

const read: { gbnf: string; yes: string[]; no: string[] }[] = [
  { gbnf: 'root ::= "a"', yes: ['a'], no: ['', 'b', 'aa'] },
  { gbnf: 'root ::= "" | "a" # a comment\n', yes: ['', 'a'], no: ['aa'] },
  { gbnf: 'root ::= a-1 "x"\na-1 ::= [a-c]{2,3}', yes: ['abx', 'abcx'], no: ['ax', 'abcax', 'abdx'] },
  { gbnf: 'root ::= [^a-c\\]\\x2D]+ | .', yes: ['d', 'de', 'a'], no: ['', 'da', 'd]', 'd-'] },
  { gbnf: 'root ::= "\\u00e9\\U0001F600\\n\\"\\\\"', yes: ['é😀\n"\\'], no: ['é'] },
  { gbnf: 'root ::= "(" root? ")"', yes: ['()', '((()))'], no: ['(', '(()'] },
  { gbnf: 'root ::= (\n "a" |\n "b"\n)* "c"', yes: ['c', 'abbac'], no: ['ab'] },
  { gbnf: 'root ::= "ab"{2} "c"{0,2} "d"{1,}', yes: ['ababd', 'ababccdd'], no: ['abd', 'ababcccd', 'abab'] },
]

const refused: { gbnf: string; why: RegExp }[] = [
  { gbnf: 'root ::= x', why: /no rule x/ },
  { gbnf: 'x ::= "a"', why: /no rule root/ },
  { gbnf: 'root ::= "a', why: /end is not expected/ },
  { gbnf: 'root ::= "\\q"', why: /no such escape/ },
  { gbnf: 'root ::= ("a"', why: /parenthesis/ },
  { gbnf: 'root ::= "a"\n | "b"', why: /name is expected/ },
  { gbnf: 'root ::= ("a"?)*', why: /may be empty is repeated/ },
  { gbnf: 'root ::= "a"? root "b" | "c"', why: /begins with itself/ },
  { gbnf: 'root ::= "a"{2001}', why: /lower bound/ },
  { gbnf: 'root ::= "a"{0,2001}', why: /upper bound/ },
  { gbnf: 'root ::= (("a"{0,50}) "b"){0,50}', why: /so much so often/ },
]

describe('the grammar matcher of the tests', () => {
  for (const { gbnf, yes, no } of read) {
    it(`reads ${gbnf.replaceAll('\n', '↵')}`, () => {
      const matcher = createGbnfMatcher(gbnf)
      for (const text of yes) assert.equal(matcher.accepts(text), true, text)
      for (const text of no) assert.equal(matcher.accepts(text), false, text)
    })
  }

  for (const { gbnf, why } of refused) {
    it(`refuses ${gbnf.replaceAll('\n', '↵')}`, () => {
      assert.throws(() => createGbnfMatcher(gbnf), why)
    })
  }

  it('tells a prefix from a text that cannot be continued', () => {
    const matcher = createGbnfMatcher('root ::= "abc" | "abd"')
    assert.equal(matcher.begins('ab'), true)
    assert.equal(matcher.begins('abe'), false)
    assert.equal(matcher.begins('abcd'), false)
  })

  it('generates texts that it accepts, also from recursive grammars', () => {
    const matcher = createGbnfMatcher('root ::= "[" (root ("," root)*)? "]" | [0-9]{1,3} | [^a]')
    const random = seededRandom(1)
    const texts = new Set(Array.from({ length: 200 }, () => matcher.sample(random)))
    for (const text of texts) assert.equal(matcher.accepts(text), true, text)
    assert.ok(texts.size > 50)
  })
})
