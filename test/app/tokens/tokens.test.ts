import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Backend } from '../../../packages/engine/index.ts'
import { whole } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { scriptedBackend, tokensOf } from '../../support/scripted-backend.ts'

/** A backend that remembers the arguments of its calls. */
function listening() {
  const heard: unknown[] = []
  const backend = scriptedBackend()
  const { tokenize, detokenize } = backend
  backend.tokenize = (...given: Parameters<Backend['tokenize']>) => {
    heard.push(given.slice(0, 2))
    return tokenize(...given)
  }
  backend.detokenize = (...given: Parameters<Backend['detokenize']>) => {
    heard.push(given.slice(0, 2))
    return detokenize(...given)
  }
  return { backend, heard }
}

const tokenized = (text: string) => ({
  status: 200,
  body: {
    count: Array.from(text).length,
    max_model_len: 1_000_000,
    tokens: tokensOf(text),
    token_strs: null,
  },
})

test('POST /tokenize: returns the tokens of a text', async (t) => {
  const { backend, heard } = listening()
  const { post } = await openApp(t, { backend })
  for (const [body, add] of [
    [{ prompt: 'Hé 👍' }, true],
    [{ prompt: 'Hé 👍', add_special_tokens: false, model: 'alias/of-it' }, false],
  ] as const) {
    assert.deepEqual(whole(await post('/tokenize', body)), tokenized('Hé 👍'))
    assert.deepEqual(heard.at(-1), ['Hé 👍', { special: true, add }])
  }
  assert.deepEqual(whole(await post('/tokenize', { prompt: '' })), tokenized(''))
})

test('POST /tokenize: returns the tokens of a conversation, rendered by the template', async (t) => {
  const { backend, heard } = listening()
  const { post } = await openApp(t, { backend })
  const messages = [{ role: 'user', content: 'Hi' }]
  const text = '<s><|user|>Hi<|end|><|assistant|>'
  assert.deepEqual(whole(await post('/tokenize', { messages })), tokenized(text))
  assert.deepEqual(heard.at(-1), [text, { special: true, add: false }])
  const own = {
    messages,
    chat_template: '{{ messages[0].content }}{{ x }}',
    chat_template_kwargs: { x: '!' },
  }
  assert.deepEqual(whole(await post('/tokenize', { ...own, add_special_tokens: true })), tokenized('Hi!'))
  assert.deepEqual(heard.at(-1), ['Hi!', { special: true, add: true }])
  const open = { messages, add_generation_prompt: false }
  assert.deepEqual(whole(await post('/tokenize', open)), tokenized('<s><|user|>Hi<|end|>'))
})

const messages = [{ role: 'user', content: 'Hi' }]

const { post } = await openApp({ after }, { backend: scriptedBackend() })

for (const [what, url, body, status, code, reason] of [
  [
    'neither text nor messages',
    '/tokenize',
    {},
    400,
    'invalid_value',
    'prompt: nothing, and no messages; accepted: either a prompt or messages.',
  ],
  [
    'a text together with messages',
    '/tokenize',
    { prompt: 'x', messages },
    400,
    'invalid_value',
    'prompt: given together with messages; accepted: either a prompt or messages.',
  ],
  ['no message', '/tokenize', { messages: [] }, 400, 'invalid_value', /^messages: /],
  [
    'the texts of tokens',
    '/tokenize',
    { prompt: 'x', return_token_strs: true },
    400,
    'not_available',
    /^return_token_strs: true is not available/,
  ],
  [
    'another model',
    '/tokenize',
    { prompt: 'x', model: 'other' },
    404,
    'model_not_found',
    /^model: the model "other" does not exist/,
  ],
  [
    'another model',
    '/detokenize',
    { tokens: [1], model: 'other' },
    404,
    'model_not_found',
    /^model: the model "other" does not exist/,
  ],
  [
    'a text that is too long',
    '/tokenize',
    { prompt: 'x'.repeat(2 ** 20 + 1) },
    422,
    'invalid_request',
    /prompt: /,
  ],
  ['no tokens', '/detokenize', {}, 422, 'invalid_request', /tokens: /],
  ['a negative token', '/detokenize', { tokens: [1, -1] }, 422, 'invalid_request', /tokens\.1: /],
  [
    'too many tokens',
    '/detokenize',
    { tokens: Array(262_145).fill(1) },
    413,
    'too_many_ids',
    'tokens: 262145 entries; at most 262144 are accepted in one request.',
  ],
  [
    'continuing the last message and adding one',
    '/tokenize',
    { messages, continue_final_message: true },
    400,
    'invalid_value',
    /^continue_final_message: /,
  ],
] as const) {
  test(`POST ${url}: ${what} is refused`, async () => {
    const answer = await post(url, body)
    assert.deepEqual([answer.status, answer.json.code], [status, code])
    assert.match(
      answer.json.reason,
      typeof reason === 'string' ? new RegExp(`^${reason.replaceAll('.', '\\.')}$`) : reason,
    )
  })
}

test('POST /tokenize: templates in requests can be switched off', async (t) => {
  const settings = { HEDDLE_REQUEST_TEMPLATES: 'off' }
  const { post } = await openApp(t, { backend: scriptedBackend(), settings })
  const answer = await post('/tokenize', { messages, chat_template: 'x' })
  assert.deepEqual([answer.status, answer.json.code], [400, 'request_templates_off'])
})

test('POST /detokenize: returns the text of tokens', async (t) => {
  const { backend, heard } = listening()
  const { post } = await openApp(t, { backend })
  const tokens = tokensOf('Hé 👍')
  assert.deepEqual(whole(await post('/detokenize', { tokens })), { status: 200, body: { prompt: 'Hé 👍' } })
  assert.deepEqual(heard.at(-1), [tokens, { special: true, tenant: 'alice' }])
  assert.deepEqual(whole(await post('/detokenize', { tokens: [] })), { status: 200, body: { prompt: '' } })
})

test('without a model there are no tokens', async (t) => {
  const { post } = await openApp(t)
  for (const [url, body] of [
    ['/tokenize', { prompt: 'x' }],
    ['/detokenize', { tokens: [1] }],
  ] as const) {
    const { status, json } = await post(url, body)
    assert.deepEqual([status, json.code], [503, 'model_not_ready'])
  }
})

test('GET /tokenizer_info: returns the fields that evaluation harnesses read before they send tokens', async (t) => {
  const { get } = await openApp(t, { backend: scriptedBackend() })
  const { status, json } = await get('/tokenizer_info')
  assert.equal(status, 200)
  assert.equal(json.model_max_length, 1_000_000)
  assert.deepEqual(Object.keys(json).toSorted(), [
    'bos_token',
    'chat_template',
    'eos_token',
    'model_max_length',
    'pad_token',
    'tokenizer_class',
    'vocab_size',
  ])
  assert.equal((await get('/tokenizer_info?model=nobody')).status, 404)
})
