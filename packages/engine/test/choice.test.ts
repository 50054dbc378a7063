import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GenerationParts, generationOf } from '../../../test/support/generations.ts'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { type ScriptedLogits, scriptedLogits } from '../../../test/support/scripted-logits.ts'
import { createChoice, planAnswer } from '../answer/choice.ts'
import type { GenerationEvent } from '../backend.ts'
import { createRandom } from '../sampling/random.ts'

const tokens = ['a', 'b', 'c', ' ', 'ab', [0xc3], [0xa9], '</s>', '<end>', '.']
const vocabulary = listedVocabulary({ tokens, eos: 7, ends: [8] })
const [a, b, c, , ab, lead, follower, eos, endOfTurn, dot] = tokens.keys() as unknown as number[]

/** Logits in which one token is far above the others. */
function favouring(token: number): ScriptedLogits {
  return scriptedLogits(tokens.map((_, i) => (i === token ? 50 : -i)))
}

interface Settings extends GenerationParts {
  maxTokens?: number
  promptTokens?: number[]
  index?: number
}

/** The events while the model favours these tokens one after the other. */
async function events(favoured: (number | undefined)[], settings: Settings = {}): Promise<GenerationEvent[]> {
  const { maxTokens = 20, promptTokens = [a ?? 0], index = 0, ...parts } = settings
  const plan = planAnswer({ generation: generationOf(parts), prompt: promptTokens, maxTokens, vocabulary })
  const choice = createChoice(plan, index)
  const happened: GenerationEvent[] = []
  for (const token of favoured) {
    const accepted = choice.accept(await choice.next(favouring(token ?? 0)))
    happened.push(accepted.tokens)
    if (accepted.finished) {
      happened.push(accepted.finished)
      break
    }
  }
  return happened
}

/** The same in short: text and token of each event, and finally how the answer ended. */
async function story(favoured: (number | undefined)[], settings?: Settings): Promise<unknown[]> {
  return (await events(favoured, settings)).map((event) => {
    if (event.kind === 'tokens') return [event.text, ...event.tokens]
    return event.kind === 'finished' ? `${event.reason} ${event.stop}` : event
  })
}

test('each token is an event, and the end is another one', async () => {
  assert.deepEqual(await events([b, eos], { index: 3 }), [
    { kind: 'tokens', choice: 3, text: 'b', tokens: [b] },
    { kind: 'tokens', choice: 3, text: '', tokens: [eos] },
    { kind: 'finished', choice: 3, reason: 'stop', stop: null },
  ])
})

for (const [title, favoured, settings, expected] of [
  ['the end of a turn names its token', [b, endOfTurn], {}, [['b', b], ['', endOfTurn], 'stop 8']],
  [
    'a stop token that is text is not shown',
    [b, c],
    { ending: { stopTokens: [c] } },
    [['b', b], ['', c], 'stop 2'],
  ],
  [
    'a stop token that is text is shown on request',
    [b, c],
    { ending: { stopTokens: [c], includeStop: true } },
    [['b', b], ['c', c], 'stop 2'],
  ],
  [
    'a special stop token stays hidden even then',
    [b, eos],
    { ending: { includeStop: true } },
    [['b', b], ['', eos], 'stop null'],
  ],
  [
    'a special stop token is shown where special tokens are',
    [b, eos],
    { ending: { includeStop: true }, text: { skipSpecial: false } },
    [['b', b], ['</s>', eos], 'stop null'],
  ],
  [
    'ignored ends add no text',
    [eos, b],
    { ending: { ignoreEos: true }, maxTokens: 2 },
    [['', eos], ['b', b], 'length null'],
  ],
  ['the maximum length ends the answer', [a, b, c], { maxTokens: 2 }, [['a', a], ['b', b], 'length null']],
  [
    'a character of two tokens comes with the second',
    [lead, follower, a],
    { maxTokens: 3 },
    [['', lead], ['é', follower], ['a', a], 'length null'],
  ],
  ['half a character at the end', [a, lead], { maxTokens: 2 }, [['a', a], ['\ufffd', lead], 'length null']],
  ['half a character before the end of text', [lead, eos], {}, [['', lead], ['\ufffd', eos], 'stop null']],
  ['a stop string', [a, b, c], { ending: { stop: ['b'] } }, [['a', a], ['', b], 'stop b']],
  [
    'a stop string over tokens is held back',
    [c, a, b],
    { ending: { stop: ['ab'] } },
    [['c', c], ['', a], ['', b], 'stop ab'],
  ],
  [
    'the beginning of a stop string is given when the rest does not follow',
    [a, c],
    { ending: { stop: ['ab'] }, maxTokens: 2 },
    [['', a], ['ac', c], 'length null'],
  ],
  [
    'the beginning of a stop string is given when the answer ends',
    [a, eos],
    { ending: { stop: ['ab'] } },
    [['', a], ['a', eos], 'stop null'],
  ],
  [
    'a stop string in the last token takes precedence over the length',
    [c, ab],
    { ending: { stop: ['b'] }, maxTokens: 2 },
    [['c', c], ['a', ab], 'stop b'],
  ],
  [
    'a stop string takes precedence over a repetition',
    [b, b],
    { ending: { stop: ['bb'], repetition: { minPattern: 1, maxPattern: 1, count: 2 } } },
    [['', b], ['', b], 'stop bb'],
  ],
  [
    'a repetition ends the answer',
    [c, b, b],
    { ending: { repetition: { minPattern: 1, maxPattern: 1, count: 2 } } },
    [['c', c], ['b', b], ['b', b], 'repetition repetition_detected'],
  ],
  [
    'stop strings count after the minimum length',
    [b, b, b],
    { ending: { stop: ['b'], minTokens: 2 } },
    [['b', b], ['b', b], ['', b], 'stop b'],
  ],
] as [string, number[], Settings, unknown[]][]) {
  test(title, async () => {
    assert.deepEqual(await story(favoured, settings), expected)
  })
}

