import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tried } from '../../../test/support/campaign-share.ts'
import fc from '../../../test/support/fast-check.ts'
import { type GenerationParts, generationOf } from '../../../test/support/generations.ts'
import { smallVocabulary } from '../../../test/support/small-vocabulary.ts'
import type { ConstraintSource } from '../../constraints/index.ts'
import { compile } from '../../constraints/index.ts'
import type { Generation, GenerationEvent } from '../backend.ts'
import { createDraftLength } from '../loop/drafts/draft-length.ts'
import { createPredicted } from '../loop/drafts/predicted.ts'
import { createPromptLookup } from '../loop/drafts/prompt-lookup.ts'
import { createLoop } from '../loop/loop.ts'
import { usualKvTypes } from '../models/kv-types.ts'
import { type SimulatedContextOptions, simulatedContext } from './simulated-context.ts'

const vocabulary = smallVocabulary()

const grammarOf = (constraint: ConstraintSource) => ({
  grammar: compile(constraint, { whitespace: 'bounded' }).grammar,
  field: 'response_format',
})

const schema = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 12 },
    arguments: { type: 'object', properties: { kind: { const: 'one and only' } }, required: ['kind'] },
  },
  required: ['name', 'arguments'],
  additionalProperties: false,
}

const constraints = {
  free: undefined,
  schema: grammarOf({ kind: 'json', schema }),
  regex: grammarOf({ kind: 'regex', regex: '(the same again, é, ){2,6}[a-c]{1,8} the end' }),
  choice: grammarOf({ kind: 'choice', choices: ['the first of them', 'the second of them'] }),
}

interface Case {
  generations: Generation[]
  /** For each client, after how many tokens it leaves; undefined when it stays. */
  leaves: (number | undefined)[]
}

interface Played extends Partial<SimulatedContextOptions> {
  drafts: boolean
  batch?: number
}

/** What each client has seen. Events of a choice that may be grouped differently are joined. */
async function played({ generations, leaves }: Case, { drafts, batch = 64, ...others }: Played) {
  const options = { parallel: 3, context: others.context ?? 256, batch }
  const context = simulatedContext({
    vocabulary: vocabulary.size,
    sequences: options.parallel,
    context: options.context,
    ...others,
  })
  const seen = generations.map((): GenerationEvent[] => [])
  const left = generations.map(() => false)
  const open = new Set(generations.keys())
  const refused: unknown[] = []
  const { promise: done, resolve } = Promise.withResolvers<void>()
  const close = (id: number) => {
    open.delete(id)
    if (open.size === 0) resolve()
  }
  const loop = createLoop(
    { vocabulary, tokenize: (text, { special }) => vocabulary.tokenize(text, { special }) },
    context,
    {
      ...options,
      file: '',
      threads: 1,
      gpu: false,
      gpuLayers: 0,
      queue: 16,
      task: 'answers',
      drafts,
      promptCache: 0,
      adapters: [],
      kv: usualKvTypes,
      flashAttention: 'auto',
    },
    {
      happened(events) {
        for (const [id, event] of events) if (!left[id]) seen[id]?.push(event)
        for (const [id, generation] of generations.entries()) {
          const own = seen[id] ?? []
          const most = leaves[id]
          if (!left[id] && most !== undefined && tokensOf(own).length >= most) {
            left[id] = true
            loop.leave(id)
            close(id)
          }
          if (own.filter(({ kind }) => kind === 'finished').length === generation.choices) close(id)
        }
      },
      refused(id, reason) {
        refused[id] = reason
        close(id)
      },
    },
  )
  for (const [id, generation] of generations.entries()) {
    try {
      loop.add(id, generation)
    } catch (error) {
      refused[id] = error
      close(id)
    }
  }
  const running = loop.run()
  await Promise.race([done, running])
  loop.stop()
  await running
  return { seen: seen.map((events, id) => (left[id] ? events : wholeOf(events))), refused, left }
}

function tokensOf(events: readonly GenerationEvent[]): number[] {
  return events.flatMap((event) => (event.kind === 'tokens' ? event.tokens : []))
}

