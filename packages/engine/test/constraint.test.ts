import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tried } from '../../../test/support/campaign-share.ts'
import fc from '../../../test/support/fast-check.ts'
import { gbnfOf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { type GenerationParts, generationOf } from '../../../test/support/generations.ts'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { naiveDraw } from '../../../test/support/naive-sampling.ts'
import { scriptedLogits } from '../../../test/support/scripted-logits.ts'
import {
  type Allowance,
  type CompiledGrammar,
  choiceGrammar,
  createConstraints,
  createMasks,
  isInMask,
  packGrammar,
  regexGrammar,
} from '../../constraints/index.ts'
import { createChoice, planAnswer } from '../answer/choice.ts'
import { plainSampling, type Sampling } from '../backend.ts'
import { createAdjustments, planAdjustments } from '../sampling/adjustments.ts'
import { createConstrainedSampler } from '../sampling/constrained-sampler.ts'
import { createRandom } from '../sampling/random.ts'
import { createSampler } from '../sampling/sampler.ts'

const letters = [
  'a',
  'b',
  'ab',
  'ba',
  'abc',
  'c',
  '1',
  '12',
  '2',
  ' ',
  '"',
  'é',
  'éa',
  '<pad>',
  '</s>',
  '<end>',
  '',
]
/** Parts of é and 😀, and invalid UTF-8: an overlong quote and é, a surrogate, a byte that UTF-8 never contains. */
const pieces = [
  [0xc3],
  [0xa9],
  [0xa9, 0x61],
  [0xf0, 0x9f],
  [0x98, 0x80],
  [0xc0, 0xa2],
  [0xe0, 0x83, 0xa9],
  [0xe0],
  [0x83, 0xa9],
  [0xed, 0xa0, 0x80],
  [0xff],
  [0x61, 0xc3],
]
const vocabulary = listedVocabulary({
  tokens: [...letters, ...pieces],
  eos: letters.indexOf('</s>'),
  ends: [15],
})
const ends = vocabulary.ends
const everyToken = Array.from({ length: vocabulary.size }, (_, token) => token)
const id = (text: string) => letters.indexOf(text)

const regexes = [
  '[ab]{2,5}',
  '(ab|a1)*c?',
  '[^"]{0,3}',
  '[é😀]+',
  'a?',
  '"[^"]*"',
  '[a-c]{1,3}( [12]{2})?',
  '\\P{L}*',
]

/** The allowed tokens by the definition: the text so far and the token's bytes begin a text of the grammar. */
function allowedByDefinition(grammar: CompiledGrammar, said: readonly number[]): number[] {
  const matcher = createGbnfMatcher(gbnfOf(grammar))
  return everyToken.filter((token) => {
    const before = textOf(said)
    if (ends.includes(token)) return before !== undefined && matcher.accepts(before)
    if (vocabulary.isSpecial(token) || vocabulary.bytes(token).length === 0) return false
    return beginsWith(matcher, bytesOf([...said, token]))
  })
}

function bytesOf(tokens: readonly number[]): Buffer {
  return Buffer.concat(tokens.map((token) => vocabulary.bytes(token)))
}

/** Undefined when the text ends in the middle of a character. */
function textOf(tokens: readonly number[]): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(tokens))
  } catch {
    return undefined
  }
}

/** Whether some completion of the last character makes the bytes the beginning of a text. */
function beginsWith(matcher: ReturnType<typeof createGbnfMatcher>, bytes: Buffer): boolean {
  for (const rest of ['', ...completions]) {
    try {
      const whole = Buffer.concat([bytes, Buffer.from(rest)])
      if (matcher.begins(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(whole)))
        return true
    } catch {}
  }
  return false
}

/** The last bytes of the characters to try: é, 😀, and others that begin with the same bytes. */
const completions = [0xe9, 0xe1, 0x1f600, 0x1f400, 0x863, 0x10000, 0xd7, 0x966].flatMap((point) => {
  const bytes = Buffer.from(String.fromCodePoint(point))
  return Array.from({ length: bytes.length - 1 }, (_, at) => bytes.subarray(at + 1))
})

