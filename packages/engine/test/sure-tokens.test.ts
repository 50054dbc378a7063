import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { type GenerationParts, generationOf } from '../../../test/support/generations.ts'
import { scriptedLogits } from '../../../test/support/scripted-logits.ts'
import { smallVocabulary } from '../../../test/support/small-vocabulary.ts'
import type { ConstraintSource as Given } from '../../constraints/index.ts'
import { compile, createConstraints } from '../../constraints/index.ts'
import { createChoice, planAnswer } from '../answer/choice.ts'
import type { Generation } from '../backend.ts'

const vocabulary = smallVocabulary({
  control: ['<call>'],
  words: ['{"', '":', '":"', '","', '"}', 'na', 'name', 'me":', 'kind', ' of', 'ones', 'é', '日'],
})
const spell = (text: string) => vocabulary.tokenize(text, { special: false })
const constraints = createConstraints(vocabulary, spell)
const compiled = (given: Given, whitespace: 'none' | 'bounded' = 'none') =>
  compile(given, { whitespace }).grammar
const textOf = (tokens: readonly number[]) =>
  Buffer.concat(tokens.map((token) => vocabulary.bytes(token))).toString()
const shown = (tokens: readonly number[]) =>
  tokens.map((token) => Buffer.from(vocabulary.bytes(token)).toString())

const object = (properties: object) => ({
  kind: 'json' as const,
  schema: { type: 'object', properties, required: Object.keys(properties), additionalProperties: false },
})

test('the only possible text is split as the tokenizer splits it, up to where a token could reach beyond it', () => {
  const words = smallVocabulary({ words: ['{"', 'name', '":', '"a'] })
  const wordy = createConstraints(words, (text) => words.tokenize(text, { special: false }))
  const open = wordy.of(compiled(object({ name: { type: 'string' } }))).begin()
  assert.equal(
    Buffer.concat(open.sure().map((token) => words.bytes(token))).toString(),
    '{"name":',
    'the next token may be a quote, or a quote and a letter',
  )
  const named = constraints.of(compiled(object({ name: { const: 'kind of' } }))).begin()
  assert.deepEqual(shown(named.sure()), ['{"', 'name', '":"', 'kind', ' of', '"}'])
})

test('optional white space is not sure', () => {
  const allowance = constraints.of(compiled(object({ name: { const: 'é' } }), 'bounded')).begin()
  assert.deepEqual(allowance.sure(), [])
  allowance.accept(spell('{"')[0] as number)
  assert.deepEqual(shown(allowance.sure()), ['name'])
})

test('sure tokens remain sure while they are accepted, and are computed anew after another token', () => {
  const allowance = constraints.of(compiled({ kind: 'choice', choices: ['name of ones'] })).begin()
  const all = allowance.sure()
  assert.deepEqual(shown(all), ['name', ' of', ' ', 'ones'])
  assert.equal(allowance.sure(), all)
  allowance.accept(all[0] as number)
  assert.deepEqual(allowance.sure(), all.slice(1))
  const other = constraints.of(compiled({ kind: 'choice', choices: ['name of ones'] })).begin()
  other.accept(spell('na')[0] as number)
  assert.deepEqual(shown(other.sure()), ['m', 'e', ' of', ' ', 'ones'])
})

test('a long sure text is given in bounded parts, one after the other', () => {
  const long = Array.from({ length: 90 }, (_, at) => `${at} ones 日`).join(' of ')
  const allowance = constraints.of(compiled({ kind: 'choice', choices: [long] })).begin()
  const tokens: number[] = []
  for (let [token] = allowance.sure(); token !== undefined; [token] = allowance.sure()) {
    assert.ok(allowance.sure().length <= 128, 'each part is bounded')
    tokens.push(token)
    allowance.accept(token)
  }
  assert.equal(textOf(tokens), long)
  assert.deepEqual(tokens, spell(long))
  assert.ok(allowance.isComplete)
})

test('nothing is sure where a text may end or where the tokenizer adds something', () => {
  const two = constraints.of(compiled({ kind: 'choice', choices: ['na', 'name'] })).begin()
  assert.deepEqual(two.sure(), [])
  const spaced = createConstraints(vocabulary, (text) => spell(` ${text}`))
  assert.deepEqual(
    spaced
      .of(compiled({ kind: 'choice', choices: ['kind'] }))
      .begin()
      .sure(),
    [],
  )
  assert.deepEqual(
    createConstraints(vocabulary)
      .of(compiled({ kind: 'choice', choices: ['kind'] }))
      .begin()
      .sure(),
    [],
    'nor without a tokenizer',
  )
})

