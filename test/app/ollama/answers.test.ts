import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { refuse } from '../../../src/domain/refusals.ts'
import { type Answer, openApp } from '../../support/app.ts'
import { pngOf } from '../../support/pictures.ts'
import {
  prefilled,
  scriptedBackend,
  scriptedModel,
  scriptOf,
  tokens,
} from '../../support/scripted-backend.ts'
import { hermesTemplate, simulatedBackend } from '../../support/simulated-backend.ts'

const backend = scriptedBackend()
const { post, send } = await openApp({ after }, { backend })
const user = (content: string) => ({ role: 'user', content })
const messages = [user('Hi')]

const linesOf = (text: string) => {
  assert.ok(text.endsWith('\n'))
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}
const counts = { prompt_eval_count: 33, eval_count: 5, load_duration: 0 }

/** Times differ from run to run. */
function withoutTimes({
  created_at,
  total_duration,
  prompt_eval_duration,
  eval_duration,
  ...line
}: Answer['json']) {
  assert.match(created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  if (line.done) {
    for (const time of [total_duration, prompt_eval_duration, eval_duration])
      assert.ok(Number.isInteger(time))
  }
  return line
}

test('a chat is streamed in lines unless told otherwise, under the name that was asked for', async () => {
  const answer = await post('/api/chat', { model: 'scripted:latest', messages })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'application/x-ndjson')
  const model = 'scripted:latest'
  const said = (content: string) => ({ model, message: { role: 'assistant', content } })
  const lines = linesOf(answer.text).map(withoutTimes)
  const last = lines.pop()
  for (const { message, ...line } of lines) {
    assert.deepEqual([line, message.role], [{ model, done: false }, 'assistant'])
  }
  assert.equal(lines.map(({ message }) => message.content).join(''), 'Hello')
  assert.deepEqual(last, { ...said(''), done: true, done_reason: 'stop', ...counts })
  const whole = await post('/api/chat', { model, messages, stream: false })
  assert.deepEqual(withoutTimes(whole.json), {
    ...said('Hello'),
    done: true,
    done_reason: 'stop',
    ...counts,
  })
})

test('a prompt is a conversation of its own; raw, it is the whole prompt', async () => {
  backend.asked.length = 0
  const body = { model: 'scripted', prompt: 'Hi', stream: false }
  const answer = await post('/api/generate', { ...body, system: 'Be short.' })
  assert.equal(answer.json.response, 'Hello')
  assert.equal(answer.json.message, undefined)
  // Clients that keep it send it back.
  assert.deepEqual(answer.json.context, [])
  assert.equal((await post('/api/generate', { ...body, context: answer.json.context })).status, 200)
  backend.asked.pop()
  const raw = await post('/api/generate', { ...body, raw: true, stream: true })
  const lines = linesOf(raw.text)
  assert.equal(lines.map(({ response }) => response).join(''), 'Hello')
  assert.equal(lines.at(-1).done, true)
  for (const { context } of lines) assert.deepEqual(context, [])
  assert.deepEqual(
    backend.asked.map(({ prompt }) => 'text' in prompt && prompt.text),
    ['<s><|system|>Be short.<|end|><|user|>Hi<|end|><|assistant|>', 'Hi'],
  )
})

