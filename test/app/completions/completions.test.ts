import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainSampling } from '../../../packages/engine/index.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { version } from '../../../src/version.ts'
import { type Answer, openApp } from '../../support/app.ts'
import {
  candidate,
  prefilled,
  type Script,
  scriptedBackend,
  scriptOf,
  tokens,
  tokensOf,
} from '../../support/scripted-backend.ts'

const url = '/v1/completions'

function chunksIn({ status, headers, text }: Answer) {
  assert.equal(status, 200, text)
  assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  const events = text.split('\n\n').filter(Boolean)
  assert.equal(events.at(-1), 'data: [DONE]')
  return events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)))
}

test('the model continues a text', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend })
  const { status, json } = await post(url, { prompt: 'Once', request_id: 'mine', model: 'alias/of-it' })
  const { created, system_fingerprint, ...rest } = json
  assert.ok(Number.isInteger(created))
  assert.match(system_fingerprint, new RegExp(`^heddle-${version.replaceAll('.', '\\.')}-[0-9a-f]{8}$`))
  assert.deepEqual(
    [status, rest],
    [
      200,
      {
        id: 'cmpl-mine',
        object: 'text_completion',
        model: 'scripted',
        choices: [{ index: 0, text: 'Hello', logprobs: null, finish_reason: 'stop', stop_reason: null }],
        usage: {
          prompt_tokens: 4,
          completion_tokens: 5,
          total_tokens: 9,
          prompt_tokens_details: { cached_tokens: 3 },
        },
      },
    ],
  )
  assert.deepEqual(backend.asked, [
    {
      prompt: { text: 'Once', special: true, add: true },
      choices: 1,
      sampling: plainSampling,
      ending: { maxTokens: 16, minTokens: 0, stop: [], stopTokens: [], ignoreEos: false, includeStop: false },
      text: { skipSpecial: true, spaceSpecial: true },
      priority: 0,
      tenant: 'alice',
    },
  ])
})

test('the constraint applies to the answer to each prompt', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend })
  const choices = ['Hello', 'Bye']
  for (const stream of [false, true]) {
    const { status } = await post(url, {
      prompt: ['x', 'y'],
      structured_outputs: { choice: choices },
      stream,
    })
    assert.equal(status, 200)
  }
  const grammar = createConstraintCompiler().compile(
    { kind: 'choice', choices },
    { whitespace: 'bounded' },
    'x',
  ).grammar
  const constraint = { grammar, field: 'structured_outputs.choice' }
  assert.deepEqual(
    backend.asked.map((generation) => generation.constraint),
    Array(4).fill(constraint),
  )
})

test('the fields of a request reach the engine', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend, settings: { HEDDLE_PRIORITY: 'on' } })
  await post(url, {
    prompt: 'x',
    max_tokens: 7,
    min_tokens: 2,
    stop: 'end',
    stop_token_ids: [5],
    seed: 9,
    n: 2,
    best_of: 2,
    temperature: 0.5,
    top_k: 3,
    logit_bias: { '5': 1 },
    logprobs: 2,
    prompt_logprobs: 3,
    add_special_tokens: false,
    truncate_prompt_tokens: 10,
    truncation_side: 'right',
    logprob_token_ids: [7, 5, 7],
    cache_salt: 'salt',
    priority: -3,
    suffix: '',
    response_format: { type: 'text' },
  })
  const [generation] = backend.asked
  assert.ok(generation)
  const { sampling, ending, prompt, text: _, ...rest } = generation
  assert.deepEqual(prompt, { text: 'x', special: true, add: false })
  assert.deepEqual(
    [sampling.temperature, sampling.topK, sampling.seed, sampling.bias],
    [0.5, 3, 9n, [[5, 1]]],
  )
  assert.deepEqual([ending.maxTokens, ending.minTokens, ending.stop, ending.stopTokens], [7, 2, ['end'], [5]])
  assert.deepEqual(rest, {
    choices: 2,
    logprobs: 2,
    promptLogprobs: 3,
    salt: 'salt',
    truncate: { tokens: 10, side: 'right' },
    logprobTokens: [7, 5],
    priority: -3,
    tenant: 'alice',
  })
  await post(url, { prompt: 'x', max_tokens: null })
  assert.equal(backend.asked[1]?.ending.maxTokens, undefined)
})

