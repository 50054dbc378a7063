import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { type GenerationParts, generationOf } from '../../../test/support/generations.ts'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { createBeams } from '../answer/beam.ts'
import { planAnswer } from '../answer/choice.ts'
import type { GenerationEvent } from '../backend.ts'
import { createRandom } from '../sampling/random.ts'

const vocabulary = listedVocabulary({ tokens: ['a', 'b', 'c', 'd', '</s>', 'e'], eos: 4 })
const eos = 4

type Model = (tokens: number[]) => number[]

/** Searches like an engine that has only one sequence of tokens for each slot. */
function search(model: Model, maxTokens: number, parts: GenerationParts, prompt = [0]) {
  const generation = generationOf({ beam: { lengthPenalty: 1 }, ...parts })
  const beams = createBeams(planAnswer({ generation, prompt, maxTokens, vocabulary }))
  const slots: (number[] | undefined)[] = Array.from({ length: generation.choices })
  slots[0] = prompt
  let steps = 0
  const read = (slot: number) => beams.continuations(slot, Float32Array.from(model(slots[slot] ?? [])))
  let moves = beams.advance([read(0)])
  while (moves.length > 0) {
    steps++
    for (const { slot, from } of moves) if (slot !== from) slots[slot] = slots[from]?.slice()
    for (const { slot, token } of moves) slots[slot] = [...(slots[slot] ?? []), token]
    const live = moves.map(({ slot }) => slot)
    assert.equal(new Set(live).size, live.length)
    assert.ok(Math.max(...live) < generation.choices)
    moves = beams.advance(live.map(read))
  }
  return { events: beams.events(), steps }
}

/** The text, the tokens and the end of each choice. */
function answersOf(events: GenerationEvent[]): unknown[] {
  return events.flatMap((event, i) => {
    const before = events[i - 1]
    if (event.kind !== 'finished' || before?.kind !== 'tokens') return []
    return [[before.text, before.tokens, event.reason, event.stop]]
  })
}

/** Logits with these probabilities of a, b, c, d, </s> and e. */
function likely(...probabilities: number[]): number[] {
  return Array.from({ length: 6 }, (_, i) => Math.log(probabilities[i] ?? 0))
}

test('an answer with a less likely beginning may be the likeliest at the end', () => {
  // a has 0.6 and then at most 0.4; b has 0.4 and then c with 1. So bc has 0.4, and aa 0.24.
  const model: Model = (tokens) =>
    tokens.length === 1
      ? likely(0.6, 0.4)
      : tokens.at(-1) === 1
        ? likely(0, 0, 1)
        : likely(0.4, 0.2, 0.2, 0.2)
  const { events } = search(model, 2, { choices: 2 })
  assert.deepEqual(answersOf(events), [
    ['bc', [1, 2], 'length', null],
    ['aa', [0, 0], 'length', null],
  ])
})

test('an answer that has ended is compared with those that continue', () => {
  // </s> at once has 0.3; otherwise a has 0.5 at each step.
  const model: Model = (tokens) =>
    tokens.length === 1 ? likely(0.5, 0.1, 0, 0, 0.3) : likely(0.5, 0.1, 0.1, 0.1, 0.2)
  const ended = ['', [eos], 'stop', eos]
  const { events } = search(model, 3, { choices: 2, beam: { lengthPenalty: 0 } })
  assert.deepEqual(answersOf(events), [ended, ['aaa', [0, 0, 0], 'length', null]])
  const { events: long } = search(model, 3, { choices: 2, beam: { lengthPenalty: 2 } })
  assert.deepEqual(answersOf(long)[0], ['aaa', [0, 0, 0], 'length', null])
})

test('the end of text can be ignored, and it does not come before the minimum length', () => {
  const model: Model = () => likely(0.3, 0.1, 0, 0, 0.6)
  const ignoring = search(model, 2, { choices: 1, ending: { ignoreEos: true } })
  assert.deepEqual(answersOf(ignoring.events), [['', [eos, eos], 'length', null]])
  const later = search(model, 4, { choices: 1, ending: { minTokens: 2 }, beam: { lengthPenalty: 0 } })
  assert.deepEqual(answersOf(later.events), [['aa', [0, 0, eos], 'stop', eos]])
})

test('a search ends when no better answer is possible', () => {
  const model: Model = () => likely(0.02, 0.01, 0.01, 0.01, 0.95)
  const { events, steps } = search(model, 1000, { choices: 1, beam: { lengthPenalty: 0 } })
  assert.deepEqual(answersOf(events), [['', [eos], 'stop', eos]])
  assert.equal(steps, 0)
})