test('options are those of chat completions; what has no effect is named', async () => {
  backend.asked.length = 0
  const options = {
    ...{ temperature: 0.5, top_p: 0.25, top_k: 3, min_p: 0.1, seed: 7, stop: ['end'] },
    ...{ presence_penalty: 0.5, frequency_penalty: 1, repeat_penalty: 1.5, num_predict: 9 },
    ...{ num_ctx: 5_000_000, repeat_last_n: 64, num_gpu: 1, mirostat: 0, temprature: 1 },
  }
  const answer = await post('/api/chat', { messages, options, keep_alive: '5m', kep_alive: 1, stream: false })
  assert.equal(answer.status, 200)
  assert.equal(
    answer.headers['x-heddle-ignored-fields'],
    'options.temprature, kep_alive, options.num_ctx, options.repeat_last_n',
  )
  const [{ sampling, ending } = assert.fail()] = backend.asked
  assert.deepEqual(
    { ...sampling },
    {
      ...{ temperature: 0.5, topP: 0.25, topK: 3, minP: 0.1, seed: 7n, presencePenalty: 0.5 },
      ...{ frequencyPenalty: 1, repetitionPenalty: 1.5, bias: [], badWords: [] },
    },
  )
  assert.equal(ending.maxTokens, 9)
  assert.deepEqual(ending.stop, ['end'])
  assert.equal(ending.isClipped, true)
  for (const [changed, expected] of [
    [{ num_predict: -1 }, undefined],
    [{ num_predict: -2 }, undefined],
    [{ num_predict: 0 }, undefined],
    [{ repeat_penalty: 1.5, repeat_last_n: 0 }, undefined],
  ] as const) {
    backend.asked.length = 0
    const unnamed = await post('/api/chat', { messages, options: changed, stream: false })
    assert.equal(unnamed.headers['x-heddle-ignored-fields'], undefined)
    assert.equal(backend.asked[0]?.ending.maxTokens, expected)
    assert.equal(backend.asked[0]?.sampling.repetitionPenalty, 1)
  }
})

const refused: Record<string, [url: string, body: object, field: string]> = {
  'a picture': ['/api/chat', { messages: [{ ...user('?'), images: ['iVBORw0KGgo='] }] }, 'messages.0.images'],
  'a picture of a prompt': ['/api/generate', { prompt: '?', images: ['iVBORw0KGgo='] }, 'images'],
  'a template': ['/api/generate', { prompt: '?', template: '{{ .Prompt }}' }, 'template'],
  'a context': ['/api/generate', { prompt: '?', context: [1, 2] }, 'context'],
  'a system message of a raw prompt': ['/api/generate', { prompt: '?', raw: true, system: 'x' }, 'system'],
  'a picture that is to be drawn': ['/api/generate', { prompt: '?', width: 10 }, 'width'],
  Mirostat: ['/api/chat', { messages, options: { mirostat: 2 } }, 'options.mirostat'],
  'an option of another type': ['/api/chat', { messages, options: { num_ctx: 'large' } }, 'options.num_ctx'],
  'a format that is no schema': ['/api/chat', { messages, format: 'xml' }, 'format'],
  'a schema that is wrong': ['/api/chat', { messages, format: { type: 'strin' } }, 'format'],
  'thoughts of a model without any': ['/api/chat', { messages, think: true }, 'model'],
  'candidates without log-probabilities': ['/api/chat', { messages, top_logprobs: 2 }, 'top_logprobs'],
}
for (const [what, [url, body, field]] of Object.entries(refused)) {
  test(`${what} is refused by name`, async () => {
    const { status, json } = await post(url, body)
    assert.equal(status, 400, JSON.stringify(json))
    assert.deepEqual(Object.keys(json), ['error', 'code'])
    assert.match(json.error, new RegExp(`(^|: )${field}`))
  })
}

test('a model that does not exist, a body that is no JSON, a route that does not exist', async () => {
  assert.equal((await post('/api/chat', { model: 'nope', messages })).status, 404)
  const broken = await post('/api/chat', '{"model":')
  assert.deepEqual([broken.status, broken.json.code], [400, 'malformed_json'])
  assert.deepEqual((await post('/api/nothing', {})).json.code, 'route_not_found')
})

test('log-probabilities come with each line, and all of them with a whole answer', async () => {
  const body = { messages, logprobs: true, top_logprobs: 1 }
  const lines = linesOf((await post('/api/chat', body)).text)
  const streamed = lines.flatMap(({ logprobs = [] }) => logprobs)
  assert.equal(streamed.map(({ token }) => token).join(''), 'Hello')
  assert.equal(lines.at(-1).logprobs, undefined)
  const { json } = await post('/api/chat', { ...body, stream: false })
  assert.deepEqual(json.logprobs, streamed)
  assert.deepEqual(json.logprobs[0].top_logprobs.length, 1)
})