function begin(grammar: CompiledGrammar, said: readonly number[] = []): Allowance {
  const allowance = createConstraints(vocabulary).of(grammar).begin()
  for (const token of said) allowance.accept(token)
  return allowance
}

test('a token is allowed exactly when its bytes continue a text of the grammar', async () => {
  const random = createRandom(3n)
  let checked = 0
  for (const regex of regexes) {
    const grammar = packGrammar(regexGrammar(regex).rules)
    for (let walk = 0; walk < 12; walk++) {
      const said: number[] = []
      const allowance = begin(grammar)
      for (let step = 0; step < 6; step++) {
        const expected = allowedByDefinition(grammar, said)
        const where = `${regex} after ${JSON.stringify(bytesOf(said).toString('latin1'))}`
        assert.deepEqual(
          everyToken.filter((token) => allowance.allows(token)),
          expected,
          where,
        )
        assert.deepEqual(
          allowance.few()?.toSorted((a, b) => a - b),
          expected,
          where,
        )
        const mask = allowance.mask()
        assert.deepEqual(
          everyToken.filter((token) => isInMask(mask, token)),
          expected,
          where,
        )
        assert.equal(mask.count, expected.length, where)
        assert.equal(
          allowance.isComplete,
          ends.every((token) => expected.includes(token)),
          where,
        )
        checked++
        const further = expected.filter((token) => !ends.includes(token))
        const token = further[Math.floor(random() * further.length)]
        if (allowance.isComplete) assert.equal(allowance.isOver, further.length === 0, where)
        if (token === undefined) break
        allowance.accept(token)
        said.push(token)
      }
    }
  }
  assert.ok(checked > 300)
})

test('allowed tokens are not listed when there are many', () => {
  const tokens = Array.from({ length: 1000 }, (_, i) => `x${i}`)
  const many = listedVocabulary({ tokens: [...tokens, '</s>'], eos: 1000 })
  const constraints = createConstraints(many)
  assert.equal(
    constraints
      .of(packGrammar(regexGrammar('x[0-9]*').rules))
      .begin()
      .few(),
    undefined,
  )
  assert.deepEqual(
    constraints
      .of(packGrammar(regexGrammar('x1[0-9]').rules))
      .begin()
      .few()?.length,
    11,
  )
})

const oneOf = (...values: number[]) => fc.constantFrom(...values)

