import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Generation } from '../../../packages/engine/index.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import { openApp } from '../../support/app.ts'
import { asking, assertRefused, chatUrl } from '../../support/chat.ts'
import { scriptedBackend, scriptedModel, scriptOf } from '../../support/scripted-backend.ts'

const knit = { type: 'function', function: { name: 'knit' } }
const named = { type: 'function', function: { name: 'knit' } }

test('HEDDLE_TOOL_CHOICE=none accepts only tool_choice none, and tools as the specification says', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend, settings: { HEDDLE_TOOL_CHOICE: 'none' } })
  for (const tool_choice of ['auto', 'required', named]) {
    assertRefused(await post(chatUrl, asking({ tools: [knit], tool_choice })), {
      status: 400,
      code: 'tool_choice_off',
      param: 'tool_choice',
      message: /accepted: "none"/,
    })
  }
  for (const fields of [{}, { tool_choice: 'none' }, { tool_choice: null }]) {
    assert.equal((await post(chatUrl, asking({ tools: [knit], ...fields }))).status, 200)
  }
})

test('a number that a double would round is shown as sent, with the bound that it exceeds', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  for (const [field, given, message] of [
    ['n', '9007199254740993', /<=128, received 9007199254740993\.$/],
    ['max_tokens', '12345678901234567890123', /<=2147483647, received 12345678901234567890123\.$/],
    ['min_tokens', '-9223372036854775809', />=0, received -9223372036854775809\.$/],
    ['stop_token_ids', '[1,18446744073709551617]', /<=2147483647, received 18446744073709551617\.$/],
    ['temperature', '1e400', /expected number, received 1e400\.$/],
  ] as const) {
    const body = JSON.stringify(asking()).replace(/^{/, `{"${field}":${given},`)
    const param = field === 'stop_token_ids' ? 'stop_token_ids.1' : field
    assertRefused(await post(chatUrl, body), { status: 400, code: 'invalid_request', param, message })
  }
})

test('requests are checked in this order', async (t) => {
  const backend = scriptedBackend()
  backend.generate = () => {
    throw refuse('context_length_exceeded', { limit: 10, prompt: 20, answer: 1 })
  }
  const { app, post } = await openApp(t, { backend })
  // Everything is wrong at first, and then one thing after the other is corrected.
  const wrong: Record<string, unknown> = {
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'x' }] }],
    temperature: 'hot',
    min_tokens: 5,
    max_tokens: 4,
    model: 'another',
    tool_choice: 'auto',
    chat_template: '{{ raise_exception("no") }}',
  }
  const without = await app.inject({ method: 'POST', url: chatUrl, payload: '{' })
  assert.equal(without.statusCode, 401)
  assert.equal(without.json().error.type, 'authentication_error')
  assertRefused(await post(chatUrl, '{'), { status: 400, code: 'malformed_json', param: null })
  const after = async (change: Record<string, unknown>) => post(chatUrl, Object.assign(wrong, change))
  assertRefused(await after({}), { status: 400, code: 'invalid_request', param: 'temperature' })
  assertRefused(await after({ temperature: 1 }), { status: 400, code: 'invalid_value', param: 'min_tokens' })
  backend.served = undefined
  backend.state = { state: 'starting', doing: 'loading the model' }
  assertRefused(await after({ max_tokens: 9 }), {
    status: 503,
    code: 'model_not_ready',
    param: null,
    message: /loading the model/,
  })
  backend.served = scriptedModel
  assertRefused(await after({}), { status: 404, code: 'model_not_found', param: 'model' })
  assertRefused(await after({ model: null }), { status: 400, code: 'invalid_value', param: 'tool_choice' })
  assertRefused(await after({ tool_choice: 'none' }), {
    status: 400,
    code: 'invalid_value',
    param: 'messages.0.content.0.type',
  })
  assertRefused(await after({ messages: asking().messages }), {
    status: 400,
    code: 'template_failed',
    param: 'chat_template',
    message: /: no\.$/,
  })
  for (const stream of [false, true]) {
    assertRefused(await after({ chat_template: null, stream }), {
      status: 400,
      code: 'context_length_exceeded',
      param: 'messages',
      message: /maximum context length is 10 tokens/,
    })
  }
})