/** The events of each choice: what it wrote, its counts and how it ended. */
function wholeOf(events: readonly GenerationEvent[]) {
  const choices = new Map<number, object[]>()
  for (const event of events) {
    if (event.kind === 'prefilled') continue
    const { drafted, ...said } = { drafted: undefined, ...event }
    choices.set(event.choice, [...(choices.get(event.choice) ?? []), said])
  }
  return [...choices].sort(([one], [other]) => one - other)
}

const samplings: GenerationParts['sampling'][] = [
  { temperature: 0 },
  { temperature: 1 },
  { temperature: 0.7, topP: 0.8, repetitionPenalty: 1.1 },
  { temperature: 1.2, topK: 12, frequencyPenalty: 0.4 },
  { temperature: 0.9, minP: 0.05, badWords: ['name'] },
  { temperature: 0, bias: [[65, 2]] },
]

const endings: GenerationParts['ending'][] = [
  { maxTokens: 40, ignoreEos: true },
  { maxTokens: 120 },
  { maxTokens: 60, stop: ['e', ' the'], minTokens: 8 },
  { maxTokens: 90, repetition: { minPattern: 1, maxPattern: 8, count: 3 } },
  { maxTokens: 25, stopTokens: [101, 97] },
]

const prompts = [
  'the tool_call name ',
  'one two one two one two ',
  '{"name": "é"} {"name": "',
  'a',
  'xyz'.repeat(30),
]

const generation = fc
  .record({
    prompt: fc.constantFrom(...prompts),
    sampling: fc.constantFrom(...samplings),
    ending: fc.constantFrom(...endings),
    seed: fc.nat(1000),
    choices: fc.constantFrom(1, 1, 1, 2),
    logprobs: fc.constantFrom(undefined, undefined, 0, 3),
    promptLogprobs: fc.constantFrom(undefined, undefined, undefined, 1),
    constraint: fc.constantFrom(...Object.keys(constraints)),
    tenant: fc.constantFrom('a', 'b'),
    salt: fc.constantFrom(undefined, 'one'),
    prediction: fc.constantFrom(undefined, undefined, 'one two one two name', prompts[4]),
  })
  .map(({ prompt, sampling, seed, constraint, ending, ...others }) => {
    const given = constraints[constraint as keyof typeof constraints]
    const defined = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined))
    return generationOf({
      prompt: { text: prompt, special: false, add: false },
      sampling: { ...sampling, seed: BigInt(seed) },
      ending: { ...ending, ...(given && { ignoreEos: false }) },
      ...(given && { constraint: given }),
      ...defined,
    })
  })

const cases = fc
  .array(fc.record({ generation, leave: fc.constantFrom(undefined, undefined, undefined, 3, 17) }), {
    minLength: 1,
    maxLength: 5,
  })
  .map(
    (all): Case => ({
      generations: all.map((one) => one.generation),
      leaves: all.map((one) => one.leave),
    }),
  )

test('guesses change no token, log-probability, end or text, whatever else is decoded', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (given) => {
      const [without, guessed] = await Promise.all([
        played(given, { drafts: false, hasPlainAttention: false }),
        played(given, { drafts: true, hasPlainAttention: false }),
      ])
      for (const [id, reason] of without.refused.entries())
        if (!without.left[id] && !guessed.left[id]) assert.equal(String(guessed.refused[id]), String(reason))
      for (const [id, events] of without.seen.entries()) {
        const other = guessed.seen[id] ?? []
        // What a refused client saw of its other choices depends on the batch.
        if (without.refused[id] !== undefined) continue
        if (without.left[id] || guessed.left[id]) {
          // How much a client saw before it left depends on how tokens are grouped.
          const [one, two] = [tokensOf(events as GenerationEvent[]), tokensOf(other as GenerationEvent[])]
          if (!without.left[id] || !guessed.left[id] || (given.generations[id]?.choices ?? 1) > 1) continue
          const length = Math.min(one.length, two.length)
          assert.deepEqual(two.slice(0, length), one.slice(0, length))
        } else assert.deepEqual(other, events)
      }
    }),
    tried({ share: 10, whole: 40 }),
  )
})