test('sure tokens are always allowed, and their text has no alternative', () => {
  const words = fc.array(fc.constantFrom('name', 'na', ' of', '日', '"', 'é', 'kind', 'x'), {
    minLength: 1,
    maxLength: 8,
  })
  const choices = fc.array(words, { minLength: 1, maxLength: 3 }).map((all) => all.map((one) => one.join('')))
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  fc.assert(
    fc.property(choices, fc.nat(), (texts, seed) => {
      const allowance = constraints.of(compiled({ kind: 'choice', choices: texts })).begin()
      let said = ''
      const accept = (token: number) => {
        assert.ok(allowance.allows(token))
        assert.ok(allowance.accept(token))
        said += hex(vocabulary.bytes(token))
      }
      while (!allowance.isOver) {
        const open = texts.map((text) => hex(Buffer.from(text))).filter((text) => text.startsWith(said))
        const sure = allowance.sure()
        sure.forEach(accept)
        if (sure.length > 0) {
          assert.ok(open.every((text) => text.startsWith(said)))
          continue
        }
        const ways = (allowance.few() ?? []).filter((token) => !vocabulary.ends.includes(token))
        accept(ways[seed % ways.length] as number)
      }
      assert.ok(texts.some((text) => hex(Buffer.from(text)) === said))
    }),
    { numRuns: 300 },
  )
})

function choiceOf(parts: GenerationParts, given: Given = { kind: 'choice', choices: ['name of ones'] }) {
  const generation: Generation = generationOf(parts)
  const constraint = constraints.of(compiled(given))
  return createChoice(planAnswer({ generation, prompt: [0], maxTokens: 30, vocabulary, constraint }), 0)
}

test('a sure token is not drawn and reads no logits, also under penalties, and it has its log-probability', async () => {
  for (const sampling of [
    {},
    { temperature: 0 },
    { topP: 0.5, repetitionPenalty: 1.3, presencePenalty: 1 },
  ]) {
    const choice = choiceOf({ sampling })
    const logits = scriptedLogits(Array.from({ length: vocabulary.size }, (_, token) => token % 7))
    const { token } = await choice.next(logits)
    assert.deepEqual([token, logits.reads], [spell('name')[0], 0])
  }
  const shows = choiceOf({ logprobs: 2 })
  const logits = scriptedLogits(Array.from({ length: vocabulary.size }, (_, token) => token % 7))
  const { token, logprob } = await shows.next(logits)
  assert.equal(token, spell('name')[0])
  assert.ok(logprob !== undefined && logprob.logprob < 0 && logprob.top.length === 2)
})

test('a request that restricts tokens has no sure tokens', () => {
  assert.equal(choiceOf({}).sure().length, 4)
  for (const parts of [
    { sampling: { allowed: Array.from({ length: 256 }, (_, token) => token) } },
    { sampling: { bias: [[110, -100] as [number, number]] } },
    { sampling: { badWords: ['name'] } },
    { ending: { minTokens: 3 } },
  ])
    assert.deepEqual(choiceOf(parts).sure(), [])
})

test('the text ahead has no optional white space, or a space after colons and commas', () => {
  const grammar = compiled(object({ kind: { const: 'of, na' }, name: { type: 'boolean' } }), 'bounded')
  const allowance = constraints.of(grammar).begin()
  assert.equal(allowance.ahead('dense', undefined), '{"kind":"of, na","name":')
  assert.equal(allowance.ahead('spaced', undefined), '{"kind": "of, na", "name": ')
  for (const token of spell('{"kind":')) allowance.accept(token)
  assert.equal(allowance.ahead('dense', 0x3a), '"of, na","name":')
  assert.equal(allowance.ahead('spaced', 0x3a), ' "of, na", "name": ')
  const none = constraints.of(compiled(object({ kind: { const: 'of' } }))).begin()
  assert.equal(none.ahead('spaced', undefined), '{"kind":"of"}', 'no space where none is allowed')
})