test('a failure in the middle of a stream is its last line', async (t) => {
  const failing = scriptedBackend(function* (request) {
    yield prefilled(request)
    yield tokens('Hel', request)
    yield refuse('engine_failed', { why: 'a cosmic ray' })
  })
  const own = await openApp(t, { backend: failing })
  const { status, text } = await own.post('/api/chat', { messages })
  assert.equal(status, 200)
  const [first, last, ...others] = linesOf(text)
  assert.equal(first.message.content, 'Hel')
  assert.deepEqual([Object.keys(last), last.code, others], [['error', 'code'], 'engine_failed', []])
  const whole = await own.post('/api/chat', { messages, stream: false })
  assert.deepEqual([whole.status, whole.json.code], [503, 'engine_failed'])
})

test('without a prompt the model is only loaded', async () => {
  for (const [url, body] of [
    ['/api/chat', {}],
    ['/api/chat', { messages: [] }],
    ['/api/generate', { prompt: '' }],
  ] as const) {
    backend.asked.length = 0
    const [line, ...others] = linesOf((await post(url, { model: 'scripted', ...body })).text)
    assert.deepEqual([line.done, line.done_reason, others], [true, 'load', []])
    const { json } = await post(url, { model: 'scripted', ...body, keep_alive: 0, stream: false })
    assert.equal(json.done_reason, 'unload')
    assert.equal(backend.asked.length, 0)
  }
})

test('an answer is a call in the form of completions, whatever was asked', async () => {
  const read = async (headers: Record<string, unknown>) => {
    const { json } = await post('/call/read', { project_id: 'acme/default', id: headers['x-heddle-call-id'] })
    return json.call
  }
  const fields = { options: { temperature: 0, num_predict: 8, seed: 1 }, format: 'json', model: 'scripted' }
  const script = backend.script
  backend.script = scriptOf('{}')
  const answer = await send('POST', '/api/chat', { messages, ...fields }).finally(() => {
    backend.script = script
  })
  const { op_name, attributes, inputs, output, summary } = await read(answer.headers)
  assert.equal(op_name, 'heddle.chat.completions')
  assert.deepEqual([attributes.heddle.wire, attributes.heddle.stream], ['ollama', true])
  assert.deepEqual(inputs, {
    ...{ model: 'scripted', temperature: 0, seed: 1, max_tokens: 8, stream: true, messages },
    response_format: { type: 'json_object' },
  })
  assert.equal(output.choices[0].message.content, '{}')
  assert.equal(summary.usage.scripted.requests, 1)
  const raw = await read((await post('/api/generate', { prompt: 'Once', raw: true, stream: false })).headers)
  assert.equal(raw.op_name, 'heddle.completions')
  assert.equal(raw.inputs.prompt, 'Once')
  assert.equal(raw.output.choices[0].text, 'Hello')
  const off = await post('/api/chat', { messages, store: false, stream: false })
  assert.equal(off.headers['x-heddle-call-id'], undefined)
})

test('Open WebUI’s chat is the thread of the call', async (t) => {
  const { app, post: ask } = await openApp(t, { backend: scriptedBackend() })
  const { headers } = await app.inject({
    method: 'POST',
    url: '/api/chat',
    headers: { authorization: 'Bearer the-secret-key-of-alice', 'x-openwebui-chat-id': 'chat-7' },
    payload: { messages, stream: false },
  })
  const { json } = await ask('/call/read', { project_id: 'acme/default', id: headers['x-heddle-call-id'] })
  assert.equal(json.call.thread_id, 'chat-7')
})