test('an answer that copies from its prompt needs fewer batches', async () => {
  const text = Array.from({ length: 40 }, (_, i) => `${(i * 7919) % 97}`).join(' ')
  const generation = generationOf({
    prompt: { text: `${text} | ${text.slice(0, 12)}`, special: false, add: false },
    sampling: { temperature: 0 },
    ending: { maxTokens: 60, ignoreEos: true },
  })
  const batches = { true: 0, false: 0 }
  for (const drafts of [true, false]) {
    const decoded = () => batches[`${drafts}`]++
    // A batch is long enough that other work of the processor hardly changes its time.
    await played(
      { generations: [generation], leaves: [undefined] },
      { drafts, hasPlainAttention: false, follows: 6, batchMs: 20, decoded },
    )
  }
  assert.ok(2 * batches.true < batches.false, `${batches.true} batches instead of ${batches.false}`)
})

test('the only text that a constraint allows is read at once, and needs no logits in between', async () => {
  const text = 'the same again and again, é: '.repeat(4)
  for (const logprobs of [undefined, 2]) {
    const generation = generationOf({
      prompt: { text: 'say it', special: false, add: false },
      sampling: { temperature: 1, seed: 3n },
      constraint: grammarOf({ kind: 'regex', regex: `${text}[ab]` }),
      ...(logprobs !== undefined && { logprobs }),
    })
    const rows: number[] = []
    let wanted = 0
    const { seen } = await played(
      { generations: [generation], leaves: [undefined] },
      {
        drafts: true,
        hasPlainAttention: false,
        decoded: ([all = 0]) => rows.push(all),
        asked: () => wanted++,
      },
    )
    const tokens = tokensOf((seen as [number, GenerationEvent[]][][]).flat().flatMap(([, said]) => said))
    const [, ...written] = rows
    if (logprobs === undefined) {
      assert.ok(written.length < 6, `${tokens.length} tokens in ${written.length} batches`)
      assert.ok(wanted <= written.length + 2, `${wanted} rows of logits`)
    } else assert.ok(written.length < tokens.length / 2, `${tokens.length} in ${written.length} batches`)
  }
})

test('a predicted answer needs fewer batches and is the same', async () => {
  const digits = Array.from('0123456789', (digit) => digit.charCodeAt(0))
  const asked = (prediction?: string) =>
    generationOf({
      prompt: { text: 'say it', special: false, add: false },
      sampling: { temperature: 1, seed: 5n, allowed: digits },
      ending: { maxTokens: 60, ignoreEos: true },
      ...(prediction !== undefined && { prediction }),
    })
  const ask = async (generation: Generation) => {
    let batches = 0
    const { seen } = await played(
      { generations: [generation], leaves: [undefined] },
      { drafts: true, hasPlainAttention: false, follows: 0, batchMs: 2, decoded: () => batches++ },
    )
    const events = seen.flatMap((choices) =>
      (choices as [number, GenerationEvent[]][]).flatMap(([, said]) => said),
    )
    const text = events.map((event) => (event.kind === 'tokens' ? event.text : '')).join('')
    return { batches, text, finished: events.find((event) => event.kind === 'finished') }
  }
  const free = await ask(asked())
  const foretold = await ask(asked(`${free.text}0`))
  assert.equal(foretold.text, free.text)
  assert.deepEqual(foretold.finished?.prediction, { accepted: 60, rejected: 1 })
  assert.ok(foretold.batches < free.batches, `${foretold.batches} batches instead of ${free.batches}`)
  const misled = await ask(asked('not a digit in it'))
  assert.equal(misled.text, free.text)
  assert.deepEqual(misled.finished?.prediction?.accepted, 0)
  assert.equal(free.finished?.prediction, undefined)
})

