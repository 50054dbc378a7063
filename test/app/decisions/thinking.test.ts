import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localModels } from '../../../src/inference/local-model.ts'
import { openApp } from '../../support/app.ts'
import {
  candidate,
  prefilled,
  promptTokensOf,
  type Script,
  scriptedBackend,
  scriptedModel,
} from '../../support/scripted-backend.ts'
import { hermesTemplate } from '../../support/simulated-backend.ts'
import { deciding } from './deciding.ts'

/** A thought before the answer to a question, within a budget. */

const textOf = (request: Parameters<Script>[0]) => String.fromCodePoint(...promptTokensOf(request))

/** Thinks this when it may, and decides by what it has thought. */
const thinking = (thought: string): Script =>
  async function* (request, signal) {
    const decides = deciding((prompt) =>
      prompt.includes('It insults') ? { Y: 0.9, N: 0.1 } : { Y: 0.2, N: 0.8 },
    )
    if (request.ending.stop.length === 0) return yield* decides(request, signal)
    yield prefilled(request, 3)
    const tokens = Array.from(thought, (letter) => candidate(letter, 0).token)
    yield { kind: 'tokens', choice: 0, text: thought, tokens }
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: '</think>' }
  }

async function open(t: Parameters<typeof openApp>[0], template: string) {
  const backend = scriptedBackend(thinking('It insults.\n'))
  const model = { ...scriptedModel, template, controlTokens: ['<|im_start|>', '<|im_end|>'] }
  backend.model = () => model
  const app = await openApp(t, { models: localModels(backend), backend })
  return { ...app, backend }
}

const rude = { type: 'predicate', name: 'rude', instructions: 'Is it rude?' }
const body = { model: 'scripted', input: 'Get lost.', questions: [rude, { ...rude, name: 'again' }] }

test('a budget lets the model think about each question, and the answer is read behind the closed thought', async (t) => {
  const { post, backend } = await open(t, hermesTemplate)
  const closed = (await post('/v1/decisions', body)).json
  assert.ok(Math.abs(closed.answers[0].probability - 0.2) < 1e-9)
  assert.equal(closed.usage.output_tokens, 0)
  assert.ok(backend.asked.every((request) => textOf(request).endsWith('<think>\n\n</think>\n\n')))

  backend.asked.length = 0
  const { status, json, text } = await post('/v1/decisions', { ...body, thinking_token_budget: 40 })
  assert.equal(status, 200, text)
  assert.ok(Math.abs(json.answers[0].probability - 0.9) < 1e-9)
  const [thought, decision] = backend.asked
  assert.ok(thought && decision)
  const { maxTokens, stop, ignoreEos } = thought.ending
  assert.deepEqual([maxTokens, stop, ignoreEos], [40, ['</think>'], false])
  assert.ok(textOf(thought).endsWith('<|im_start|>assistant\n<think>\n'))
  assert.equal(textOf(decision), `${textOf(thought)}It insults.\n</think>\n\n`)
  // Both thoughts are output; what follows them is read.
  assert.equal(json.usage.output_tokens, 2 * 'It insults.\n'.length)
  assert.equal(json.usage.output_tokens_details.reasoning_tokens, json.usage.output_tokens)
  assert.equal(json.usage.total_tokens, json.usage.input_tokens + json.usage.output_tokens)

  const state = { state: 'Get lost.', questions: { rude: { type: 'noul' } }, thinking_token_budget: 40 }
  const one = (await post('/v1/systemone', state)).json
  assert.ok(Math.abs(one.answers.rude.noul - 0.9) < 1e-9)
  assert.equal(one.usage.output_tokens, 'It insults.\n'.length)
})

test('a thought that its budget cuts off is closed', async (t) => {
  const { post, backend } = await open(t, hermesTemplate)
  backend.script = thinking('It insul')
  const { json } = await post('/v1/decisions', { ...body, thinking_token_budget: 8 })
  assert.ok(Math.abs(json.answers[0].probability - 0.2) < 1e-9)
  assert.ok(textOf(backend.asked[1] ?? assert.fail()).endsWith('<think>\nIt insul\n</think>\n\n'))
})

test('a budget is refused by name where it cannot be kept, and so are other ways to ask for thoughts', async (t) => {
  const { post } = await open(t, hermesTemplate)
  const plain = await openApp(t, { backend: scriptedBackend() })
  const budget = { thinking_token_budget: 40 }
  const without = await plain.post('/v1/decisions', { ...body, ...budget })
  assert.deepEqual([without.status, without.json.error.param], [400, 'thinking_token_budget'])
  for (const [field, value] of [
    ['thinking_token_budget', 0],
    ['thinking_token_budget', 'all'],
    ['reasoning', { effort: 'low' }],
    ['reasoning_effort', 'low'],
  ] as const) {
    const { status, json } = await post('/v1/decisions', { ...body, [field]: value })
    assert.deepEqual([status, json.error.param], [400, field], field)
  }
  assert.equal((await post('/v1/decisions', { ...body, reasoning_effort: 'none' })).status, 200)
  const long = await post('/v1/decisions', {
    ...body,
    input: 'x'.repeat(990_000),
    thinking_token_budget: 32_768,
  })
  assert.deepEqual([long.status, long.json.error.code], [400, 'context_length_exceeded'])
})