test('a prompt that is too long for the context is refused, and the field is named', async (t) => {
  const backend = scriptedBackend()
  backend.generate = async ({ ending }) => {
    throw refuse('context_length_exceeded', {
      limit: 10,
      prompt: 5,
      answer: ending.maxTokens ?? 'at least 1',
    })
  }
  const { post } = await openApp(t, { backend })
  for (const [fields, param] of [
    [{}, 'messages'],
    [{ max_tokens: 9 }, 'messages'],
    [{ max_tokens: 10 }, 'max_tokens'],
    [{ max_tokens: 5, max_completion_tokens: 10 }, 'max_completion_tokens'],
  ] as const) {
    const answer = await post(chatUrl, asking(fields))
    assertRefused(answer, { status: 400, code: 'context_length_exceeded', param })
  }
})

test('without a model requests are refused with the reason', async (t) => {
  const { post } = await openApp(t)
  for (const url of [chatUrl, `${chatUrl}/`]) {
    for (const stream of [false, true]) {
      const answer = await post(url, asking({ stream }))
      assertRefused(answer, {
        status: 503,
        code: 'model_not_ready',
        param: null,
        message: /HEDDLE_MODEL=none/,
      })
      assert.equal(answer.headers['retry-after'], '1')
    }
  }
})

test('a model that cannot be loaded is reported with the reason', async (t) => {
  const backend = scriptedBackend()
  backend.served = undefined
  backend.state = { state: 'failed', reason: 'the file is no GGUF' }
  const { post } = await openApp(t, { backend })
  assertRefused(await post(chatUrl, asking()), {
    status: 503,
    code: 'model_not_ready',
    param: null,
    message: /the file is no GGUF/,
  })
})

test('every served name is accepted, and without a name the first model answers', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  for (const model of ['scripted', 'alias/of-it', '', null, undefined]) {
    const { status, json } = await post(chatUrl, asking({ model }))
    assert.deepEqual([status, json.model], [200, 'scripted'], String(model))
  }
  for (const model of ['other', 'Scripted', 'constructor', ' ']) {
    const answer = await post(chatUrl, asking({ model, stream: true }))
    assertRefused(answer, { status: 404, code: 'model_not_found', param: 'model' })
    assert.equal(answer.json.error.type, 'not_found_error')
    assert.equal(
      answer.json.error.message,
      `model: the model ${JSON.stringify(model)} does not exist; accepted: "scripted", "alias/of-it".`,
    )
  }
})