test('log-probabilities of named tokens are listed by their text, in the answer and not in the echo', async (t) => {
  const named: Script = function* (request) {
    yield prefilled(request)
    const listed = (request.logprobTokens ?? []).map((token) => candidate(String.fromCodePoint(token), -2))
    const drawn = candidate('a', -0.5)
    yield {
      kind: 'tokens',
      choice: 0,
      text: 'a',
      tokens: [drawn.token],
      logprobs: [{ ...drawn, top: [drawn, ...listed] }],
    }
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  }
  const { post } = await openApp(t, { backend: scriptedBackend(named) })
  const logprob_token_ids = Array.from('xyz', (letter) => letter.codePointAt(0))
  const body = { prompt: 'mn', echo: true, logprobs: 0, prompt_logprobs: 2, logprob_token_ids }
  const { json } = await post(url, body)
  const expected = [null, { n: -1.5 }, { a: -0.5, x: -2, y: -2, z: -2 }]
  assert.deepEqual(json.choices[0].logprobs.top_logprobs, expected)
  const chunks = chunksIn(await post(url, { ...body, prompt_logprobs: null, stream: true }))
  const streamed = chunks.flatMap(({ choices: [choice] }) => choice?.logprobs?.top_logprobs ?? [])
  assert.deepEqual(streamed, expected)
  const refused = await post(url, { prompt: 'x', logprob_token_ids })
  assert.deepEqual([refused.status, refused.json.error.param], [400, 'logprob_token_ids'])
})

const answerWith = (prompts: unknown) => ({ prompt: prompts, n: 2 })

for (const [what, prompt, expected] of [
  [
    'texts',
    ['ab', 'c'],
    [
      { text: 'ab', special: true, add: true },
      { text: 'c', special: true, add: true },
    ],
  ],
  ['one text in a list', ['ab'], [{ text: 'ab', special: true, add: true }]],
  ['token ids', [97, 98], [{ tokens: [97, 98] }]],
  ['lists of token ids', [[97], [98, 99]], [{ tokens: [97] }, { tokens: [98, 99] }]],
  ['a text and token ids', ['a', [98]], [{ text: 'a', special: true, add: true }, { tokens: [98] }]],
] as const) {
  test(`prompts as ${what}: each is answered, and the choices are numbered in order`, async (t) => {
    const backend = scriptedBackend()
    const { post } = await openApp(t, { backend })
    const { status, json } = await post(url, answerWith(prompt))
    assert.equal(status, 200)
    assert.deepEqual(
      backend.asked.map((generation) => generation.prompt),
      expected,
    )
    assert.deepEqual(
      json.choices.map(({ index, text }: { index: number; text: string }) => [index, text]),
      Array.from({ length: 2 * expected.length }, (_, index) => [index, 'Hello']),
    )
    assert.equal(json.usage.completion_tokens, 10 * expected.length)
    assert.equal(json.usage.prompt_tokens_details.cached_tokens, 3 * expected.length)
  })
}

test('a prompt that is null or missing is refused with what is accepted', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  for (const [prompt, received] of [
    [null, 'null'],
    [undefined, 'nothing'],
  ]) {
    const { json } = await post(url, { prompt })
    assert.match(
      json.error.message,
      new RegExp(`prompt: expected a string, a list of .*, received ${received}\\.$`),
    )
  }
})

for (const [what, prompt, param, message] of [
  ['a number', 5, 'prompt', /^prompt: 5; accepted: a string/],
  ['an empty list', [], 'prompt', /^prompt: an empty list; accepted/],
  ['a negative token', [1, -1], 'prompt.1', /^prompt\.1: -1; accepted: a token id/],
  ['a fraction among tokens', [1, 1.5], 'prompt.1', /^prompt\.1: 1\.5; accepted: a token id/],
  ['a text among tokens', [1, 'a'], 'prompt.1', /^prompt\.1: "a"; accepted: a token id/],
  ['a number among texts', ['a', 1], 'prompt.1', /^prompt\.1: 1; accepted: a string or a list of token ids/],
  ['a text in a list of tokens', ['a', [1, 'b']], 'prompt.1.1', /^prompt\.1\.1: "b"; accepted: a token id/],
  ['a list of too many texts', Array(129).fill('a'), 'prompt', /^prompt: 129 prompts; accepted: at most 128/],
  [
    'a list of too many tokens',
    Array(262_145).fill(1),
    'prompt',
    /^prompt: 262145 tokens; accepted: at most 262144/,
  ],
] as const) {
  test(`a prompt that is ${what} is refused`, async (t) => {
    const backend = scriptedBackend()
    const { post } = await openApp(t, { backend })
    const { status, json } = await post(url, { prompt })
    assert.deepEqual([status, json.error.code, json.error.param], [400, 'invalid_value', param])
    assert.match(json.error.message, message)
    assert.deepEqual(backend.asked, [])
  })
}