test('the temperature changes the ranking, while log-probabilities remain those of the model', () => {
  const model: Model = () => likely(0.8, 0.1, 0.1)
  const { events } = search(model, 1, { choices: 2, logprobs: 1, sampling: { temperature: 0.5 } })
  const [first, , second] = events
  assert.ok(first?.kind === 'tokens' && second?.kind === 'tokens')
  assert.deepEqual(
    first.logprobs?.map(({ token, top }) => [token, top.map((likeliest) => likeliest.token)]),
    [[0, [0]]],
  )
  assert.ok(Math.abs((first.logprobs?.[0]?.logprob ?? 0) - Math.log(0.8)) < 1e-6)
  assert.ok(Math.abs((second.logprobs?.[0]?.logprob ?? 0) - Math.log(0.1)) < 1e-6)
})

test('a request for more answers than exist is refused with the field', () => {
  assert.throws(() => search(() => likely(1), 1, { choices: 3 }), {
    name: 'EngineError',
    code: 'invalid_value',
    message: /"n","received":"3","accepted":"at most 1,/,
  })
})

interface Hypothesis {
  tokens: number[]
  score: number
  end: unknown[]
}

/** By the definition: every step in full, up to the last one. */
function naive(model: Model, maxTokens: number, width: number, lengthPenalty: number): unknown[] {
  const prompt = [0]
  const rank = ({ tokens, score }: Hypothesis) =>
    score / (prompt.length + tokens.length - (tokens.at(-1) === eos ? 1 : 0)) ** lengthPenalty
  let live: Hypothesis[] = [{ tokens: [], score: 0, end: [] }]
  const done: Hypothesis[] = []
  for (let step = 0; step < maxTokens; step++) {
    const next: Hypothesis[] = []
    for (const { tokens, score } of live) {
      const logits = model([...prompt, ...tokens]).map(Math.fround)
      const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0))
      const best = [...logits.keys()].sort((x, y) => (logits[y] ?? 0) - (logits[x] ?? 0)).slice(0, 2 * width)
      for (const token of best) {
        const grown = { tokens: [...tokens, token], score: score + (logits[token] ?? 0) - total }
        if (token === eos) done.push({ ...grown, end: ['stop', eos] })
        else next.push({ ...grown, end: ['length', null] })
      }
    }
    live = next.sort((x, y) => y.score - x.score).slice(0, width)
  }
  return [...done, ...live]
    .sort((x, y) => rank(y) - rank(x))
    .slice(0, width)
    .map(({ tokens, end }) => [tokens, ...end])
}

test('the search finds the answers of the definition, also when it ends early', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e9 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 6 }),
      fc.constantFrom(1, 0, 0.5, 2, -1),
      fc.constantFrom(1, 6),
      (seed, choices, maxTokens, lengthPenalty, sharpness) => {
        const model: Model = (tokens) => {
          const random = createRandom(
            tokens.reduce((hash, token) => hash * 31n + BigInt(token) + 7n, BigInt(seed)),
          )
          return Array.from({ length: 6 }, () => sharpness * random())
        }
        const expected = naive(model, maxTokens, choices, lengthPenalty)
        fc.pre(expected.length === choices)
        const { events } = search(model, maxTokens, { choices, beam: { lengthPenalty } })
        assert.deepEqual(
          answersOf(events).map((answer) => (answer as unknown[]).slice(1)),
          expected,
        )
      },
    ),
    { numRuns: 500 },
  )
})

test('each beam uses only allowed tokens and avoids banned words in its own text', () => {
  const model: Model = () => likely(0.4, 0.3, 0.2, 0.1)
  const among = (sampling: GenerationParts['sampling']) =>
    search(model, 2, { choices: 2, sampling: sampling ?? {} })
  const texts = (sampling: GenerationParts['sampling']) =>
    answersOf(among(sampling).events).map((answer) => (answer as unknown[])[0])
  assert.deepEqual(texts({}), ['aa', 'ab'])
  assert.deepEqual(texts({ allowed: [2, 3] }), ['cc', 'cd'])
  assert.deepEqual(texts({ badWords: ['aa'] }), ['ab', 'ba'])
  assert.deepEqual(texts({ badWords: ['a', 'bb'] }), ['bc', 'cb'])
})

test('a search without possible tokens is refused with the fields that exclude them', () => {
  const model: Model = () => likely(0.4, 0.3, 0.2, 0.1)
  const sampling = { allowed: [0], badWords: ['aa'] }
  assert.throws(() => search(model, 2, { choices: 1, sampling }), {
    code: 'no_token_possible',
    message: /"allowed_token_ids, bad_words","tokens":[12]\}/,
  })
})
