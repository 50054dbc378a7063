import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai-7'
import { deciding } from '../../app/decisions/deciding.ts'
import { startChat } from '../chat/server.ts'

/** The unmodified client of OpenAI. */

const weights = { Y: 0.6, N: 0.2, A: 0.1, B: 0.3, '0': 0.1, '1': 0.3 }
const { baseURL, apiKey } = await startChat(
  { after },
  deciding(() => weights),
)
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })

test('decisions.create sends all kinds of questions and reads their answers', async () => {
  const { answers, model, usage } = await client.decisions.create({
    model: 'scripted',
    input: [
      { role: 'developer', content: 'Be strict.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Hi' },
          { type: 'input_json', data: { a: 1 } },
        ],
      },
      { type: 'function_call', call_id: 'c', name: 'find', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'nothing' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
    ],
    questions: [
      { type: 'predicate', name: 'kind', instructions: 'Is it kind?' },
      {
        type: 'choice',
        instructions: [{ type: 'input_text', text: 'Which?' }],
        choices: [{ value: true }, { value: 'true', description: 'the word' }],
      },
      {
        type: 'score',
        name: 'good',
        instructions: 'How good?',
        levels: [{ label: 'bad' }, { label: 'good' }],
      },
    ],
    prompt_cache_key: 'mine',
    safety_identifier: 'me',
  })
  assert.equal(model, 'scripted')
  const [kind, which, good] = answers
  assert.ok(kind?.type === 'predicate' && Math.abs(kind.probability - 0.75) < 1e-9 && kind.name === 'kind')
  assert.ok(which?.type === 'choice' && which.choice === 'true' && which.name === null)
  assert.deepEqual(
    which.probabilities.map(({ value }) => value),
    [true, 'true'],
  )
  assert.ok(good?.type === 'score' && Math.abs(good.score - 0.75) < 1e-9)
  assert.deepEqual(
    good.probabilities.map(({ label, value }) => [label, value]),
    [
      ['bad', 0],
      ['good', 1],
    ],
  )
  // promptfoo demands that each of them is a whole number.
  for (const count of [
    usage.input_tokens,
    usage.output_tokens,
    usage.total_tokens,
    usage.input_tokens_details.cached_tokens,
    usage.input_tokens_details.cache_write_tokens,
    usage.output_tokens_details.reasoning_tokens,
  ]) {
    assert.ok(Number.isInteger(count))
  }
  assert.equal(usage.output_tokens, 0)
})

test('a refusal is an error of the right class, and names the field', async () => {
  await assert.rejects(client.decisions.create({ model: 'scripted', input: '', questions: [] }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError)
    assert.deepEqual([error.param, error.code], ['questions', 'invalid_value'])
    return true
  })
})