test('calls come whole, thoughts apart, and results find their call by order or name', async (t) => {
  const call = (city: string) =>
    `<tool_call>\n{"name": "weather", "arguments": {"city": "${city}"}}\n</tool_call>`
  const simulated = simulatedBackend(t, `<think>\nHm.\n</think>\n\n${call('Bonn')}\n${call('Rome')}`)
  const { post: ask } = await openApp(t, { backend: simulated })
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const tools = [
    { type: 'function', function: { name: 'weather', parameters } },
    { type: 'function', function: { name: 'now', parameters: { type: 'object' } } },
  ]
  const { json } = await ask('/api/chat', { messages, tools, stream: false })
  assert.equal(json.message.thinking.trim(), 'Hm.')
  const calls = json.message.tool_calls.map(({ function: made }: { function: object }) => made)
  assert.deepEqual(calls, [
    { name: 'weather', arguments: { city: 'Bonn' } },
    { name: 'weather', arguments: { city: 'Rome' } },
  ])
  const lines = linesOf((await ask('/api/chat', { messages, tools })).text)
  const streamed = lines.flatMap(({ message }) => message.tool_calls ?? [])
  assert.deepEqual(
    streamed.map(({ function: made }) => made),
    calls,
  )

  const onlyNow = { type: 'function', name: 'now' }
  simulated.say = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
  const chosen = await ask('/api/chat', { messages, tools, tool_choice: onlyNow, stream: false })
  assert.equal(chosen.json.message.tool_calls[0].function.name, 'now')
  const { json: kept } = await ask('/call/read', {
    project_id: 'acme/default',
    id: chosen.headers['x-heddle-call-id'],
  })
  assert.deepEqual(kept.call.inputs.tool_choice, { type: 'function', function: { name: 'now' } })
  for (const [tool_choice, error] of [
    [{ ...onlyNow, name: 'later' }, /^tool_choice: the tool "later"/],
    ['always', /tool_choice: expected/],
  ] as const) {
    const refused = await ask('/api/chat', { messages, tools, tool_choice, stream: false })
    assert.equal(refused.status, 400)
    assert.match(refused.json.error, error)
  }

  simulated.asked.length = 0
  simulated.say = 'Warm.'
  const next = await ask('/api/chat', {
    messages: [
      ...messages,
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ function: calls[0] }, { function: { name: 'now', arguments: {} } }],
      },
      { role: 'tool', tool_name: 'now', content: 'noon' },
      { role: 'tool', content: '21 degrees' },
    ],
    tools,
    stream: false,
    think: false,
  })
  assert.equal(next.json.message.content, 'Warm.')
  const { json: recorded } = await ask('/call/read', {
    project_id: 'acme/default',
    id: next.headers['x-heddle-call-id'],
  })
  assert.deepEqual(
    recorded.call.inputs.messages
      .slice(1)
      .map((message: Answer['json']) => [
        message.tool_calls?.map(({ id }: { id: string }) => id) ?? message.tool_call_id,
        message.content,
      ]),
    [
      [['call_0', 'call_1'], ''],
      ['call_1', 'noon'],
      ['call_0', '21 degrees'],
    ],
  )
  const schema = {
    type: 'object',
    properties: { a: { const: 1 } },
    required: ['a'],
    additionalProperties: false,
  }
  simulated.say = '{"a": 1}'
  const fitted = await ask('/api/chat', { messages, format: schema, think: false, stream: false })
  assert.deepEqual(JSON.parse(fitted.json.message.content), { a: 1 })
})

test('pictures go to a model that reads them, as the data of their kind', async (t) => {
  const seeing = scriptedBackend()
  seeing.served = { ...scriptedModel, passesPictures: true, template: hermesTemplate }
  const { post: ask } = await openApp(t, { backend: seeing })
  const odd = await ask('/api/chat', { messages: [{ ...user('?'), images: ['AAAA'] }] })
  assert.match(odd.json.error, /^messages\.0\.images\.0: /)
  // The engine of this machine has no such model: it refuses the part that the picture became.
  const { json } = await ask('/api/chat', {
    messages: [{ ...user('?'), images: [pngOf(4, 3).toString('base64')] }],
  })
  assert.match(json.error, /^messages\.0\.content\.1\.type: a part of type "image_url"/)
})