const refused: [fields: Record<string, unknown>, code: string, param: string, message?: RegExp][] = [
  [{ messages: [] }, 'invalid_value', 'messages', /at least one message/],
  [{ messages: undefined }, 'invalid_request', 'messages'],
  [{ messages: [{ content: 'x' }] }, 'invalid_request', 'messages.0.role'],
  [{ messages: [{ role: 'user', content: 5 }] }, 'invalid_request', 'messages.0.content'],
  [{ messages: [{ role: '', content: 'x' }] }, 'invalid_request', 'messages.0.role'],
  [{ messages: [{ role: 'user', content: [5] }] }, 'invalid_request', 'messages.0.content.0'],
  [
    { messages: [{ role: 'user', content: [{ type: 'text', text: 5 }] }] },
    'invalid_request',
    'messages.0.content.0.text',
    /expected string, received number/,
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
    'invalid_value',
    'messages.0.content.0.type',
    /"image_url".*accepted: text, input_text/,
  ],
  [
    { messages: [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '{' } }] }] },
    'invalid_value',
    'messages.0.tool_calls.0.function.arguments',
  ],
  [{ temperature: -0.1 }, 'invalid_request', 'temperature'],
  [{ temperature: 'NaN' }, 'invalid_request', 'temperature', /expected number, received "NaN"/],
  [{ temperature: '1e999' }, 'invalid_request', 'temperature'],
  [{ top_p: 0 }, 'invalid_request', 'top_p'],
  [{ top_p: 1.1 }, 'invalid_request', 'top_p'],
  [{ top_k: -2 }, 'invalid_request', 'top_k'],
  [{ top_k: 1.5 }, 'invalid_request', 'top_k', /received 1\.5/],
  [{ min_p: 2 }, 'invalid_request', 'min_p'],
  [{ frequency_penalty: 2.1 }, 'invalid_request', 'frequency_penalty'],
  [{ presence_penalty: -2.1 }, 'invalid_request', 'presence_penalty'],
  [{ repetition_penalty: 0 }, 'invalid_request', 'repetition_penalty'],
  [{ seed: 1.5 }, 'invalid_request', 'seed'],
  [{ seed: 'x' }, 'invalid_request', 'seed'],
  [{ n: 0 }, 'invalid_request', 'n'],
  [{ n: 129 }, 'invalid_request', 'n'],
  [{ n: 2, temperature: 0 }, 'invalid_value', 'n', /greedy/],
  [{ max_tokens: 0 }, 'invalid_request', 'max_tokens'],
  [{ max_completion_tokens: -1 }, 'invalid_request', 'max_completion_tokens'],
  [{ min_tokens: -1 }, 'invalid_request', 'min_tokens'],
  [{ min_tokens: null }, 'invalid_request', 'min_tokens'],
  [{ min_tokens: 2, max_tokens: 9, max_completion_tokens: 1 }, 'invalid_value', 'min_tokens'],
  [{ stop: '' }, 'invalid_request', 'stop'],
  [{ stop: ['a', ''] }, 'invalid_request', 'stop.1'],
  [{ stop: 5 }, 'invalid_request', 'stop'],
  [{ stop: ['a', 5] }, 'invalid_request', 'stop.1'],
  [{ stop: Array(1025).fill('a') }, 'invalid_request', 'stop', /at most 1024/],
  [{ stop_token_ids: [-1] }, 'invalid_request', 'stop_token_ids.0'],
  [{ bad_words: [''] }, 'invalid_request', 'bad_words.0'],
  [{ bad_words: null }, 'invalid_request', 'bad_words'],
  [{ bad_words: Array(65).fill('a'.repeat(1024)) }, 'invalid_value', 'bad_words', /66560 characters in all/],
  [{ allowed_token_ids: [] }, 'invalid_request', 'allowed_token_ids'],
  [{ ignore_eos: null }, 'invalid_request', 'ignore_eos'],
  [{ ignore_eos: 'maybe' }, 'invalid_request', 'ignore_eos', /received "maybe"/],
  [{ logprobs: 3 }, 'invalid_request', 'logprobs', /expected boolean, received 3\./],
  [{ n: true }, 'invalid_request', 'n', /received true/],
  [{ logit_bias: { a: 1, '5': 2, '-1': 3 } }, 'invalid_value', 'logit_bias', /"a", "-1"/],
  [{ logit_bias: { '5': 'x' } }, 'invalid_value', 'logit_bias.5'],
  [{ logit_bias: [5] }, 'invalid_request', 'logit_bias'],
  [{ top_logprobs: 1 }, 'invalid_value', 'top_logprobs', /"logprobs": true/],
  [{ logprobs: true, top_logprobs: 21 }, 'invalid_request', 'top_logprobs', /<=20/],
  [{ logprobs: true, top_logprobs: -1 }, 'invalid_request', 'top_logprobs'],
  [
    { logprobs: true, top_logprobs: 20, n: 128, max_tokens: 2000 },
    'invalid_value',
    'top_logprobs',
    /up to 5376000 candidates in one answer; accepted: up to 1000000/,
  ],
  [{ prompt_logprobs: 21 }, 'invalid_request', 'prompt_logprobs'],
  [{ prompt_logprobs: 1, stream: true }, 'invalid_value', 'prompt_logprobs'],
  [{ stream_options: { include_usage: true } }, 'invalid_value', 'stream_options'],
  [{ stream_options: { include_usage: null } }, 'invalid_value', 'stream_options'],
  [{ continue_final_message: true }, 'invalid_value', 'continue_final_message'],
  [
    { continue_final_message: true, add_generation_prompt: true },
    'invalid_value',
    'continue_final_message',
    /"add_generation_prompt": false/,
  ],
  [{ truncate_prompt_tokens: -2 }, 'invalid_request', 'truncate_prompt_tokens'],
  [{ truncate_prompt_tokens: 0 }, 'invalid_value', 'truncate_prompt_tokens'],
  [{ truncate_prompt_tokens: 1.5 }, 'invalid_request', 'truncate_prompt_tokens'],
  [{ cache_salt: '' }, 'invalid_request', 'cache_salt'],
  [{ documents: [{ title: 5 }] }, 'invalid_value', 'documents.0.title'],
  [{ documents: ['x'] }, 'invalid_request', 'documents.0'],
  [{ reasoning_effort: 'huge' }, 'invalid_request', 'reasoning_effort'],
  [{ request_id: '' }, 'invalid_request', 'request_id'],
  [{ request_id: null }, 'invalid_request', 'request_id'],
  [{ chat_template_kwargs: { chat_template: 'x' } }, 'invalid_value', 'chat_template_kwargs.chat_template'],
  [{ chat_template_kwargs: { tokenize: true } }, 'invalid_value', 'chat_template_kwargs.tokenize'],
  [{ chat_template: '{% if %}' }, 'template_failed', 'chat_template'],
  [{ chat_template: '{{' }, 'template_failed', 'chat_template', /: it ends where more is expected\.$/],
  [
    { repetition_detection: { max_pattern_size: 2, min_pattern_size: 3, min_count: 2 } },
    'invalid_value',
    'repetition_detection.min_pattern_size',
  ],
  [
    { repetition_detection: { max_pattern_size: 2, min_count: 1 } },
    'invalid_value',
    'repetition_detection.min_count',
  ],
  [{ repetition_detection: { max_pattern_size: 2 } }, 'invalid_value', 'repetition_detection.min_count'],
  [
    { repetition_detection: { max_pattern_size: -1 } },
    'invalid_request',
    'repetition_detection.max_pattern_size',
  ],
  [{ priority: 1 }, 'priority_off', 'priority', /HEDDLE|switched off/],
  [{ priority: -1 }, 'priority_off', 'priority'],
  [{ priority: null }, 'invalid_request', 'priority'],
  [{ tool_choice: 'auto' }, 'invalid_value', 'tool_choice', /accepted: tools with it/],
  [{ tool_choice: 'required' }, 'invalid_value', 'tool_choice'],
  [{ tool_choice: { type: 'function', function: { name: 'f' } } }, 'invalid_value', 'tool_choice'],
  [{ tool_choice: 'anything', tools: [knit] }, 'invalid_request', 'tool_choice'],
  [{ tool_choice: 'required', tools: [knit], use_beam_search: true }, 'invalid_value', 'tool_choice'],
  [
    { tool_choice: { type: 'function', function: { name: 'spin' } }, tools: [knit] },
    'invalid_value',
    'tool_choice',
    /"spin"; accepted: one of tools: "knit"/,
  ],
  [
    { tool_choice: named, tools: [knit], response_format: { type: 'json_object' } },
    'invalid_value',
    'response_format',
  ],
  [
    { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } }, tools: [knit] },
    'invalid_value',
    'tool_choice',
  ],
  [{ thinking_token_budget: 5, use_beam_search: true }, 'invalid_value', 'thinking_token_budget'],
  [{ prediction: { type: 'content', content: 'x' }, use_beam_search: true }, 'invalid_value', 'prediction'],
  [{ tools: [knit, knit] }, 'invalid_value', 'tools.1.function.name'],
  [{ tools: [{ function: { name: 'a b' } }] }, 'invalid_value', 'tools.0.function.name'],
  [{ functions: [knit.function], tools: [knit] }, 'invalid_value', 'functions'],
  [{ function_call: 'auto', tool_choice: 'auto' }, 'invalid_value', 'function_call'],
  [
    { tool_choice: { type: 'custom', custom: { name: 'f' } } },
    'invalid_request',
    'tool_choice',
    /expected "none"/,
  ],
  [{ tools: [{ type: 'function' }] }, 'invalid_request', 'tools.0.function'],
  [{ tools: [{ type: 'other', function: { name: 'f' } }] }, 'invalid_request', 'tools.0.type'],
  [
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'x', schema: { properties: { a: { uniqueItems: true, contains: {} } } } },
      },
    },
    'schema_unsupported',
    'response_format.json_schema.schema',
    /uniqueItems at #\/properties\/a/,
  ],
  [
    { response_format: { type: 'json_object', schema: { enum: [] } } },
    'schema_invalid',
    'response_format.schema',
    /enum/,
  ],
  [{ response_format: { type: 'json_schema' } }, 'invalid_value', 'response_format.json_schema'],
  [
    { response_format: { type: 'json_object', json_schema: { name: 'x', schema: {} } } },
    'invalid_value',
    'response_format.json_schema',
    /given with the type "json_object"; accepted: only with "json_schema"/,
  ],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} }, schema: {} } },
    'invalid_value',
    'response_format.schema',
  ],
  [{ response_format: { type: 'json_object', format: {} } }, 'invalid_value', 'response_format.format'],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
    'invalid_value',
    'response_format.json_schema.schema',
  ],
  [
    { response_format: { type: 'json_object' }, structured_outputs: { regex: 'a' } },
    'invalid_value',
    'structured_outputs',
  ],
  [{ response_format: { type: 'json_object' }, use_beam_search: true }, 'not_available', 'response_format'],
  [{ structured_outputs: { regex: 'a' }, use_beam_search: true }, 'not_available', 'structured_outputs'],
  [{ structured_outputs: { regex: '(a)\\1' } }, 'constraint_unsupported', 'structured_outputs.regex'],
  [{ structured_outputs: { json: '{"type":' } }, 'constraint_invalid', 'structured_outputs.json'],
  [{ structured_outputs: { choice: ['a'], regex: 'a' } }, 'invalid_value', 'structured_outputs'],
  [
    { response_format: { json_schema: { name: 'x' } } },
    'invalid_value',
    'response_format.json_schema.schema',
  ],
  [{ response_format: {} }, 'invalid_value', 'response_format.type', /accepted: "text", "json_object"/],
  [{ response_format: { type: 'xml' } }, 'invalid_request', 'response_format.type'],
  [{ structured_outputs: {} }, 'invalid_value', 'structured_outputs'],
  [{ structured_outputs: { regex: {} } }, 'invalid_request', 'structured_outputs.regex'],
  [{ engine_xargs: { a: true } }, 'invalid_value', 'engine_xargs.a'],
  [{ vllm_xargs: { a: [1, {}] } }, 'invalid_value', 'vllm_xargs.a'],
  [{ user: 5 }, 'invalid_request', 'user'],
  [{ kv_transfer_params: 'x' }, 'invalid_request', 'kv_transfer_params'],
]