test('the end of text is not drawn before the minimum length', async () => {
  const drawn = await story([eos, eos, eos], { ending: { minTokens: 2 }, sampling: { temperature: 0 } })
  assert.deepEqual(drawn, [['a', a], ['a', a], ['', eos], 'stop null'])
})

test('a bad word is not completed, whatever tokens could do so', async () => {
  const settings = { sampling: { badWords: ['abc'], temperature: 0 }, maxTokens: 3 }
  assert.deepEqual(await story([ab, c, b], settings), [['ab', ab], ['a', a], ['b', b], 'length null'])
  assert.deepEqual(await story([a, b, c], settings), [['a', a], ['b', b], ['a', a], 'length null'])
  const longer = { ...settings, sampling: { badWords: ['b'], temperature: 0 } }
  assert.deepEqual(await story([ab, b, c], longer), [['a', a], ['a', a], ['c', c], 'length null'])
})

test('only allowed tokens are drawn, and the end of text only if it is allowed', async () => {
  const settings = { sampling: { allowed: [c ?? 0, dot ?? 0], temperature: 0 }, maxTokens: 2 }
  assert.deepEqual(await story([a, eos], settings), [['c', c], ['c', c], 'length null'])
})

test('penalties apply to the prompt and the answer', async () => {
  const position = () => scriptedLogits([3, 2.9, 2.8, -9, -9, -9, -9, -9, -9, -9])
  const drawnWith = async (sampling: GenerationParts['sampling']) => {
    const generation = generationOf({ sampling: { temperature: 0, ...sampling } })
    const choice = createChoice(planAnswer({ generation, prompt: [a ?? 0], maxTokens: 9, vocabulary }), 0)
    for (let i = 0; i < 4; i++) choice.accept(await choice.next(position()))
    return choice.tokens
  }
  assert.deepEqual(await drawnWith({}), [a, a, a, a])
  assert.deepEqual(await drawnWith({ presencePenalty: 0.15 }), [a, b, a, a])
  assert.deepEqual(await drawnWith({ frequencyPenalty: 0.15 }), [a, b, a, c])
  assert.deepEqual(await drawnWith({ repetitionPenalty: 1.5 }), [b, c, a, a])
})

test('the same seed draws the same tokens, and different ones in each choice', async () => {
  const random = createRandom(5n)
  const positions = Array.from({ length: 20 }, () => tokens.map(() => random()))
  const drawn = async (seed: bigint, index: number) => {
    const generation = generationOf({ sampling: { seed }, choices: 2, ending: { ignoreEos: true } })
    const choice = createChoice(planAnswer({ generation, prompt: [0], maxTokens: 99, vocabulary }), index)
    for (const logits of positions) choice.accept(await choice.next(scriptedLogits(logits)))
    return choice.tokens
  }
  const first = await drawn(11n, 0)
  assert.deepEqual(await drawn(11n, 0), first)
  assert.notDeepEqual(await drawn(11n, 1), first)
  assert.deepEqual(await drawn(10n, 1), first)
})

test('each token has its log-probability, also the end and tokens whose text is held back', async () => {
  const settings = { logprobs: 2, ending: { stop: ['ab'] }, sampling: { temperature: 0.5, topK: 1 } }
  const happened = await events([a, eos], settings)
  const [first, last] = happened.map((event) => (event.kind === 'tokens' ? event : undefined))
  assert.equal(first?.text, '')
  assert.deepEqual(
    first?.logprobs?.map(({ token, top }) => [token, top.map((likely) => likely.token)]),
    [[a, [a, b]]],
  )
  assert.deepEqual(
    last?.logprobs?.map(({ token, bytes }) => [token, Buffer.from(bytes).toString()]),
    [[eos, '</s>']],
  )
})

test('log-probabilities are those before any setting', async () => {
  const generation = generationOf({
    logprobs: 1,
    sampling: { temperature: 0.1, bias: [[b ?? 0, 100]], frequencyPenalty: 2, topK: 3 },
  })
  const choice = createChoice(planAnswer({ generation, prompt: [0], maxTokens: 9, vocabulary }), 0)
  const position = scriptedLogits(tokens.map((_, i) => (i < 2 ? 0 : -100)))
  const { token, logprob } = await choice.next(position)
  assert.equal(token, b)
  assert.ok(Math.abs((logprob?.logprob ?? 0) - Math.log(1 / 2)) < 1e-6)
})

test('a request that leaves no token is refused with the fields that exclude them', async () => {
  const refused = (settings: Settings) => events([a], settings)
  await assert.rejects(refused({ sampling: { allowed: [eos ?? 0] }, ending: { minTokens: 1 } }), {
    name: 'EngineError',
    code: 'no_token_possible',
    values: { field: 'allowed_token_ids', fields: 'allowed_token_ids, min_tokens', tokens: 0 },
  })
  await assert.rejects(refused({ sampling: { allowed: [b ?? 0], badWords: ['b'], temperature: 0 } }), {
    code: 'no_token_possible',
    message: /"allowed_token_ids, bad_words"/,
  })
})

test('logits that are not numbers are an error, not a refusal', async () => {
  const choice = createChoice(
    planAnswer({ generation: generationOf(), prompt: [0], maxTokens: 9, vocabulary }),
    0,
  )
  await assert.rejects(choice.next(scriptedLogits(tokens.map(() => Number.NaN))), { name: 'Error' })
})
