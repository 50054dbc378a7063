import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConstraintCompiler } from '../../../src/inference/grammar/compile.ts'
import { createFollowing, type Following, type Place } from '../../../src/inference/grammar/following.ts'
import { writtenGrammar } from '../../../src/inference/grammar/given-grammar.ts'
import { createGbnfMatcher } from '../../support/gbnf-matcher.ts'
import { keywordCases } from '../../support/schemas/keyword-cases.ts'
import { pairCases } from '../../support/schemas/pair-cases.ts'
import { realCases } from '../../support/schemas/real-cases.ts'
import { seededRandom } from '../../support/seeded-random.ts'

function placeAfter(following: Following, text: string): Place | undefined {
  let place: Place | undefined = following.start
  for (const character of text) {
    place = place && following.after(place, character.codePointAt(0) ?? 0)
  }
  return place
}

test('the grammars of the corpus are followed as another matcher follows them', () => {
  const compiler = createConstraintCompiler()
  const random = seededRandom(9)
  let followed = 0
  for (const { name, schema, valid, invalid } of [...keywordCases, ...pairCases, ...realCases]) {
    let gbnf: string
    try {
      gbnf = compiler.compile({ kind: 'json', schema }, { whitespace: 'bounded' }, 'x').gbnf
    } catch {
      continue
    }
    const following = createFollowing(writtenGrammar(gbnf))
    const matcher = createGbnfMatcher(gbnf)
    const sampled = Array.from({ length: 4 }, () => matcher.sample(random))
    const written = [...valid, ...invalid].map((value) => JSON.stringify(value))
    const spoilt = sampled.map((text) => `${text.slice(0, -2)}${text.slice(-1)}x`)
    for (const text of [...sampled, ...written, ...spoilt]) {
      const half = text.slice(0, text.length >> 1).toWellFormed()
      for (const one of [text.toWellFormed(), half]) {
        const place = placeAfter(following, one)
        const told = [place !== undefined, place?.isComplete ?? false]
        assert.deepEqual(told, [matcher.begins(one), matcher.accepts(one)], `${name}: ${JSON.stringify(one)}`)
        followed++
      }
    }
  }
  assert.ok(followed > 3000)
})

test('what is remembered is bounded, and forgetting it changes nothing', () => {
  const following = createFollowing(writtenGrammar('root ::= "<" [^<>]* ("<" [a-z]{0,3} ">")? ">"\n'))
  let place = placeAfter(following, '<')
  for (let read = 0; read < 900_000; read++) {
    place = place && following.after(place, 0x4e00 + ((read * 7) % 0x9fff0))
  }
  assert.equal(place?.isComplete, false)
  const end = place && following.after(place, 0x3c)
  assert.ok(end && following.canBegin(end, 0x61, 0x61) && !following.canBegin(end, 0x41, 0x41))
  assert.equal(placeAfter(following, '<é<ab>>')?.isOver, true)
  assert.equal(placeAfter(following, '<é<abcd'), undefined)
})
