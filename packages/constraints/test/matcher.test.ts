import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWhole, sampled } from '../../../test/support/campaign-share.ts'
import { gbnfOf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { keywordCases } from '../../../test/support/schemas/keyword-cases.ts'
import { pairCases } from '../../../test/support/schemas/pair-cases.ts'
import { realCases } from '../../../test/support/schemas/real-cases.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { type CompiledGrammar, compile, createMatcher, type GrammarMatcher, type Position } from '../index.ts'

function placeAfter(following: GrammarMatcher, text: string): Position | undefined {
  let position: Position | undefined = following.start
  for (const character of text) {
    position = position && following.after(position, character.codePointAt(0) ?? 0)
  }
  return position
}

test('the automata of the corpus agree with an independent matcher', () => {
  const random = seededRandom(9)
  let followed = 0
  for (const { name, schema, valid, invalid } of sampled([...keywordCases, ...pairCases, ...realCases])) {
    let grammar: CompiledGrammar
    try {
      grammar = compile({ kind: 'json', schema }, { whitespace: 'bounded' }).grammar
    } catch {
      continue
    }
    const following = createMatcher(grammar)
    const matcher = createGbnfMatcher(gbnfOf(grammar))
    const sampled = Array.from({ length: 4 }, () => matcher.sample(random))
    const written = [...valid, ...invalid].map((value) => JSON.stringify(value))
    const spoilt = sampled.map((text) => `${text.slice(0, -2)}${text.slice(-1)}x`)
    for (const text of [...sampled, ...written, ...spoilt]) {
      const half = text.slice(0, text.length >> 1).toWellFormed()
      for (const input of [text.toWellFormed(), half]) {
        const position = placeAfter(following, input)
        const told = [position !== undefined, position?.isComplete ?? false]
        assert.deepEqual(
          told,
          [matcher.begins(input), matcher.accepts(input)],
          `${name}: ${JSON.stringify(input)}`,
        )
        followed++
      }
    }
  }
  assert.ok(followed > (isWhole ? 3000 : 700))
})

test('the cache is bounded, and eviction does not change the result', () => {
  const grammar = 'root ::= "(" [^()]? root? ")"'
  const compiled = compile({ kind: 'grammar', grammar }, { whitespace: 'bounded' }).grammar
  const following = createMatcher(compiled)
  // More than the cached positions.
  const deep = isWhole ? 300_000 : 110_000
  const begun = '(é'.repeat(deep)
  assert.equal(placeAfter(following, begun)?.isComplete, false)
  const position = placeAfter(following, begun + ')'.repeat(deep - 1))
  assert.ok(position && !position.isComplete && following.canBegin(position, 0x29, 0x29))
  assert.equal(following.after(position, 0x29)?.isOver, true)
  assert.equal(following.after(position, 0x28), undefined)
  assert.equal(placeAfter(following, '(é(a))')?.isOver, true)
})

test('a character leads to the same position whether few or many alternatives are open', () => {
  const words = Array.from({ length: 40 }, (_, at) => `"${String.fromCodePoint(0xe0 + at)}" [ä-ö]{${at + 1}}`)
  for (const grammar of [`root ::= ${words.slice(0, 5).join(' | ')}`, `root ::= ${words.join(' | ')}`]) {
    const compiled = compile({ kind: 'grammar', grammar }, { whitespace: 'bounded' }).grammar
    const following = createMatcher(compiled)
    for (let round = 0; round < 2; round++) {
      assert.equal(placeAfter(following, 'âäöä')?.isOver, true)
      assert.equal(placeAfter(following, 'âää')?.isComplete, false)
      assert.equal(placeAfter(following, 'âäüä'), undefined)
      assert.equal(placeAfter(following, 'ä'.repeat(6))?.isOver, true)
    }
  }
})