for (const [what, body, status, code, param] of [
  ['no prompt', {}, 400, 'invalid_request', 'prompt'],
  ['a prompt that is null', { prompt: null }, 400, 'invalid_request', 'prompt'],
  ['a named prompt without a name', { prompt: { a: 1 } }, 400, 'invalid_request', 'prompt.id'],
  ['a suffix', { suffix: 'x' }, 400, 'model_lacks', 'suffix'],
  ['a suffix of tokens', { prompt: [1, 2], suffix: 'x' }, 400, 'invalid_value', 'suffix'],
  ['best_of that differs from n', { n: 2, best_of: 3 }, 400, 'not_available', 'best_of'],
  [
    'an invalid constraint',
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'rope' } } } },
    400,
    'schema_invalid',
    'response_format.json_schema.schema',
  ],
  [
    'two constraints',
    { structured_outputs: { regex: 'a', choice: ['a'] } },
    400,
    'invalid_value',
    'structured_outputs',
  ],
  [
    'a constraint with beam search',
    { structured_outputs: { regex: 'a' }, use_beam_search: true },
    400,
    'not_available',
    'structured_outputs',
  ],
  ['a priority', { priority: 1 }, 400, 'priority_off', 'priority'],
  ['another model', { model: 'other' }, 404, 'model_not_found', 'model'],
  ['too many logprobs', { logprobs: 21 }, 400, 'invalid_request', 'logprobs'],
  ['no tokens and no echo', { max_tokens: 0 }, 400, 'invalid_value', 'max_tokens'],
  ['several greedy answers', { n: 2, temperature: 0 }, 400, 'invalid_value', 'n'],
  [
    'stream_options without a stream',
    { stream_options: { include_usage: true } },
    400,
    'invalid_value',
    'stream_options',
  ],
  [
    'prompt logprobs in a stream',
    { stream: true, prompt_logprobs: 1 },
    400,
    'invalid_value',
    'prompt_logprobs',
  ],
] as const) {
  test(`${what}: refused before the first byte, also of a stream`, async (t) => {
    const backend = scriptedBackend()
    const { post } = await openApp(t, { backend })
    const prompt = what === 'no prompt' ? {} : { prompt: 'x' }
    for (const stream of 'stream_options' in body ? [false] : [false, true]) {
      const answer = await post(url, { ...prompt, stream, ...body })
      assert.deepEqual(
        [answer.status, answer.json.error.code, answer.json.error.param],
        [status, code, param],
        answer.text,
      )
    }
    assert.deepEqual(backend.asked, [])
  })
}

test('more log-probabilities than one answer may have are refused, and later requests are served', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend })
  const refused = async (body: object, param: string, given: RegExp) => {
    const { status, json } = await post(url, body)
    assert.deepEqual([status, json.error.code, json.error.param], [400, 'invalid_value', param])
    assert.match(json.error.message, given)
  }
  const many = { prompt: ['x', 'y'], n: 100, max_tokens: 1000, logprobs: 5 }
  await refused(many, 'logprobs', /up to 1200000 candidates in one answer; accepted: up to 1000000/)
  assert.deepEqual(backend.asked, [])
  const long = { prompt: Array(50_000).fill(120), max_tokens: 1, prompt_logprobs: 20 }
  await refused(long, 'prompt', /up to 1050000 candidates/)
  await backend.idle()
  assert.equal((await post(url, { ...many, max_tokens: 800 })).status, 200)
})

test('echo puts the prompt in front of every answer', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend })
  const textsOf = async (body: object) => {
    const { json } = await post(url, { echo: true, ...body })
    return json.choices.map(({ text }: { text: string }) => text)
  }
  assert.deepEqual(await textsOf({ prompt: 'Say ', n: 2 }), ['Say Hello', 'Say Hello'])
  assert.deepEqual(await textsOf({ prompt: tokensOf('Say ') }), ['Say Hello'])
  assert.deepEqual(await textsOf({ prompt: ['a', 'b'] }), ['aHello', 'bHello'])
})

