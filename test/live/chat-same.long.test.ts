import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnswerContent, startChatServer } from '../support/chat-server.ts'

const prompts = [
  'Hello, who are you?',
  'Tell me a story.',
  'What is the capital of France?',
  'My name is Zoe, and I weave. '.repeat(6),
]

/** Several choices, cut by stops and lengths, with all kinds of sampling; every sixth request is greedy. */
function requestOf(i: number): Record<string, unknown> {
  const isGreedy = i % 6 === 5
  return {
    messages: [
      ...(i % 4 === 1 ? [{ role: 'system', content: 'You are a loom.' }] : []),
      { role: 'user', content: prompts[i % prompts.length] },
    ],
    seed: i,
    n: isGreedy ? 1 : 1 + (i % 2),
    temperature: isGreedy ? 0 : 1 + (i % 3) / 2,
    max_tokens: 24 + i,
    logprobs: true,
    top_logprobs: 3,
    ...(i % 5 === 2 && { top_p: 0.8, frequency_penalty: 0.5 }),
    ...(i % 5 === 3 && { top_k: 20, repetition_penalty: 1.2, stop: ['ab', 'the'] }),
    ...(i % 5 === 4 && { min_p: 0.02, bad_words: ['e'] }),
  }
}

/** Leaves out the cached tokens, the only part that depends on earlier requests. */
function comparable({ choices, usage, promptTokens }: AnswerContent) {
  const { prompt_tokens, completion_tokens, total_tokens } = usage
  return { choices, promptTokens, usage: { prompt_tokens, completion_tokens, total_tokens } }
}

for (const [name, model] of Object.entries({
  'the built-in model': 'builtin' as const,
  'a random model': { layers: 3, hidden: 96, heads: 3, kvHeads: 1, vocabulary: 1_000 },
})) {
  test(`the same seed gives the same answer to the last digit, streamed or whole, alone or among others: ${name}`, async (t) => {
    const server = await startChatServer(t, { model, settings: { HEDDLE_PARALLEL: '4' } })
    const numbers = Array.from({ length: 18 }, (_, i) => i)

    const alone = []
    for (const i of numbers) {
      const answer = comparable(await server.said({ ...requestOf(i), cache_salt: `alone ${i}` }))
      const tokens = answer.choices.map((choice) => choice.tokens.length)
      assert.equal(
        tokens.reduce((sum, count) => sum + count, 0),
        answer.usage.completion_tokens,
      )
      for (const { tokens: own, logprobs } of answer.choices) assert.equal(logprobs.length, own.length)
      alone.push(answer)
      const streamed = await server.said({ ...requestOf(i), stream: true })
      assert.deepEqual(comparable(streamed), answer, `request ${i}, streamed, alone`)
    }
    assert.ok(
      new Set(alone.map(({ choices }) => choices[0]?.content)).size > 4,
      'the requests have different answers',
    )

    const crowd = await Promise.all(
      [...numbers, ...numbers, ...numbers].map((i, place) =>
        server.said({
          ...requestOf(i),
          stream: place % 2 === 0,
          ...(place % 3 === 0 && { cache_salt: `crowd ${place}` }),
        }),
      ),
    )
    for (const [place, answer] of crowd.entries()) {
      const i = place % numbers.length
      assert.deepEqual(comparable(answer), alone[i], `request ${i}, among others`)
    }
    assert.equal(await server.end('SIGTERM'), 0)
  })
}