const backend = scriptedBackend()
const shared = await openApp({ after }, { backend })

for (const [fields, code, param, message] of refused) {
  test(`refused: ${JSON.stringify(fields)}`, async () => {
    backend.asked.length = 0
    const answer = await shared.post(chatUrl, asking(fields))
    assertRefused(answer, { status: 400, code, param, ...(message && { message }) })
    assert.equal(answer.json.error.type, 'invalid_request_error')
    assert.deepEqual(backend.asked, [])
  })
}

test('an answer of unknown length fails when its log-probabilities become too many', async (t) => {
  const backend = scriptedBackend(scriptOf(...Array(48).fill('x'.repeat(1000))))
  const { post } = await openApp(t, { backend })
  const answer = await post(chatUrl, asking({ logprobs: true, top_logprobs: 20 }))
  assertRefused(answer, { status: 400, code: 'invalid_value', param: 'top_logprobs' })
  await backend.idle()
  assert.equal((await post(chatUrl, asking({ logprobs: true, top_logprobs: 1 }))).status, 200)
})

test('seeds outside the range of the specification are refused', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  for (const seed of [
    '9223372036854776001',
    '-9223372036854776001',
    '9.223372036854777e18',
    '1e19',
    '1e400',
    '5.5',
    '55e-1',
    '1e-999',
    '""',
    '"0x10"',
  ]) {
    const answer = await post(chatUrl, JSON.stringify(asking()).replace('{', `{"seed":${seed},`))
    assertRefused(answer, { status: 400, code: 'invalid_request', param: 'seed' })
  }
})