test('echo with logprobs and no tokens returns the log-probabilities of the prompt alone', async (t) => {
  const backend = scriptedBackend(scriptOf('x'))
  const { post } = await openApp(t, { backend })
  const body = { prompt: 'ab', echo: true, logprobs: 1, max_tokens: 0, return_token_ids: true }
  const { json } = await post(url, body)
  assert.equal(backend.asked[0]?.ending.maxTokens, 1)
  assert.deepEqual(json.choices, [
    {
      index: 0,
      text: 'ab',
      logprobs: {
        tokens: ['a', 'b'],
        token_logprobs: [null, -1.5],
        top_logprobs: [null, { '!': -0.5, b: -1.5 }],
        text_offset: [0, 1],
      },
      finish_reason: 'length',
      stop_reason: null,
      prompt_token_ids: tokensOf('ab'),
      token_ids: [],
    },
  ])
  assert.equal(json.usage.completion_tokens, 0)
})

test('logprobs in the form of completions: the likeliest tokens and the chosen one, offsets in characters', async (t) => {
  const backend = scriptedBackend(scriptOf('👍z'))
  const { post } = await openApp(t, { backend })
  const ask = async (body: object) => (await post(url, { prompt: 'p', ...body })).json.choices[0].logprobs
  assert.deepEqual(await ask({ logprobs: 2 }), {
    tokens: ['👍', 'z'],
    token_logprobs: [-0.25, -0.25],
    top_logprobs: [
      { '👍': -0.25, '👌': -1.25 },
      { z: -0.25, y: -1.25 },
    ],
    text_offset: [0, 1],
  })
  assert.deepEqual((await ask({ logprobs: 0 })).top_logprobs, [{ '👍': -0.25 }, { z: -0.25 }])
  const asIds = await ask({ logprobs: 1, return_tokens_as_token_ids: true })
  assert.deepEqual(asIds.tokens, ['token_id:128077', 'token_id:122'])
  assert.deepEqual(asIds.top_logprobs[1], { 'token_id:122': -0.25 })
  const echoed = await ask({ logprobs: 1, echo: true })
  assert.deepEqual(
    [echoed.tokens, echoed.text_offset],
    [
      ['p', '👍', 'z'],
      [0, 1, 2],
    ],
  )
})

test('a character of several tokens counts once in the offsets that follow', async (t) => {
  const pieces = [[0x62], [0xc3], [0xb3], [0xf0, 0x9f], [0x91, 0x8d, 0x7a], [0x78]]
  const backend = scriptedBackend(function* (request) {
    yield prefilled(request)
    yield {
      kind: 'tokens',
      choice: 0,
      text: 'bó👍zx',
      tokens: pieces.map((_, index) => index),
      logprobs: pieces.map((bytes, token) => ({
        token,
        bytes: Uint8Array.from(bytes),
        logprob: -1,
        top: [],
      })),
    }
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  })
  const { post } = await openApp(t, { backend })
  const [{ text, logprobs }] = (await post(url, { prompt: 'p', logprobs: 0 })).json.choices
  const characters = Array.from(text)
  // The fifth token begins inside the character that the fourth one began.
  const at = (token: number) => characters[logprobs.text_offset[token]]
  assert.deepEqual([at(0), at(1), at(3), at(5)], ['b', 'ó', '👍', 'x'])
  assert.deepEqual(logprobs.text_offset, [0, 1, 2, 2, 3, 4])
})

test('each choice shows prompt_logprobs and token ids', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(scriptOf('x')) })
  const { json } = await post(url, { prompt: 'ab', prompt_logprobs: 1, return_token_ids: true })
  const [choice] = json.choices
  assert.deepEqual(choice.prompt_token_ids, tokensOf('ab'))
  assert.deepEqual(choice.token_ids, tokensOf('x'))
  assert.deepEqual(choice.prompt_logprobs, [
    null,
    {
      '33': { logprob: -0.5, rank: 1, decoded_token: '!' },
      '98': { logprob: -1.5, rank: 2, decoded_token: 'b' },
    },
  ])
})

