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
  assert.deepEqual((await post('/api/show', { model: 'scripted' })).json.capabilities, [
    'completion',
    'tools',
    'insert',
    'embedding',
  ])
  assert.match((await post('/api/show', { model: 'scripted' })).json.template, /\.Suffix/)
})

const gap = { input_prefix: 'a', input_suffix: 'b' }

test('/infill fills the gap of an editor, as llama-server does', async () => {
  const { status, json, headers } = await post('/infill', {
    ...gap,
    ...{ prompt: '  ', n_predict: 5, t_max_predict_ms: 1_000, samplers: ['top_k'], cache_prompt: true },
  })
  assert.equal(status, 200)
  const [{ prompt, ending, sampling } = assert.fail()] = backend.asked.splice(0)
  assert.deepEqual(prompt, { tokens: [1, 97, 2, 98, 3, ...tokensOf('  ')] })
  assert.deepEqual(ending.stopTokens, [4, 5])
  assert.deepEqual([sampling.temperature, sampling.topK, sampling.topP, sampling.minP], [0.8, 40, 0.95, 0.05])
  const { timings, ...answer } = json
  assert.deepEqual(answer, {
    ...{ index: 0, content: 'Hello', stop: true, model: 'scripted', stop_type: 'eos', stopping_word: '' },
    ...{ tokens_predicted: 5, tokens_evaluated: 7, tokens_cached: 3, truncated: false, has_new_line: false },
  })
  assert.deepEqual([timings.prompt_n, timings.predicted_n], [4, 5])
  assert.equal(headers['x-heddle-ignored-fields'], 'samplers, t_max_predict_ms')
})

test('/infill only reads the prompt of n_predict 0, and answers with the fields that were asked for', async () => {
  const { json } = await post('/infill', {
    ...gap,
    ...{
      n_predict: 0,
      response_fields: ['content', 'timings/predicted_n', 'no/such', 'stop/deeper', '__proto__'],
    },
  })
  assert.deepEqual(Object.entries(json), [
    ['content', ''],
    ['timings/predicted_n', 0],
  ])
  assert.equal(backend.asked.splice(0)[0]?.ending.maxTokens, 1)
})

test('/infill streams texts, and a last event that says how it ended', async () => {
  const { text } = await post('/infill', { ...gap, n_predict: 5, stream: true })
  backend.asked.splice(0)
  const events = text
    .trim()
    .split('\n\n')
    .map((event) => JSON.parse(event.replace(/^data: /, '')))
  assert.equal(events.map(({ content }) => content).join(''), 'Hello')
  assert.deepEqual(
    events.map(({ stop }) => stop),
    [...events.slice(1).map(() => false), true],
  )
  assert.equal(events.at(-1).stop_type, 'eos')
})

test('/infill reads other files first: with the tokens for them, or as text, and what fits of their end', async () => {
  const input_extra = [
    { filename: 'a.ts', text: 'one' },
    { filename: 'b.ts', text: 'two' },
  ]
  const read = async (fields: object) => {
    const { status } = await post('/infill', { ...gap, ...fields, n_predict: 5 })
    assert.equal(status, 200)
    return asked().tokens
  }
  const after = [1, 97, 2, 98, 3]
  assert.deepEqual(await read({ input_extra }), [...tokensOf('one\ntwo\n'), ...after])
  const long = 'x'.repeat(100)
  const cut = await read({ input_extra: [{ text: long }, { text: 'end' }] })
  assert.deepEqual(cut, [...tokensOf(`${'x'.repeat(60)}\nend\n`), ...after])
  backend.served = { ...scriptedModel, context: 80, infill: { ...infill, file: 7, project: 8 } }
  const named = [8, ...tokensOf('project\n'), 7, ...tokensOf('a.ts\none\n'), 7, ...tokensOf('b.ts\ntwo\n')]
  assert.deepEqual(await read({ input_extra }), [...named, 7, ...tokensOf('current\n'), ...after])
  backend.served = { ...scriptedModel, context: 80, infill }
})

