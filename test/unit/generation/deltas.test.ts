import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Parser } from '../../../packages/chat-format/index.ts'
import { createAnswerReader } from '../../../packages/chat-format/index.ts'
import { type GenerationEvent, loadInProcess } from '../../../packages/engine/index.ts'
import type { AnswerEvent } from '../../../src/inference/model.ts'
import { contentOf, createDeltas, type Delta, grouped } from '../../../src/operations/generation/deltas.ts'
import { createFold } from '../../../src/operations/generation/fold.ts'
import { limitCandidates } from '../../../src/operations/generation/logprobs.ts'
import { createTally } from '../../../src/operations/generation/usage.ts'

const { createRunEvents } = await loadInProcess()

async function* inGroups(groups: AnswerEvent[][]): AsyncGenerator<AnswerEvent[]> {
  yield* groups
}

const read = (input: number, cachedTokens = 0): AnswerEvent => ({ kind: 'prefilled', input, cachedTokens })
const said = (choice: number, text: string, tokens: number[]): AnswerEvent => ({
  kind: 'tokens',
  choice,
  text,
  tokens,
  logprobs: tokens.map((token) => ({ token, bytes: new Uint8Array(), logprob: -1, top: [] })),
})
const ended = (choice: number): AnswerEvent => ({ kind: 'finished', choice, reason: 'stop', stop: null })

async function collected(groups: AnswerEvent[][], createParser?: () => Parser): Promise<Delta[]> {
  const deltasOf = createDeltas({ createParser })
  return (await Array.fromAsync(inGroups(groups))).flatMap((group) => deltasOf(group))
}

test('a group of events becomes one delta per choice, in the order of their first events', async () => {
  const deltas = await collected([
    [read(0, 2), said(1, 'a', [1]), said(0, 'b', [2]), said(1, 'c', [3])],
    [said(0, '', [4]), ended(0), said(1, 'd', [5]), ended(1)],
  ])
  assert.deepEqual(
    deltas.map((delta) =>
      delta.kind === 'prompt'
        ? ['prompt', delta.input, delta.cachedTokens]
        : [delta.choice, contentOf(delta.turnParts), delta.tokens, delta.finished?.reason],
    ),
    [
      ['prompt', 0, 2],
      [1, 'ac', [1, 3], undefined],
      [0, 'b', [2], undefined],
      [0, '', [4], 'stop'],
      [1, 'd', [5], 'stop'],
    ],
  )
})

test('each choice has a parser of its own, and what that holds back comes at the end', async () => {
  const holding = (): Parser => {
    let held = ''
    return {
      push(text) {
        held += text
        return []
      },
      end: () => [{ kind: 'content', text: `<${held}>` }],
      isThinking: false,
    }
  }
  const groups = [
    [read(0), said(0, 'a', [1]), said(1, 'x', [2])],
    [said(0, 'b', [3]), ended(0), ended(1)],
  ]
  const texts = ['', '']
  for (const delta of await collected(groups, holding)) {
    if (delta.kind === 'choice') texts[delta.choice] += contentOf(delta.turnParts)
  }
  assert.deepEqual(texts, ['<ab>', '<x>'])
})

/** Events of several prompts and choices, in an order in which a model could send them. */
const histories = fc
  .record({
    prompts: fc.integer({ min: 1, max: 3 }),
    choices: fc.integer({ min: 1, max: 3 }),
    steps: fc.array(fc.tuple(fc.nat(8), fc.string({ maxLength: 3 }), fc.nat(9)), { maxLength: 30 }),
  })
  .map(({ prompts, choices, steps }) => {
    const count = prompts * choices
    const events: AnswerEvent[] = []
    for (let input = 0; input < prompts; input++) events.push(read(input, input))
    for (const [choice, text, token] of steps) events.push(said(choice % count, text, [token]))
    for (let choice = 0; choice < count; choice++) events.push(ended(choice))
    return { prompts, choices, events }
  })

/** The events in order, cut into groups. */
function cut(events: AnswerEvent[], sizes: number[]): AnswerEvent[][] {
  const groups: AnswerEvent[][] = []
  for (let from = 0, index = 0; from < events.length; index++) {
    const size = Math.max(1, sizes[index % sizes.length] ?? 1)
    groups.push(events.slice(from, from + size))
    from += size
  }
  return groups
}

