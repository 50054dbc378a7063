import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { scriptedBackend, scriptedModel, tokensOf } from '../../support/scripted-backend.ts'

const backend = scriptedBackend()
const infill = { prefix: 1, suffix: 2, middle: 3, ends: [4, 5] }
backend.served = { ...scriptedModel, context: 80, infill }
const { post } = await openApp({ after }, { backend })

const asked = () => {
  const [{ prompt, ending } = assert.fail()] = backend.asked.splice(0)
  assert.ok('tokens' in prompt)
  return { tokens: prompt.tokens, stopTokens: ending.stopTokens }
}

test('a suffix is what follows the gap that the answer fills', async () => {
  const body = { prompt: 'a<|fim_suffix|>', suffix: 'b', max_tokens: 5, stop_token_ids: [9] }
  const { json } = await post('/v1/completions', { ...body, echo: true })
  const tokens = [1, ...tokensOf('a<|fim_suffix|>'), 2, ...tokensOf('b'), 3]
  assert.deepEqual(asked(), { tokens, stopTokens: [9, 4, 5] })
  assert.equal(json.choices[0].text, 'a<|fim_suffix|>Hello')
  await post('/v1/completions', { ...body, prompt: ['a', 'c'], ignore_eos: true })
  const [first, second] = backend.asked.splice(0)
  assert.deepEqual(first?.prompt, { tokens: [1, 97, 2, 98, 3] })
  assert.deepEqual(second?.prompt, { tokens: [1, 99, 2, 98, 3] })
  assert.deepEqual(first?.ending.stopTokens, [9])
})

test('an empty suffix is none', async () => {
  await post('/v1/completions', { prompt: 'a', suffix: '', max_tokens: 5 })
  assert.deepEqual(backend.asked.splice(0)[0]?.prompt, { text: 'a', special: true, add: true })
})

test('Ollama’s suffix is the same, and both texts are cut to what fits', async () => {
  const ask = (prompt: string, suffix: string, num_predict = 10) =>
    post('/api/generate', { prompt, suffix, options: { num_predict }, stream: false })
  const { json, status } = await ask('a', 'b')
  assert.deepEqual([status, json.response], [200, 'Hello'])
  assert.deepEqual(asked().tokens, [1, 97, 2, 98, 3])
  const length = (text: string) => tokensOf(text).length
  const sides = ({ tokens }: ReturnType<typeof asked>) => {
    const gap = tokens.indexOf(2)
    return [String.fromCodePoint(...tokens.slice(1, gap)), String.fromCodePoint(...tokens.slice(gap + 1, -1))]
  }
  const long = Array.from({ length: 300 }, (_, index) => String.fromCodePoint(200 + index)).join('')
  // Of 80 tokens, ten are for the answer and three are the marks.
  await ask(long, long)
  assert.deepEqual(sides(asked()), [long.slice(-51), long.slice(0, 16)])
  await ask(long, 'b')
  assert.deepEqual(sides(asked()), [long.slice(-66), 'b'])
  await ask('a', long)
  assert.deepEqual(sides(asked()), ['a', long.slice(0, 66)])
  await ask(long, long, 1_000_000)
  const [before = '', behind = ''] = sides(asked())
  assert.equal(length(before) + length(behind), 37)
  assert.deepEqual((await post('/api/show', {})).json.capabilities, [
    'completion',
    'tools',
    'insert',
    'embedding',
  ])
  assert.match((await post('/api/show', {})).json.template, /\.Suffix/)
})

test('a model without tokens for it refuses it by name, on both doors', async (t) => {
  const { post: ask } = await openApp(t, { backend: scriptedBackend() })
  const { status, json } = await ask('/v1/completions', { prompt: 'a', suffix: 'b' })
  assert.deepEqual([status, json.error.param], [400, 'suffix'])
  const other = await ask('/api/generate', { prompt: 'a', suffix: 'b' })
  assert.equal(other.status, 400)
  assert.match(other.json.error, /does not support insert, which `suffix` asks for/)
})
