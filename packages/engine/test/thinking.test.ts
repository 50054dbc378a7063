import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generationOf } from '../../../test/support/generations.ts'
import {
  type ModelText,
  type SimulatedBackendOptions,
  simulatedBackend,
} from '../../../test/support/simulated-backend.ts'
import { smallVocabulary } from '../../../test/support/small-vocabulary.ts'
import { createConstraints, type Expr, packGrammar } from '../../constraints/index.ts'
import type { Generation, GenerationEvent } from '../backend.ts'

type Thinking = NonNullable<Generation['thinking']>

const tags: Thinking = { budget: 4, open: '<think>\n', close: '\n</think>\n\n', isOpen: true }

/** The text of an answer, how it ended, and the tokens with log-probabilities. */
async function written(
  t: Parameters<typeof simulatedBackend>[0],
  said: ModelText,
  thinking: Partial<Thinking>,
  { vocabulary, ...parts }: Partial<Generation> & SimulatedBackendOptions = {},
) {
  const backend = simulatedBackend(t, said, vocabulary && { vocabulary })
  const generation = { ...generationOf(parts), thinking: { ...tags, ...thinking } }
  const run = await backend.generate(generation, new AbortController().signal)
  const events: GenerationEvent[] = (await Array.fromAsync(run.events)).flat()
  const tokens = events.filter((event) => event.kind === 'tokens')
  const [end] = events.filter((event) => event.kind === 'finished')
  return {
    text: tokens.map(({ text }) => text).join(''),
    reason: end?.reason,
    logprobs: tokens.flatMap(({ logprobs = [] }) =>
      logprobs.map(({ bytes }) => Buffer.from(bytes).toString()),
    ),
  }
}

for (const [title, said, thinking, text] of [
  ['an open thought ends when its budget is used up', ['abcdef', 'xyz'], {}, 'abcd\n</think>xyz'],
  ['a budget of 0 ends a thought at once', ['abcdef', 'xyz'], { budget: 0 }, '\n</think>xyz'],
  ['a thought that ends by itself is left alone', 'ab</think>xyzxyz', { budget: 20 }, 'ab</think>xyzxyz'],
  ['what follows a thought does not count', 'a</think>xyzxyz', { budget: 11 }, 'a</think>xyzxyz'],
  [
    'a thought that the model opens has a budget, too',
    ['<think>\nabcdef', 'xyz'],
    { isOpen: false },
    '<think>\nabcd\n</think>xyz',
  ],
  ['an answer without a thought is left alone', 'abcdef', { isOpen: false, budget: 0 }, 'abcdef'],
  [
    'a marker later in an answer opens no thought',
    'a<think>bcdefg',
    { isOpen: false, budget: 0 },
    'a<think>bcdefg',
  ],
  ['a call ends a thought, too', 'ab<call>xyzxyz', { calls: ['<call>'], budget: 8 }, 'ab<call>xyzxyz'],
  [
    'a character is completed before a thought is ended',
    ['ab😀cd', 'xyz'],
    { budget: 3 },
    'ab😀\n</think>xyz',
  ],
] as [string, ModelText, Partial<Thinking>, string][]) {
  test(title, async (t) => {
    assert.equal((await written(t, said, thinking)).text, text)
  })
}

test('the end of a thought that is a control token is written as that token and shown as its marker', async (t) => {
  const vocabulary = smallVocabulary({ control: ['<think>', '</think>'] })
  const markers = ['<think>', '</think>']
  const { text, logprobs } = await written(
    t,
    ['<think>abcdef', 'xyz'],
    { open: '\udc00', close: '\udc01', isOpen: false },
    { vocabulary, logprobs: 0, text: { skipSpecial: true, spaceSpecial: true, markers } },
  )
  assert.equal(text, '\udc00abcd\udc01xyz')
  assert.deepEqual(logprobs.slice(0, 6), ['<think>', 'a', 'b', 'c', 'd', '</think>'])
})

test('under a grammar, a thought is ended where the grammar allows that, and the rest follows the grammar', async (t) => {
  const vocabulary = smallVocabulary()
  const literal = (text: string): Expr => ({ kind: 'literal', text })
  const letters: Expr = { kind: 'class', ranges: [[97, 122]] }
  const grammar = packGrammar(
    new Map([
      [
        'root',
        {
          kind: 'sequence',
          of: [
            { kind: 'repetition', of: letters, min: 0, max: Number.POSITIVE_INFINITY },
            literal('.'),
            literal('\n</think>{}'),
          ],
        },
      ],
    ]),
  )
  assert.ok(createConstraints(vocabulary).of(grammar))
  const { text, reason } = await written(
    t,
    ['abcdef.zz', '{}'],
    { budget: 2 },
    { vocabulary, constraint: { grammar, field: 'tools' } },
  )
  assert.equal(text, 'abcdef.\n</think>{}')
  assert.equal(reason, 'stop')
})

test('each choice has a budget of its own, and the maximum length still applies', async (t) => {
  const backend = simulatedBackend(t, (_, choice) => (choice === 0 ? ['abcdefgh', 'x'] : 'a</think>y'))
  const generation = generationOf({ choices: 2, ending: { maxTokens: 8 } })
  const run = await backend.generate(
    { ...generation, thinking: { ...tags, budget: 6 } },
    new AbortController().signal,
  )
  const texts = ['', '']
  for (const event of (await Array.fromAsync(run.events)).flat()) {
    if (event.kind === 'tokens') texts[event.choice] += event.text
  }
  assert.deepEqual(texts, ['abcdef\n</', 'a</think>'])
})