test('a refusal of the backend is returned, with or without a stream', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend })
  for (const [refusal, type] of [
    [refuse('engine_queue_full', { limit: 5 }), 'rate_limit_error'],
    [refuse('engine_failed', { why: 'it ended' }), 'overloaded_error'],
  ] as const) {
    backend.generate = () => Promise.reject(refusal)
    for (const stream of [false, true]) {
      const answer = await post(chatUrl, asking({ stream }))
      assertRefused(answer, { status: refusal.status, code: refusal.code, param: null })
      assert.equal(answer.json.error.type, type)
      assert.equal(answer.headers['retry-after'], '1')
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    }
  }
})

test('an empty prompt is refused, and the field that it comes from is named', async (t) => {
  const backend = scriptedBackend()
  backend.generate = () => Promise.reject(refuse('prompt_empty', { field: 'prompt' }))
  const { post } = await openApp(t, { backend })
  for (const [url, body, param] of [
    [chatUrl, asking(), 'messages'],
    [chatUrl, asking({ chat_template: '{# nothing #}' }), 'chat_template'],
    ['/v1/responses', { input: '' }, 'input'],
    ['/v1/responses', { input: '', chat_template: '{{ undefined }}' }, 'chat_template'],
    ['/v1/completions', { prompt: '' }, 'prompt'],
  ] as const) {
    const message = new RegExp(`^${param}: the prompt has no tokens; accepted: at least one\\.$`)
    assertRefused(await post(url, body), { status: 400, code: 'prompt_empty', param, message })
  }
})