test('truncated sampling and greedy decoding give the token that they give on masked logits', async () => {
  const given = fc.record({
    size: oneOf(40, 300, 1500, 4000),
    seed: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    spread: oneOf(0.01, 2, 20),
    share: oneOf(0, 0.002, 0.05, 0.5, 0.99),
    temperature: oneOf(0, 0.7, 1, 2),
    topP: oneOf(0.9999, 0.9, 0.3, 1),
    topK: oneOf(0, 0, 3, 50),
    minP: oneOf(0, 0, 0.05),
    repetitionPenalty: oneOf(1, 1.3, 0.8),
    frequencyPenalty: oneOf(0, 0.5),
    bias: fc.array(fc.tuple(fc.nat({ max: 39 }), oneOf(-100, 3, 100)), { maxLength: 3 }),
    answer: fc.array(fc.nat({ max: 39 }), { maxLength: 10 }),
    allowed: fc.option(fc.uniqueArray(fc.nat({ max: 39 }), { minLength: 1 }), { freq: 4, nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(given, async ({ size, seed, spread, share, answer, allowed, ...others }) => {
      const random = createRandom(seed)
      const logits = Float32Array.from({ length: size }, () => spread * random())
      const isAllowed = Uint8Array.from({ length: size }, () => (random() < share ? 1 : 0))
      const list = [...isAllowed.keys()].filter((token) => isAllowed[token])
      const sampling: Sampling = {
        ...plainSampling,
        ...others,
        bias: [...others.bias],
        ...(allowed && { allowed }),
      }
      const isCut = sampling.topP < 1 || sampling.topK > 0 || sampling.minP > 0
      if (!isCut && sampling.temperature > 0) sampling.topP = 0.999
      const plan = planAdjustments({
        sampling,
        minTokens: 0,
        bannedEnds: [],
        prompt: [],
      })
      const adjustments = plan && createAdjustments(plan)
      for (const token of answer) adjustments?.accept(token)
      const number = random()
      const sample = createConstrainedSampler({
        sampling,
        sample: createSampler(sampling, adjustments, () => number),
        rule: allowing(list, isAllowed),
        listed: allowed && Uint32Array.from(allowed).sort(),
        isPlain: adjustments === undefined && allowed === undefined,
      })
      const masked = logits.map((logit, token) => (isAllowed[token] ? logit : -Infinity))
      const expected = naiveDraw({ logits: masked, sampling, prompt: [], answer, banned: [], random: number })
      // What the sampler remembers of a draw does not change the next one.
      for (let draw = 0; draw < 3; draw++) {
        assert.equal(await sample(scriptedLogits(logits), answer), expected)
      }
    }),
    tried({ share: 150, whole: 1500 }),
  )
})

function allowing(list: number[], isAllowed: Uint8Array): Allowance {
  const masks = createMasks(isAllowed.length)
  return {
    allows: (token) => isAllowed[token] === 1,
    few: (most = 256) => (list.length <= most ? list : undefined),
    mask: () => masks.of((put) => list.forEach(put)),
    sure: () => [],
    ahead: () => '',
    isComplete: false,
    isOver: false,
    accept: () => true,
  }
}

for (const [title, size, few] of [
  ['few', 12, [1, 4, 7]],
  ['more than are drawn at once', 60, Array.from({ length: 20 }, (_, i) => 3 * i)],
  ['many', 600, Array.from({ length: 300 }, (_, i) => 2 * i)],
  ['many that are a small part', 3000, Array.from({ length: 300 }, (_, i) => 10 * i)],
] as const) {
  test(`sampling without truncation keeps the proportions of the allowed tokens: ${title}`, async () => {
    const random = createRandom(11n)
    const logits = Float32Array.from({ length: size }, () => 3 * random())
    const isAllowed = new Uint8Array(size)
    for (const token of few) isAllowed[token] = 1
    const sample = createConstrainedSampler({
      sampling: plainSampling,
      sample: createSampler(plainSampling, undefined, createRandom(5n)),
      rule: allowing([...few], isAllowed),
      isPlain: true,
    })
    const draws = 20_000
    const position = scriptedLogits(logits)
    const times = new Map<number, number>()
    for (let draw = 0; draw < draws; draw++) {
      const token = await sample(position, [])
      assert.ok(token !== undefined && isAllowed[token] === 1)
      times.set(token, (times.get(token) ?? 0) + 1)
    }
    const total = few.reduce((sum, token) => sum + Math.exp(logits[token] ?? 0), 0)
    let distance = 0
    for (const token of few) {
      distance += Math.abs((times.get(token) ?? 0) / draws - Math.exp(logits[token] ?? 0) / total) / 2
    }
    assert.ok(distance < 0.06, `${distance}`)
  })
}

test('the logits are not read where only one token is allowed', async () => {
  const constraint = createConstraints(vocabulary).of(packGrammar(regexGrammar('[12]é[12]').rules))
  for (const sampling of [{}, { temperature: 0 }, { topP: 0.5 }]) {
    const generation = generationOf({ sampling })
    const plan = { generation, prompt: [0], maxTokens: 10, vocabulary, constraint }
    const choice = createChoice(planAnswer(plan), 0)
    const asked: number[] = []
    for (let place = 0; place < 3; place++) {
      const logits = scriptedLogits(everyToken.map((token) => (token === id('1') ? 9 : 0)))
      // é can also be written as two byte tokens; take its one token here.
      if (place === 1) choice.accept({ token: letters.length })
      choice.accept(await choice.next(logits))
      asked.push(logits.reads)
    }
    assert.deepEqual(
      asked.map((times) => times > 0),
      [true, false, true],
    )
  }
})

test('a seed draws the same tokens whatever is cached of the grammar', async () => {
  const size = 3000
  const many = listedVocabulary({ tokens: Array.from({ length: size }, (_, i) => `${i} `), eos: size - 1 })
  // In turn, few, one, some, many and nearly all of the tokens are allowed.
  const grammar = packGrammar(
    regexGrammar('(7[0-9]? 1[0-9]{3} [0-9]+ 11 [0-8][0-9]{0,3} 1[0-9]{1,2} )+').rules,
  )
  const used = createConstraints(many).of(grammar)
  const said = async (constraint: typeof used, seed: bigint) => {
    const generation = generationOf({ sampling: { seed }, ending: { ignoreEos: true } })
    const choice = createChoice(
      planAnswer({ generation, prompt: [0], maxTokens: 60, vocabulary: many, constraint }),
      0,
    )
    const random = createRandom(seed)
    for (;;) {
      const logits = scriptedLogits(Array.from({ length: size }, () => 2 * random()))
      if (choice.accept(await choice.next(logits)).finished) return choice.tokens
    }
  }
  for (let seed = 1n; seed < 6n; seed++) {
    const [first, again] = [await said(used, seed), await said(used, seed)]
    assert.equal(first.length, 60)
    assert.deepEqual(again, first)
    assert.deepEqual(await said(createConstraints(many).of(grammar), seed), first)
  }
})

async function story(
  favoured: string[],
  grammar: CompiledGrammar,
  parts: GenerationParts = {},
): Promise<unknown[]> {
  const generation = generationOf({ sampling: { temperature: 0 }, ...parts })
  const plan = planAnswer({
    generation: { ...generation, constraint: { grammar, field: 'structured_outputs.choice' } },
    prompt: [0],
    maxTokens: 10,
    vocabulary,
    constraint: createConstraints(vocabulary).of(grammar),
  })
  const choice = createChoice(plan, 0)
  const told: unknown[] = []
  for (const text of favoured) {
    const logits = scriptedLogits(everyToken.map((token) => (token === id(text) ? 50 : -token)))
    const { tokens, finished } = choice.accept(await choice.next(logits))
    told.push(tokens.text)
    if (finished) {
      told.push(`${finished.reason} ${finished.stop}`)
      break
    }
  }
  return told
}

test('an answer ends as soon as nothing can follow, also with ignore_eos and a minimum length', async () => {
  const choices = packGrammar(choiceGrammar(['ab', 'abc1']).rules)
  assert.deepEqual(await story(['ab', '</s>', 'a'], choices), ['ab', '', 'stop null'])
  assert.deepEqual(await story(['ab', 'c', '1', 'a'], choices), ['ab', 'c', '1', 'stop null'])
  const ending = { ignoreEos: true, minTokens: 8 }
  assert.deepEqual(await story(['</s>', 'ab', '</s>', '</s>'], choices, { ending }), [
    'a',
    'b',
    'c',
    '1',
    'stop null',
  ])
  assert.deepEqual(await story(['abc', '1'], choices, { ending: { stop: ['c1'] } }), ['ab', '', 'stop c1'])
})

test('when other settings leave no allowed token, the refusal names the constraint, too', async () => {
  const choices = packGrammar(choiceGrammar(['b']).rules)
  await assert.rejects(story(['b'], choices, { sampling: { temperature: 1, allowed: [id('a')] } }), {
    code: 'no_token_possible',
    message: /"structured_outputs\.choice, allowed_token_ids"/,
  })
  await assert.rejects(story(['b'], choices, { sampling: { temperature: 0, badWords: ['b'] } }), {
    code: 'no_token_possible',
    message: /"structured_outputs\.choice, bad_words"/,
  })
})

test('a grammar that a hundred users use is read once for each of them', () => {
  const { of } = createConstraints(vocabulary)
  const grammar = packGrammar(regexGrammar('a[0-9]*').rules)
  const groups = Array.from({ length: 100 }, (_, at) => `user-${at}`)
  const first = groups.map((group) => of(grammar, [], group))
  assert.equal(new Set(first).size, groups.length)
  assert.deepEqual(
    groups.filter((group, at) => of(grammar, [], group) !== first[at]),
    [],
  )
})
