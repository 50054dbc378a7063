import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GivenMessage } from '../../../packages/chat-format/index.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import { askWithTruncation } from '../../../src/operations/responses/fitting.ts'

const message = (role: string, content: string): GivenMessage => ({ role, content })

/** A model in which each character is a token. */
function asking(limit: number) {
  const asked: (readonly GivenMessage[])[] = []
  return {
    asked,
    async ask(messages: readonly GivenMessage[]) {
      asked.push(messages)
      const prompt = messages.reduce((sum, { content }) => sum + String(content).length, 0)
      if (prompt + 10 > limit) {
        throw refuse('context_length_exceeded', { limit, prompt, answer: 10, field: 'input' })
      }
      return messages
    },
  }
}

const conversation = [
  message('system', 'S'.repeat(20)),
  ...['a', 'b', 'c', 'd'].flatMap((name) => [
    message('user', name.repeat(50)),
    message('assistant', name.repeat(50)),
    message('tool', name.repeat(50)),
  ]),
  message('user', 'last'),
]

test('a conversation that fits is sent unchanged', async () => {
  const { ask, asked } = asking(10_000)
  assert.equal(await askWithTruncation(conversation, ask), conversation)
  assert.equal(asked.length, 1)
})

test('the oldest turns are dropped as a whole, and the system message stays', async () => {
  for (const limit of [500, 400, 300, 200, 100, 34]) {
    const { ask } = asking(limit)
    const left = await askWithTruncation(conversation, ask)
    assert.equal(left[0], conversation[0])
    assert.equal(left[1]?.role, 'user')
    assert.deepEqual(left.slice(1), conversation.slice(conversation.length - left.length + 1))
  }
})

test('a count of which only the least is known is enough', async () => {
  const ask = async (messages: readonly GivenMessage[]) => {
    const prompt = messages.reduce((sum, { content }) => sum + String(content).length, 0)
    const known = prompt > 250 ? `at least ${prompt - 50}` : prompt
    const values = { limit: 100, prompt: known, answer: 'at least 1', field: 'input' }
    if (prompt >= 100) throw refuse('context_length_exceeded', values)
    return messages
  }
  assert.deepEqual(await askWithTruncation(conversation, ask), [conversation[0], conversation.at(-1)])
})

test('a last turn that is too long by itself is refused', async () => {
  for (const given of [conversation, conversation.slice(-1), conversation.slice(0, 1), []]) {
    const { ask, asked } = asking(12)
    if (given.length === 0) continue
    await assert.rejects(askWithTruncation(given, ask), { code: 'context_length_exceeded' })
    assert.ok(asked.length <= 8)
  }
})

test('other refusals are not retried', async () => {
  let tries = 0
  const ask = async () => {
    tries++
    throw refuse('engine_queue_full', { limit: 1 })
  }
  await assert.rejects(askWithTruncation(conversation, ask), { code: 'engine_queue_full' })
  assert.equal(tries, 1)
})