test('HEDDLE_REQUEST_TEMPLATES=off refuses templates in every field', async (t) => {
  const settings = { HEDDLE_REQUEST_TEMPLATES: 'off' }
  const { post } = await openApp(t, { backend: scriptedBackend(), settings })
  for (const [fields, param] of [
    [{ chat_template: 'x' }, 'chat_template'],
    [{ chat_template_kwargs: { chat_template: 'x' } }, 'chat_template_kwargs.chat_template'],
  ] as const) {
    assertRefused(await post(chatUrl, asking(fields)), { status: 400, code: 'request_templates_off', param })
  }
  assert.equal((await post(chatUrl, asking({ chat_template: null }))).status, 200)
})

test('HEDDLE_PRIORITY=on accepts any priority', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend, settings: { HEDDLE_PRIORITY: 'on' } })
  for (const priority of [-5, 0, 7]) {
    assert.equal((await post(chatUrl, asking({ priority }))).status, 200)
  }
  assert.deepEqual(
    backend.asked.map(({ priority }) => priority),
    [-5, 0, 7],
  )
})

test('a model without a template needs one in the request', async (t) => {
  const backend = scriptedBackend()
  backend.served = { ...scriptedModel, template: undefined }
  const { post } = await openApp(t, { backend })
  const refused = await post(chatUrl, asking())
  assertRefused(refused, { status: 400, code: 'no_chat_template', param: 'chat_template' })
  const { message } = refused.json.error
  assert.match(message, /POST \/v1\/completions/)
  const example = JSON.parse(/such as (".*"),/.exec(message)?.[1] as string)
  const messages = [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'Hello' },
  ]
  assert.equal((await post(chatUrl, asking({ messages, chat_template: example }))).status, 200)
  const { prompt } = backend.asked.at(-1) as Generation
  assert.equal('text' in prompt && prompt.text, 'system: Be short.\nuser: Hello\nassistant:')
})

test('an unsupported method is refused with the accepted ones', async (t) => {
  const { send } = await openApp(t)
  for (const [url, allowed] of [
    [chatUrl, 'POST, GET, HEAD'],
    [`${chatUrl}/`, 'POST'],
  ] as const) {
    const answer = await send('PUT', url)
    assertRefused(answer, { status: 405, code: 'method_not_allowed', param: null })
    assert.equal(answer.headers.allow, allowed)
  }
})
