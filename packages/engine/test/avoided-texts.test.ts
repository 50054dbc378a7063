import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { generationOf } from '../../../test/support/generations.ts'
import { scriptedLogits } from '../../../test/support/scripted-logits.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { smallVocabulary } from '../../../test/support/small-vocabulary.ts'
import type { ConstraintSource as Given } from '../../constraints/index.ts'
import { compile, createConstraints, isInMask } from '../../constraints/index.ts'
import { checkFirstToken, createChoice, planAnswer } from '../answer/choice.ts'
import { createBadWords } from '../sampling/bad-words.ts'

/** What banned words leave of a constraint is found before a token that could only end in one of them. */

const vocabulary = smallVocabulary({
  words: ['ab', 'ba', 'aa', 'bb', 'abc', 'ye', 'es', 'no', '":', '{"', '"}', 'é'],
})
const constraints = createConstraints(vocabulary)
const shown = { skipSpecial: true, spaceSpecial: true, isSilent: (token: number) => token === vocabulary.eos }

function allowanceOf(given: Given, words: readonly string[]) {
  const { grammar } = compile(given, { whitespace: 'none' })
  const badWords = createBadWords(words, vocabulary, shown) ?? assert.fail()
  const allowance = constraints.of(grammar).avoiding(badWords).begin()
  let state = 0
  return {
    rule: badWords.rule(() => state, allowance),
    allowance,
    accept(token: number): boolean {
      state = badWords.after(state, token) ?? assert.fail('a banned text was written')
      return allowance.accept(token)
    },
  }
}

const every = Array.from({ length: vocabulary.size }, (_, token) => token)

/** Answers that are drawn at random from what is allowed; undefined if there is no first token. */
function answersOf(
  given: Given,
  words: readonly string[],
  count: number,
  seed: number,
): Set<string> | undefined {
  const random = seededRandom(seed)
  const answers = new Set<string>()
  for (let answer = 0; answer < count; answer++) {
    const { rule, allowance, accept } = allowanceOf(given, words)
    const written: Uint8Array[] = []
    for (let step = 0; step < 80 && !allowance.isOver; step++) {
      const allowed = every.filter((token) => rule.allows(token))
      const mask = rule.mask()
      assert.deepEqual(
        every.filter((token) => isInMask(mask, token)),
        allowed,
        'the mask and the single tokens agree',
      )
      const few = rule.few()
      if (few !== undefined)
        assert.deepEqual(
          [...few].sort((one, other) => one - other),
          allowed,
        )
      if (allowed.length === 0) {
        assert.equal(step, 0, `a dead end after ${JSON.stringify(Buffer.concat(written).toString())}`)
        return undefined
      }
      const token = allowed[Math.floor(random() * allowed.length)] as number
      if (!accept(token)) break
      written.push(vocabulary.bytes(token))
    }
    answers.add(Buffer.concat(written).toString())
  }
  return answers
}

const isFree = (text: string, words: readonly string[]) => words.every((word) => !text.includes(word))
const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é'), minLength: 1, maxLength: 5 })
const bans = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é'), minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 3,
})

/** All texts of these letters, up to a length. */
function textsUpTo(length: number): string[] {
  let level = ['']
  const all = ['']
  for (let at = 0; at < length; at++) {
    level = level.flatMap((text) => ['a', 'b', 'c', 'é'].map((letter) => text + letter))
    all.push(...level)
  }
  return all
}

