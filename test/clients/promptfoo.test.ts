import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deciding } from '../app/decisions/deciding.ts'
import { startChat } from './chat/server.ts'

/** The requests of promptfoo 0.123 through its OpenAI providers. The program itself (400 MB) is too large to install. */

const model = 'scripted'
const messages = [{ role: 'user', content: 'What is the capital of Mali?' }]
const text = messages[0]?.content
const ends = ['<|im_end|>', '<|endoftext|>']
const noPenalty = { top_p: 1, presence_penalty: 0, frequency_penalty: 0 }

for (const [path, body, saidOf] of [
  ['chat/completions', { model, messages, max_tokens: 20, temperature: 0 }, 'choices.0.message.content'],
  [
    'completions',
    { model, prompt: text, max_tokens: 20, temperature: 0, ...noPenalty, best_of: 1, stop: ends },
    'choices.0.text',
  ],
  [
    'responses',
    { model, input: text, max_output_tokens: 20, temperature: 0, text: { format: { type: 'text' } } },
    'output.0.content.0.text',
  ],
] as const) {
  test(`promptfoo uses ${path}`, async (t) => {
    const { baseURL, apiKey } = await startChat(t)
    const answer = await fetch(`${baseURL}/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-promptfoo-version': '0.123.1',
      },
      body: JSON.stringify(body),
    })
    const said: unknown = await answer.json()
    assert.equal(answer.status, 200, JSON.stringify(said))
    const found = saidOf
      .split('.')
      .reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], said)
    assert.equal(found, 'Hello')
    const { usage } = said as { usage: { total_tokens: number } }
    assert.ok(usage.total_tokens > 0)
  })
}

interface Answer {
  type: string
  name: string
  probability: number
  probabilities: { value: number | string; label?: string; probability: number }[]
  confidence: number
  score: number
  choice: string
}

interface Decisions {
  answers: Answer[]
  model: string
  usage: Record<string, number | Record<string, number>>
}

test('what promptfoo checks of an answer to openai:decisions holds: types, order, labels and sums', async (t) => {
  const weights = { Y: 0.6, N: 0.2, A: 0.1, B: 0.3, '0': 0.1, '1': 0.1, '2': 0.3 }
  const { baseURL, apiKey } = await startChat(
    t,
    deciding(() => weights),
  )
  const levels = ['bad', 'fair', 'good'].map((label) => ({ label }))
  const questions = [
    { type: 'predicate', name: 'grade', instructions: 'Does it answer?' },
    { type: 'score', name: 'level', instructions: 'How well?', levels },
    {
      type: 'choice',
      name: 'class',
      instructions: 'Which?',
      choices: [{ value: 'city' }, { value: 'river' }],
    },
  ]
  const answer = await fetch(`${baseURL}/decisions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: messages, questions, safety_identifier: 'me' }),
  })
  const { answers, usage, model: own } = (await answer.json()) as Decisions
  assert.deepEqual([answer.status, own, answers.length], [200, model, questions.length])
  const shown = answers.map(({ type, name }) => [type, name])
  assert.deepEqual(
    shown,
    questions.map(({ type, name }) => [type, name]),
  )
  const [grade, level, kind] = answers as [Answer, Answer, Answer]
  assert.ok(grade.probability >= 0 && grade.probability <= 1)
  for (const { probabilities, confidence } of [level, kind]) {
    const sum = probabilities.reduce((total, { probability }) => total + probability, 0)
    assert.ok(Math.abs(sum - 1) <= 0.01 && confidence >= 0 && confidence <= 1)
  }
  const expected = level.probabilities.reduce(
    (total, { value, probability }) => total + Number(value) * probability,
    0,
  )
  assert.ok(Math.abs(level.score - expected) <= 0.01 * (levels.length - 1))
  for (const { value, label } of level.probabilities) assert.equal(label, levels[Number(value)]?.label)
  assert.ok(kind.probabilities.some(({ value }) => value === kind.choice))
  const counts = Object.values(usage).flatMap((value) =>
    typeof value === 'object' ? Object.values(value) : [value],
  )
  assert.ok(counts.length === 6 && counts.every(Number.isInteger), JSON.stringify(usage))
})