test('/infill refuses by name', async (t) => {
  for (const [fields, param] of [
    [{ n_predict: -2 }, 'n_predict'],
    [{ input_prefix: 7 }, 'input_prefix'],
    [{ input_extra: [{ filename: 'a' }] }, 'input_extra.0.text'],
    [{ top_p: 2 }, 'top_p'],
    [{ model: 'another' }, 'model'],
  ] as const) {
    const { status, json } = await post('/infill', { ...gap, ...fields })
    assert.deepEqual([status, json.error?.param], [param === 'model' ? 404 : 400, param])
  }
  const { post: ask } = await openApp(t, { backend: scriptedBackend() })
  const { status, json } = await ask('/infill', gap)
  assert.deepEqual([status, json.error.param], [400, 'input_suffix'])
})

test('a model without tokens for it refuses it by name, on both doors', async (t) => {
  const { post: ask } = await openApp(t, { backend: scriptedBackend() })
  const { status, json } = await ask('/v1/completions', { prompt: 'a', suffix: 'b' })
  assert.deepEqual([status, json.error.param], [400, 'suffix'])
  const other = await ask('/api/generate', { prompt: 'a', suffix: 'b' })
  assert.equal(other.status, 400)
  assert.match(other.json.error, /does not support insert, which `suffix` asks for/)
})

test('/v1/fim/completions fills a gap in the form of Mistral’s chat', async () => {
  const body = { model: 'scripted', prompt: 'a', suffix: 'b', max_tokens: 5 }
  const options = { min_tokens: 1, temperature: 0.5, top_p: 0.9, random_seed: 7, stop: ['###'] }
  const { status, json, headers } = await post('/v1/fim/completions', {
    ...body,
    ...options,
    ...{ prompt_cache_key: 'x', typo: 1 },
  })
  assert.equal(status, 200)
  const [{ prompt, ending, sampling } = assert.fail()] = backend.asked.splice(0)
  assert.deepEqual(prompt, { tokens: [1, 97, 2, 98, 3] })
  assert.deepEqual(
    [ending.maxTokens, ending.minTokens, ending.stop, sampling.temperature, sampling.topP, sampling.seed],
    [5, 1, ['###'], 0.5, 0.9, 7n],
  )
  assert.deepEqual(
    [json.object, json.choices],
    [
      'chat.completion',
      [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    ],
  )
  assert.deepEqual([json.usage.prompt_tokens, json.usage.completion_tokens], [5, 5])
  assert.match(String(headers['x-heddle-ignored-fields']), /typo/)
  const { text } = await post('/v1/fim/completions', { ...body, stream: true })
  backend.asked.splice(0)
  const events = text
    .trim()
    .split('\n\n')
    .map((event) => event.replace(/^data: /, ''))
  assert.equal(events.pop(), '[DONE]')
  const chunks = events.map((event) => JSON.parse(event))
  assert.equal(chunks.map(({ choices }) => choices[0].delta.content).join(''), 'Hello')
  assert.equal(chunks[0].choices[0].delta.role, 'assistant')
  for (const { object, usage } of chunks.slice(0, -1))
    assert.deepEqual([object, usage], ['chat.completion.chunk', undefined])
  assert.deepEqual(
    [chunks.at(-1).choices[0].finish_reason, chunks.at(-1).usage.completion_tokens],
    ['stop', 5],
  )
})

test('/v1/fim/completions without a suffix goes on, and refuses by name', async () => {
  await post('/v1/fim/completions', { prompt: 'a' })
  assert.deepEqual(backend.asked.splice(0)[0]?.prompt, { text: 'a', special: true, add: true })
  for (const [field, fields] of Object.entries({
    prompt: { prompt: ['a'] },
    max_tokens: { prompt: 'a', max_tokens: 0 },
    min_tokens: { prompt: 'a', max_tokens: 2, min_tokens: 3 },
    random_seed: { prompt: 'a', random_seed: 'x' },
  })) {
    const { status, json } = await post('/v1/fim/completions', fields)
    assert.deepEqual([status, json.error.param], [400, field])
  }
})