describe('bad_words and a constraint', () => {
  it('a choice that is not banned is written', () => {
    const yesOrNo = { kind: 'choice', choices: ['yes', 'no'] } as const
    assert.deepEqual(answersOf(yesOrNo, ['yes'], 5, 1), new Set(['no']))
    assert.deepEqual(answersOf(yesOrNo, ['s'], 5, 1), new Set(['no']))
    assert.equal(answersOf(yesOrNo, ['es', 'no'], 5, 1), undefined)
    assert.deepEqual(answersOf({ kind: 'choice', choices: ['é', 'e'] }, ['é'], 5, 1), new Set(['e']))
  })

  it('an answer ends where nothing but a banned word could follow', () => {
    const { allowance, accept } = allowanceOf({ kind: 'choice', choices: ['a', 'acc', 'ab'] }, ['b', 'cc'])
    assert.equal(allowance.isOver, false)
    accept(97)
    assert.equal(allowance.isOver, true)
  })

  it('random choices: exactly those without a banned word', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(letters, { minLength: 1, maxLength: 6 }),
        bans,
        fc.integer(),
        (choices, words, seed) => {
          const left = choices.filter((choice) => isFree(choice, words))
          const answers = answersOf({ kind: 'choice', choices }, words, 6, seed)
          assert.equal(answers === undefined, left.length === 0)
          for (const answer of answers ?? []) assert.ok(left.includes(answer), answer)
        },
      ),
      { numRuns: 120, seed: 31, endOnFailure: true },
    )
  })

  it('random regular expressions: possible if a text without a banned word matches', () => {
    const part = fc.oneof(letters, fc.constantFrom('[ab]', '[^a]', '(a|bc)', 'c?', 'a{2,3}', '(ab|é)', '.'))
    const texts = textsUpTo(6)
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 3 }),
        bans,
        fc.integer(),
        (parts, words, seed) => {
          const regex = parts.join('')
          const whole = new RegExp(`^(?:${regex})$`, 'u')
          const answers = answersOf({ kind: 'regex', regex }, words, 3, seed)
          for (const answer of answers ?? []) {
            assert.match(answer, whole)
            assert.ok(isFree(answer, words), answer)
          }
          if (texts.some((text) => whole.test(text) && isFree(text, words)))
            assert.ok(answers !== undefined, regex)
        },
      ),
      { numRuns: 100, seed: 31, endOnFailure: true },
    )
  })

  it('an enum in a schema, and names of members', () => {
    const schema = {
      type: 'object',
      properties: {
        kind: { enum: ['yes', 'no', 'both'] },
        size: { type: 'integer', maximum: 9, minimum: 0 },
      },
      required: ['kind'],
      additionalProperties: false,
    }
    for (const answer of answersOf({ kind: 'json', schema }, ['yes', 'bo', 'si'], 8, 2) ?? assert.fail()) {
      assert.equal(answer, '{"kind":"no"}')
    }
    assert.equal(answersOf({ kind: 'json', schema }, ['ki'], 1, 2), undefined)
  })

  it('a recursive grammar', () => {
    const grammar = 'root ::= "a" root "b" | "c" | "d"'
    for (const answer of answersOf({ kind: 'grammar', grammar }, ['c', 'aaa'], 8, 3) ?? assert.fail()) {
      assert.ok(['d', 'adb', 'aadbb'].includes(answer), answer)
    }
    // All texts end in the banned letter, so every path is a dead end; how deep they go has no bound.
    const endless = 'root ::= "a" root "b" | "c"'
    const { rule } = allowanceOf({ kind: 'grammar', grammar: endless }, ['c'])
    assert.deepEqual(
      every.filter((token) => rule.allows(token)).length > 0,
      true,
      'it is not searched without end',
    )
  })

  it('the likeliest answer is drawn among those that are left', async () => {
    const choices = { kind: 'choice', choices: ['yes', 'no'] } as const
    const { grammar } = compile(choices, { whitespace: 'none' })
    const generation = generationOf({
      sampling: { badWords: ['yes'], temperature: 0 },
      constraint: { grammar, field: 'structured_outputs.choice' },
    })
    const constraint = constraints.of(grammar)
    const choice = createChoice(
      planAnswer({ generation, prompt: [0], maxTokens: 9, vocabulary, constraint }),
      0,
    )
    let text = ''
    for (let isOver = false; !isOver; ) {
      const drawn = await choice.next(
        scriptedLogits(every.map((token) => ('yes'.includes(String.fromCharCode(token)) ? 9 : 0))),
      )
      const { tokens, finished } = choice.accept(drawn)
      text += tokens.text
      isOver = finished !== undefined
    }
    assert.equal(text, 'no')
  })

  it('nothing that is left is refused before the first token, with the names of both', () => {
    const { grammar } = compile({ kind: 'choice', choices: ['yes', 'noyes'] }, { whitespace: 'none' })
    const generation = generationOf({
      sampling: { badWords: ['yes'] },
      constraint: { grammar, field: 'structured_outputs.choice' },
    })
    const constraint = constraints.of(grammar)
    const plan = planAnswer({ generation, prompt: [0], maxTokens: 9, vocabulary, constraint })
    assert.throws(() => checkFirstToken(plan), {
      code: 'no_token_possible',
      message: /"structured_outputs\.choice, bad_words","tokens":0/,
    })
  })
})