test('a stream has the same content as the whole answer', async (t) => {
  const backend = scriptedBackend(scriptOf('He', 'l', 'lo'))
  const { post } = await openApp(t, { backend })
  const body = {
    prompt: ['ab', 'cd'],
    n: 2,
    echo: true,
    logprobs: 1,
    return_token_ids: true,
    request_id: 'mine',
  }
  const whole = (await post(url, body)).json
  const chunks = chunksIn(await post(url, { ...body, stream: true, stream_options: { include_usage: true } }))
  const last = chunks.pop()
  assert.deepEqual([last.choices, last.usage], [[], whole.usage])
  const told = whole.choices.map(() => ({
    text: '',
    tokens: [] as string[],
    offsets: [] as number[],
    ids: [] as number[],
  }))
  for (const { id, object, model, choices, usage } of chunks) {
    assert.deepEqual([id, object, model, usage], ['cmpl-mine', 'text_completion', 'scripted', undefined])
    assert.equal(choices.length, 1)
    const [{ index, text, logprobs, token_ids, finish_reason, stop_reason }] = choices
    told[index].text += text
    told[index].tokens.push(...logprobs.tokens)
    told[index].offsets.push(...logprobs.text_offset)
    told[index].ids.push(...token_ids)
    assert.equal(told[index].reason, undefined, 'no chunk follows the end of a choice')
    if (finish_reason !== null) Object.assign(told[index], { reason: finish_reason, stop: stop_reason })
  }
  for (const [index, { text, logprobs, token_ids }] of whole.choices.entries()) {
    assert.deepEqual(told[index], {
      text,
      tokens: logprobs.tokens,
      offsets: logprobs.text_offset,
      ids: token_ids,
      reason: 'stop',
      stop: null,
    })
  }
  assert.equal(whole.choices[2].text, 'cdHello')
})

test('without echo a stream has no chunk for the prompt, and each chunk has usage when requested', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(scriptOf('a', 'b')) })
  const stream_options = { include_usage: true, continuous_usage_stats: true }
  const chunks = chunksIn(await post(url, { prompt: 'xyz', stream: true, stream_options }))
  const text = chunks.map(({ choices }) => choices[0]?.text ?? '').join('')
  assert.equal(text, 'ab')
  assert.ok(chunks.every(({ usage }) => usage.prompt_tokens === 3))
  assert.equal(chunks.at(-1).usage.completion_tokens, 2)
  const alone = { stream: true, stream_options: { continuous_usage_stats: true } }
  assert.deepEqual(
    chunksIn(await post(url, { prompt: 'xyz', ...alone })).map(({ usage }) => usage.completion_tokens),
    chunks.slice(0, -1).map(({ usage }) => usage.completion_tokens),
    'without include_usage only the last chunk is missing',
  )
})

test('when one prompt is refused the others are abandoned', async (t) => {
  const backend = scriptedBackend()
  const { generate } = backend
  backend.generate = async (request, signal) => {
    if (backend.asked.length === 2) throw refuse('engine_queue_full', { limit: 2 })
    return generate(request, signal)
  }
  const { post } = await openApp(t, { backend })
  const { status, headers, json } = await post(url, { prompt: ['a', 'b', 'c'] })
  assert.deepEqual([status, headers['retry-after'], json.error.code], [429, '1', 'engine_queue_full'])
  await backend.idle()
})

/** The answer to one prompt never ends, and the other fails. */
const failing: Script = async function* (request) {
  yield prefilled(request)
  yield tokens('a', request)
  if ('text' in request.prompt && request.prompt.text === 'fails')
    throw refuse('engine_failed', { why: 'killed' })
  await new Promise(() => {})
}

test('when one prompt fails in the middle the whole answer fails, and the others are abandoned', async (t) => {
  const backend = scriptedBackend(failing)
  const { post } = await openApp(t, { backend })
  const prompt = ['goes on', 'fails']
  const { status, json } = await post(url, { prompt })
  assert.deepEqual([status, json.error.code], [503, 'engine_failed'])
  await backend.idle()
  const { text } = await post(url, { prompt, stream: true })
  const events = text.split('\n\n').filter(Boolean)
  assert.equal(events.at(-1), 'data: [DONE]')
  assert.equal(JSON.parse((events.at(-2) ?? '').slice(6)).error.code, 'engine_failed')
  await backend.idle()
})

test('without a model completions are refused', async (t) => {
  const { post } = await openApp(t)
  const { status, json } = await post(url, { prompt: 'x' })
  assert.deepEqual([status, json.error.code, json.error.type], [503, 'model_not_ready', 'overloaded_error'])
})