test('a model reads row by row if guesses would change its digits or cannot be forgotten', async () => {
  const generations = [0, 1, 2].map((seed) =>
    generationOf({
      prompt: { text: `one two one two ${seed}`, special: false, add: false },
      sampling: { temperature: 0.8, seed: BigInt(seed) },
      ending: { maxTokens: 50, ignoreEos: true },
    }),
  )
  const given = { generations, leaves: generations.map(() => undefined) }
  for (const how of [{ hasPlainAttention: true }, { hasPlainAttention: false, canForget: false }]) {
    const rows: number[][] = []
    await played(given, { drafts: true, ...how, decoded: (batch) => rows.push(batch) })
    assert.ok(rows.slice(-20).every((batch) => batch.every((count) => count === 1)))
  }
})

test('a beam search is the same next to answers with guesses', async () => {
  const beam = generationOf({
    prompt: { text: 'one two one two ', special: false, add: false },
    choices: 2,
    beam: { lengthPenalty: 1 },
    ending: { maxTokens: 24 },
  })
  const free = generationOf({
    prompt: { text: 'one two one two ', special: false, add: false },
    sampling: { temperature: 0 },
    ending: { maxTokens: 40, ignoreEos: true },
  })
  const both = { generations: [beam, free], leaves: [undefined, undefined] }
  const ways = []
  for (const hasPlainAttention of [true, false])
    for (const drafts of [true, false]) ways.push(await played(both, { drafts, hasPlainAttention }))
  for (const way of ways) {
    assert.deepEqual(way.refused, [])
    assert.deepEqual(way.seen, ways[0]?.seen)
  }
})

test('the text that followed last time is guessed until it is wrong', () => {
  const answer: number[] = []
  const copied = createPromptLookup([1, 2, 3, 4, 5, 6, 7, 8, 1, 2], answer)
  const heard: [number, boolean][] = []
  const follow = () => copied.follow((matched, wasRight) => heard.push([matched, wasRight]))
  follow()
  assert.equal(copied.matched, 2)
  assert.deepEqual(copied.ahead(3), [3, 4, 5])
  assert.deepEqual(
    copied.ahead(12).slice(0, 10),
    [3, 4, 5, 6, 7, 8, 1, 2, 3, 4],
    'it continues into its own guesses',
  )
  answer.push(3, 4)
  follow()
  assert.equal(copied.matched, 4)
  answer.push(9)
  follow()
  assert.equal(copied.matched, 0)
  assert.deepEqual(copied.ahead(4), [])
  assert.deepEqual(heard, [
    [2, true],
    [3, true],
    [4, false],
  ])
})

test('of several earlier positions, the one with the longest match is followed, and of equal ones the latest', () => {
  const copied = createPromptLookup([5, 1, 2, 3, 9, 1, 2, 4, 5, 1, 2], [])
  copied.follow(() => {})
  assert.deepEqual([copied.matched, copied.ahead(1)], [3, [3]])
  const latest = createPromptLookup([7, 1, 2, 3, 8, 1, 2, 4, 9, 1, 2], [])
  latest.follow(() => {})
  assert.deepEqual([latest.matched, latest.ahead(1)], [2, [4]])
})

test('a predicted text is followed from its beginning, and again after a difference', () => {
  const answer: number[] = []
  const chances = [0.5, 0.5, 0.5, 0.5]
  const predicted = createPredicted([1, 2, 3, 4, 5, 6, 7, 8], answer, chances)
  const say = (...tokens: number[]) => {
    for (const token of tokens) {
      answer.push(token)
      predicted.follow()
    }
  }
  assert.deepEqual(predicted.ahead(3), [1, 2, 3])
  say(1, 2)
  assert.deepEqual(predicted.ahead(9), [3, 4, 5, 6, 7, 8])
  say(9)
  assert.deepEqual([predicted.chance, predicted.ahead(3)], [0, []])
  say(5)
  assert.equal(predicted.chance, 0, 'one equal token is not enough')
  say(6)
  assert.deepEqual(predicted.ahead(9), [7, 8])
  say(7, 8)
  assert.deepEqual([predicted.chance, predicted.ahead(3)], [0, []], 'nothing follows its end')
  assert.deepEqual(predicted.counts, { accepted: 4, rejected: 4 })
  say(1, 2, 3)
  assert.deepEqual(predicted.ahead(2), [4, 5], 'it may go back')
  say(4)
  assert.deepEqual(predicted.counts, { accepted: 6, rejected: 2 }, 'a part that came twice counts once')
  assert.notDeepEqual(chances, [0.5, 0.5, 0.5, 0.5])
})