test('a whole answer and the deltas of a stream have the same content, however the events are grouped', async () => {
  await fc.assert(
    fc.asyncProperty(
      histories,
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
      async ({ prompts, choices, events }, sizes) => {
        const generation = {
          head: { created: 0, model: 'm', system_fingerprint: 'f' },
          prompts: Array.from({ length: prompts }, (_, index) => [index, index]),
          choices,
          widened: [],
        }
        const deltas = await collected(cut(events, sizes))
        const tally = createTally(generation)
        const streamed = Array.from({ length: prompts * choices }, () => ({
          text: '',
          tokens: [] as number[],
        }))
        for (const delta of deltas) {
          tally.add(delta)
          if (delta.kind === 'prompt') continue
          const choice = streamed[delta.choice]
          assert.ok(choice)
          choice.text += contentOf(delta.turnParts)
          choice.tokens.push(...delta.tokens)
        }
        const fold = createFold(generation, {
          candidateLimit: limitCandidates('logprobs', false),
          createLogprobs: () => {
            const tokens: number[] = []
            return {
              tokens,
              add: (given: readonly { token: number }[]) =>
                void tokens.push(...given.map(({ token }) => token)),
            }
          },
          onPrompt: async () => {},
        })
        const deltasOf = createDeltas()
        for (const event of events) await fold.add(deltasOf([event]))
        const folded = fold.end()
        assert.deepEqual(
          folded.choices.map(({ content, tokens }) => ({ text: content, tokens })),
          streamed,
        )
        for (const { tokens, logprobs } of folded.choices) assert.deepEqual(logprobs.tokens, tokens)
        assert.deepEqual(folded.usage, tally.total())
      },
    ),
  )
})

test('the tokens of a thought are counted exactly, however many arrive at once', async () => {
  const drawn = ['so', ' it', ' is', '</th', 'ink>', 'Yes', '', '.'].map((text, index) =>
    said(0, text, [index]),
  )
  const reading = () =>
    createAnswerReader({
      reasoning: { open: '<think>', close: '</think>', switches: { on: {}, off: {} }, isDefault: true },
      thought: 'open',
    })
  const sums = (deltas: Delta[]) => {
    const mine = deltas.filter((delta) => delta.kind === 'choice')
    return {
      thought: mine.reduce((sum, { thought }) => sum + thought, 0),
      tokens: mine.flatMap(({ tokens }) => tokens),
      content: mine.map(({ turnParts: parts }) => contentOf(parts)).join(''),
    }
  }
  const expected = { thought: 5, tokens: [0, 1, 2, 3, 4, 5, 6, 7], content: 'Yes.' }
  assert.deepEqual(sums(await collected([...drawn.map((event) => [event]), [ended(0)]], reading)), expected)
  // Events that are not read become one event.
  const events = createRunEvents({ onLeft() {}, onEnd() {} })
  for (const event of [...drawn, ended(0)]) events.push(structuredClone(event) as GenerationEvent)
  events.end()
  const groups = await Array.fromAsync(events)
  assert.deepEqual(
    groups.map((group) => group.length),
    [2],
  )
  assert.deepEqual(sums(await collected(groups as AnswerEvent[][], reading)), expected)
})

test('held deltas lose nothing, the first and the last are not held, and what was read stays as it was', async () => {
  const letters = Array.from('abcdefgh', (text, token) => said(token % 2, text, [token]))
  const deltas = await collected([...letters.map((event) => [event]), [ended(0), ended(1)]])
  const before = structuredClone(deltas)
  async function* oneByOne() {
    for (const delta of deltas) yield [delta]
  }
  for (const [interval, contents] of [
    [1, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', '', '']],
    [2, ['a', 'b', 'ce', 'df', 'g', 'h']],
    [1e9, ['a', 'b', 'ceg', 'dfh']],
  ] as const) {
    const joined = (await Array.fromAsync(grouped(oneByOne(), interval))).flat()
    const shown = joined.map((delta) => (delta.kind === 'choice' ? contentOf(delta.turnParts) : ''))
    assert.deepEqual(shown, contents, String(interval))
    const tokens = joined.flatMap((delta) => (delta.kind === 'choice' ? delta.tokens : []))
    assert.deepEqual(tokens.toSorted(), [0, 1, 2, 3, 4, 5, 6, 7])
    assert.deepEqual(deltas, before)
  }
})