test('the longest match is followed, and of equal ones the nearest', () => {
  const text = [5, 6, 1, 0, 5, 6, 2, 0, 9, 5, 6, 3]
  const after = (answer: number[]) => {
    const said: number[] = []
    const predicted = createPredicted(text, said, [0.5, 0.5, 0.5, 0.5])
    for (const token of answer) {
      said.push(token)
      predicted.follow()
    }
    return predicted.ahead(1)
  }
  assert.deepEqual(after([8, 5, 6]), [1])
  assert.deepEqual(after([5, 6, 1, 8, 5, 6]), [2])
  assert.deepEqual(after([8, 9, 5, 6]), [3])
  assert.deepEqual(after([]), [5])
})

test('no more tokens of a prediction are accepted than were predicted or written', () => {
  const few = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 40 })
  fc.assert(
    fc.property(few, few, (text, answer) => {
      const said: number[] = []
      const predicted = createPredicted(text, said, [0.5, 0.5, 0.5, 0.5])
      let right = 0
      for (const token of answer) {
        if (predicted.ahead(1)[0] === token) right++
        said.push(token)
        predicted.follow()
      }
      const { accepted, rejected } = predicted.counts
      assert.equal(accepted + rejected, text.length)
      assert.ok(accepted <= right && accepted <= answer.length)
      assert.deepEqual(createPredictedOf(answer, answer), { accepted: answer.length, rejected: 0 })
    }),
  )
})

function createPredictedOf(text: readonly number[], answer: readonly number[]) {
  const said: number[] = []
  const predicted = createPredicted(text, said, [0.5, 0.5, 0.5, 0.5])
  for (const token of answer) {
    said.push(token)
    predicted.follow()
  }
  return predicted.counts
}

test('as many tokens are guessed as pay off, and none where rows are expensive or guesses are bad', () => {
  const cheap = createDraftLength()
  for (const rows of [1, 2, 3, 5, 9, 17]) cheap.decoded(1, rows, 1 + rows / 50)
  assert.equal(cheap.choose([0.99], 16), 16)
  assert.equal(cheap.choose([0], 16), 0)
  assert.equal(cheap.choose([0.01], 16), 0)
  assert.ok(cheap.choose([0.5], 16) < 16)
  const dear = createDraftLength()
  for (const rows of [1, 2, 3, 5, 9, 17]) dear.decoded(1, rows, rows)
  assert.equal(dear.choose([0.9], 16), 0)
  assert.equal(dear.choose([], 16), 0)
})

test('one attempt shows the cost of the other lengths, and a prompt the cost of the first', () => {
  const tried = (rowMs: number | undefined) => {
    const lengths = createDraftLength(() => rowMs)
    lengths.decoded(4, 1, 20)
    const used = new Set<number>()
    for (let batch = 0; batch < 100; batch++) {
      const length = lengths.choose([0.5, 0.5, 0.5, 0.5], 16)
      used.add(length)
      lengths.decoded(4, length + 1, length === 0 ? 20 : 60 + 4 * length)
    }
    used.delete(0)
    return used.size
  }
  assert.equal(tried(undefined), 1)
  assert.equal(tried(1.2), 1)
  assert.equal(tried(5), 0)
})

test('an expensive length is tried again now and then, but seldom', () => {
  const lengths = createDraftLength()
  for (const rows of [1, 2, 3, 5, 9, 17]) lengths.decoded(1, rows, rows)
  let tried = 0
  const batches = 5000
  for (let batch = 0; batch < batches; batch++) {
    const length = lengths.choose([0.6], 16)
    if (length > 0) tried++
    lengths.decoded(1, length + 1, length + 1)
  }
  assert.ok(tried > 0 && tried < batches / 50, `${tried} of ${batches} batches`)
})
