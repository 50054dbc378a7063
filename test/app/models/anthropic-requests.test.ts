import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import {
  answerJson,
  listedModel,
  openBeforeAnthropic,
  spoken,
  streaming,
} from '../../support/fake-anthropic.ts'
import { modelsOfUpstream } from '../../support/fake-upstream.ts'
import { askingMessage, messagesUrl } from '../../support/messages.ts'
import { pngOf } from '../../support/pictures.ts'

// What a server with Anthropic's API is sent for each request of a client.

const { post, sent, upstream } = await openBeforeAnthropic({ after })

const png = pngOf(4, 3).toString('base64')
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }
const text = (said: string) => ({ type: 'text', text: said })
const user = (...content: object[]) => ({ role: 'user', content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const hi = user(text('Hi'))
const plain = { model: 'far', max_tokens: 4_096, messages: [hi], stream: true }

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const weather = {
  type: 'function',
  function: { name: 'weather', description: 'Of a city.', parameters: schema },
}
const now = { type: 'function', function: { name: 'now' } }
const sentTools = [
  { name: 'weather', description: 'Of a city.', input_schema: schema },
  { name: 'now', input_schema: { type: 'object', properties: {} } },
]
const tools = [weather, now]
const called = (id: string, args: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: args },
})

const chats: Record<string, [fields: Record<string, unknown>, sent: Record<string, unknown>]> = {
  'nothing but messages': [{}, plain],
  'system and developer messages anywhere': [
    {
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
        { role: 'system', content: [text('The date'), text('is today.')] },
        { role: 'user', content: 'Bye' },
      ],
    },
    { ...plain, system: 'Be brief.\n\nThe date\nis today.', messages: [user(text('Hi'), text('Bye'))] },
  ],
  'calls, results and a picture': [
    {
      messages: [
        {
          role: 'user',
          content: [text('Look'), { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }],
        },
        { role: 'assistant', content: '', tool_calls: [called('call.1', '{"n": 1.50}'), called('b', '')] },
        { role: 'tool', tool_call_id: 'b', content: 'two' },
        { role: 'tool', tool_call_id: 'call.1', content: '' },
        { role: 'user', content: 'And?' },
      ],
      tools,
    },
    {
      ...plain,
      messages: [
        user(text('Look'), picture),
        assistant(
          { type: 'tool_use', id: 'call_1_41e5461c', name: 'weather', input: { n: 1.5 } },
          { type: 'tool_use', id: 'b', name: 'weather', input: {} },
        ),
        user(
          { type: 'tool_result', tool_use_id: 'b', content: [text('two')] },
          { type: 'tool_result', tool_use_id: 'call_1_41e5461c' },
          text('And?'),
        ),
      ],
      tools: sentTools,
    },
  ],
  'a picture with an address': [
    {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'https://example.com/a.png' }] }],
    },
    {
      ...plain,
      messages: [user({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } })],
    },
  ],
  'sampling and its end': [
    { temperature: 0.5, top_p: 0.9, top_k: 5, stop: 'END', max_completion_tokens: 9, user: 'u-1' },
    {
      ...plain,
      max_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
    },
  ],
  'values that ask for nothing': [
    {
      frequency_penalty: 0,
      presence_penalty: 0,
      top_k: -1,
      n: 1,
      min_p: 0,
      logit_bias: {},
      logprobs: false,
      seed: -1,
    },
    plain,
  ],
  'tools that must not be called': [
    { tools, tool_choice: 'none' },
    { ...plain, tools: sentTools, tool_choice: { type: 'none' } },
  ],
  'tools that must be called, one at a time': [
    { tools, tool_choice: 'required', parallel_tool_calls: false },
    { ...plain, tools: sentTools, tool_choice: { type: 'any', disable_parallel_tool_use: true } },
  ],
  'a named tool': [
    { tools, tool_choice: { type: 'function', function: { name: 'now' } } },
    { ...plain, tools: sentTools, tool_choice: { type: 'tool', name: 'now' } },
  ],
  'a schema': [
    { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } },
    { ...plain, output_config: { format: { type: 'json_schema', schema } } },
  ],
  'no thoughts': [{ reasoning_effort: 'none' }, { ...plain, thinking: { type: 'disabled' } }],
  'an effort': [
    { reasoning_effort: 'medium' },
    { ...plain, max_tokens: 12_288, thinking: { type: 'enabled', budget_tokens: 8_192 } },
  ],
  'an effort within a limit': [
    { reasoning_effort: 'high', max_tokens: 2_000 },
    { ...plain, max_tokens: 2_000, thinking: { type: 'enabled', budget_tokens: 1_600 } },
  ],
  'a budget': [
    { thinking_token_budget: 3_000, max_tokens: 4_000 },
    { ...plain, max_tokens: 4_000, thinking: { type: 'enabled', budget_tokens: 3_000 } },
  ],
  'a message to continue': [
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hel' },
      ],
      add_generation_prompt: false,
      continue_final_message: true,
    },
    { ...plain, messages: [hi, assistant(text('Hel'))] },
  ],
  'a mark of the cache on a part': [
    { messages: [{ role: 'user', content: [{ ...text('Hi'), cache_control: { type: 'ephemeral' } }] }] },
    { ...plain, cache_control: { type: 'ephemeral' } },
  ],
  'thoughts without a seal': [
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Yes', reasoning: 'Hm' },
        { role: 'user', content: 'Bye' },
      ],
    },
    { ...plain, messages: [hi, assistant(text('Yes')), user(text('Bye'))] },
  ],
}

for (const [what, [fields, expected]] of Object.entries(chats)) {
  test(`a chat completion becomes a message: ${what}`, async () => {
    const { status, text, headers } = await post(chatUrl, asking({ ...fields }))
    assert.equal(status, 200, text)
    assert.deepEqual(sent(), expected)
    assert.equal(headers['x-heddle-ignored-fields'], undefined)
  })
}

test('arguments keep their digits', async () => {
  const messages = [
    { role: 'assistant', tool_calls: [called('a', '{"n":12345678901234567890}')] },
    { role: 'tool', content: 'x' },
  ]
  const answer = await post(chatUrl, asking({ messages, tools }))
  assert.equal(answer.status, 200, answer.text)
  // A result that names no call is that of the first without one.
  assert.equal(sent().messages[1].content[0].tool_use_id, 'a')
  assert.match(upstream.asked.at(-1)?.text ?? '', /"input":\{"n":12345678901234567890\}/)
})

const ignored: Record<string, [fields: object, named: string]> = {
  'a limit that leaves no room for a thought': [
    { reasoning_effort: 'high', max_tokens: 1_200 },
    'reasoning_effort',
  ],
  'results of a call whose thought is not known': [
    {
      reasoning_effort: 'low',
      tools,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [called('a', '{}')] },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
    },
    'reasoning_effort',
  ],
  'an effort with a tool that must be called': [
    { reasoning_effort: 'high', tools, tool_choice: 'required' },
    'reasoning_effort',
  ],
  'names of speakers': [{ messages: [{ role: 'user', name: 'Ann', content: 'Hi' }] }, 'messages.name'],
}

for (const [what, [fields, named]] of Object.entries(ignored)) {
  test(`what is left out is named: ${what}`, async () => {
    const { status, headers, text } = await post(chatUrl, asking({ ...fields }))
    assert.equal(status, 200, text)
    assert.equal(headers['x-heddle-ignored-fields'], named)
    assert.equal(sent().thinking, undefined)
  })
}

test('sampling that a thought excludes is left out, and named', async () => {
  const fields = { reasoning_effort: 'medium', temperature: 0.2, top_p: 0.5, top_k: 3 }
  const { status, headers, text } = await post(chatUrl, asking(fields))
  assert.equal(status, 200, text)
  assert.equal(headers['x-heddle-ignored-fields'], 'temperature, top_p, top_k')
  const { temperature, top_p, top_k, thinking } = sent()
  assert.deepEqual([temperature, top_p, top_k, thinking.type], [undefined, undefined, undefined, 'enabled'])
})

test('texts of nothing but white space are left out', async () => {
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: '\n', tool_calls: [called('a', '{}')] },
    { role: 'tool', tool_call_id: 'a', content: ' ' },
  ]
  assert.equal((await post(chatUrl, asking({ tools, messages }))).status, 200)
  const types = sent().messages.map(({ content }: { content: { type: string }[] }) =>
    content.map(({ type }) => type),
  )
  assert.deepEqual(types, [['text'], ['tool_use'], ['tool_result']])
})

const lacking: Record<string, object> = {
  thinking_token_budget: { thinking_token_budget: 5_000, max_tokens: 1_000 },
  n: { n: 2 },
  logprobs: { logprobs: true },
  frequency_penalty: { frequency_penalty: 0.5 },
  presence_penalty: { presence_penalty: 0.5 },
  seed: { seed: 1 },
  logit_bias: { logit_bias: { 5: 1 } },
  min_p: { min_p: 0.1 },
  response_format: { response_format: { type: 'json_object' } },
  structured_outputs: { structured_outputs: { regex: 'a+' } },
  prediction: { prediction: { type: 'content', content: 'x' } },
  chat_template: { chat_template: '{{ messages }}' },
  documents: { documents: [{ text: 'x' }] },
  add_generation_prompt: { add_generation_prompt: false },
  return_token_ids: { return_token_ids: true },
  messages: { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '' } }] }] },
}

for (const [field, fields] of Object.entries(lacking)) {
  test(`what Anthropic has no field for is refused by name: ${field}`, async () => {
    const before = upstream.asked.length
    const { status, json } = await post(chatUrl, asking({ ...fields }))
    assert.deepEqual(
      [status, json.error.code, json.error.param],
      [400, 'upstream_lacks', field],
      json.error.message,
    )
    assert.equal(upstream.asked.length, before)
  })
}

test('text completions, vectors, decisions and tokens are refused', async () => {
  const refused: [url: string, body: object][] = [
    ['/v1/completions', { prompt: 'Once' }],
    ['/v1/decisions', { input: 'x', questions: [{ type: 'predicate', instructions: 'Is it so?' }] }],
    ['/tokenize', { prompt: 'Once' }],
  ]
  for (const [url, body] of refused) {
    const { status, json } = await post(url, body)
    assert.deepEqual([status, json.error?.code ?? json.code], [400, 'upstream_lacks'], JSON.stringify(json))
  }
  const vectors = await post('/v1/embeddings', { input: 'x', model: 'far' })
  assert.equal(vectors.status, 400, vectors.text)
})

test('a message is passed on with its thinking, its effort, its cache and its sealed thoughts', async () => {
  const thinking = { type: 'enabled', budget_tokens: 2_048, display: 'summarized' }
  const {
    status,
    text: answer,
    headers,
  } = await post(
    messagesUrl,
    askingMessage({
      max_tokens: 4_000,
      system: [{ ...text('Be brief.'), cache_control: { type: 'ephemeral', ttl: '1h' } }],
      thinking,
      output_config: { effort: 'low' },
      stop_sequences: ['END'],
      metadata: { user_id: 'stays-here' },
      tools: [{ name: 'now', input_schema: { type: 'object' }, strict: true }],
      messages: [
        hi,
        assistant(
          { type: 'thinking', thinking: 'Hm', signature: 'sig-1' },
          { type: 'redacted_thinking', data: 'sealed' },
          text('I look.'),
          { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} },
        ),
        user({ type: 'tool_result', tool_use_id: 'toolu_1', content: [text('no'), picture], is_error: true }),
      ],
    }),
  )
  assert.equal(status, 200, answer)
  assert.equal(headers['x-heddle-ignored-fields'], undefined)
  assert.deepEqual(sent(), {
    model: 'far',
    max_tokens: 4_000,
    system: [{ ...text('Be brief.'), cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [
      hi,
      assistant(
        { type: 'thinking', thinking: 'Hm', signature: 'sig-1' },
        { type: 'redacted_thinking', data: 'sealed' },
        text('I look.'),
        { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} },
      ),
      user({ type: 'tool_result', tool_use_id: 'toolu_1', content: [text('no'), picture], is_error: true }),
    ],
    tools: [{ name: 'now', input_schema: { type: 'object' }, strict: true }],
    thinking,
    output_config: { effort: 'low' },
    stop_sequences: ['END'],
    stream: true,
  })
})

const mark = { cache_control: { type: 'ephemeral' } }
const markFor = (ttl: string) => ({ cache_control: { type: 'ephemeral', ttl } })

test('each mark of the cache stays on its block', async () => {
  const own = { name: 'now', input_schema: { type: 'object' } }
  const system = [text('Be brief.'), { ...text('Be kind.'), ...markFor('1h') }]
  const asked = [
    user({ ...picture, ...mark }, text('Look')),
    assistant({ type: 'tool_use', id: 'toolu_1', name: 'now', input: { n: 1 }, ...markFor('5m') }),
    user({
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [text('one'), { ...text('two'), ...mark }],
    }),
  ]
  await post(messagesUrl, askingMessage({ system, messages: asked, tools: [own] }))
  assert.deepEqual(sent(), {
    ...{ model: 'far', max_tokens: 100, system, messages: asked, tools: [own], stream: true },
  })
  const tools = [{ ...own, ...mark }]
  const message = { ...user(text('Hi')), content: 'Hi' }
  await post(messagesUrl, askingMessage({ messages: [message], tools, ...mark }))
  const expected = { ...plain, max_tokens: 100, tools, ...mark }
  assert.deepEqual(sent(), expected)
  await post(messagesUrl, askingMessage({ messages: [message], tools, tool_choice: { type: 'none' } }))
  assert.deepEqual(sent(), { ...plain, max_tokens: 100, tools, tool_choice: { type: 'none' } })
})

test('more than four marks of the cache are refused', async () => {
  const before = upstream.asked.length
  const four = Array.from({ length: 4 }, (_, at) => ({ ...text(`${at}`), ...mark }))
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ ...text('no'), ...mark }] }
  const use = { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} }
  const { status, json } = await post(
    messagesUrl,
    askingMessage({ system: four, messages: [hi, assistant(use), user(result)] }),
  )
  assert.deepEqual([status, json.error.details.error_code], [400, 'upstream_lacks'])
  assert.match(json.error.message, /cache_control: .* 5 marks; accepted: at most 4/)
  const withWhole = await post(messagesUrl, askingMessage({ system: four, messages: [hi], ...mark }))
  assert.equal(withWhole.status, 400)
  assert.equal(upstream.asked.length, before)
  assert.equal((await post(messagesUrl, askingMessage({ system: four, messages: [hi] }))).status, 200)
  assert.deepEqual(sent().system, four)
})

test('thoughts, texts and calls go back in their order', async () => {
  const thought = (signature: string) => ({ type: 'thinking', thinking: 'Hm', signature })
  const use = (id: string) => ({ type: 'tool_use', id, name: 'now', input: {} })
  const said = [
    ...[thought('sig-1'), text('I look.'), { type: 'redacted_thinking', data: 'sealed' }, use('toolu_1')],
    ...[thought('sig-2'), text('And again.'), use('toolu_2')],
  ]
  const results = ['toolu_1', 'toolu_2'].map((id) => ({ type: 'tool_result', tool_use_id: id }))
  const thinking = { type: 'adaptive' }
  const messages = [hi, assistant(...said.slice(0, 3)), assistant(...said.slice(3)), user(...results)]
  await post(messagesUrl, askingMessage({ thinking, messages }))
  assert.deepEqual(sent().messages, [hi, assistant(...said), user(...results)])
})

test('an error of a tool is passed on in its own words', async () => {
  const use = { type: 'tool_use', id: 'call.1', name: 'now', input: {} }
  const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, is_error: true })
  const messages = [hi, assistant(use), user(text('Sorry'), { ...result('call.1'), content: 'no clock' })]
  await post(messagesUrl, askingMessage({ messages }))
  const [, , last] = sent().messages
  assert.deepEqual(last, user({ ...result('call_1_41e5461c'), content: [text('no clock')] }, text('Sorry')))
  for (const content of [undefined, '', [text(' \n')]]) {
    const silent = user({ ...result('call.1'), content })
    await post(messagesUrl, askingMessage({ messages: [hi, assistant(use), silent] }))
    const shown = user({ ...result('call_1_41e5461c'), content: [text('Error')] })
    assert.deepEqual(sent().messages.at(-1), shown)
  }
})

test('system texts of Messages stay blocks, in front', async () => {
  const messages = [hi, { role: 'system', content: 'In French.' }, user(text('Bye'))]
  await post(messagesUrl, askingMessage({ system: 'Be brief.', messages }))
  const { system, messages: turns } = sent()
  assert.deepEqual(system, [text('Be brief.'), text('In French.')])
  assert.deepEqual(turns, [user(text('Hi'), text('Bye'))])
})

test('a message that says nothing of thinking has none, and thoughts of this server stay here', async () => {
  const thought = { type: 'thinking', thinking: 'Hm' }
  const signature = 'heddle-thought-PnX3oqdh0j0vRsfMjzwCJn-X6AUMkEdQiEVG4TNI2y0'
  const refused = await post(
    messagesUrl,
    askingMessage({ messages: [hi, assistant({ ...thought, signature }, text('Yes')), hi] }),
  )
  assert.equal(refused.status, 400)
  const { status } = await post(
    messagesUrl,
    askingMessage({ messages: [hi, assistant(thought, text('Yes')), hi] }),
  )
  assert.equal(status, 200)
  assert.deepEqual(sent(), { ...plain, max_tokens: 100, messages: [hi, assistant(text('Yes')), hi] })
})

test('Responses and both APIs of Ollama become messages', async () => {
  await post('/v1/responses', {
    instructions: 'Be brief.',
    input: 'Hi',
    max_output_tokens: 50,
    reasoning: { effort: 'none' },
  })
  assert.deepEqual(sent(), { ...plain, max_tokens: 50, system: 'Be brief.', thinking: { type: 'disabled' } })
  const options = { num_predict: 30, temperature: 0.1 }
  await post('/api/chat', { messages: [{ role: 'user', content: 'Hi' }], options, stream: false })
  assert.deepEqual(sent(), { ...plain, max_tokens: 30, temperature: 0.1 })
})

test('the key goes in its own header, and nothing of the caller goes along', async () => {
  await post(chatUrl, asking())
  const asked = upstream.asked.at(-1)
  assert.equal(asked?.url, '/v1/messages')
  assert.equal(asked?.headers['x-api-key'], 'the-key-that-goes-upstream')
  assert.equal(asked?.headers['anthropic-version'], '2023-06-01')
  assert.equal(asked?.headers.authorization, undefined)
})

test('what the list says of a model decides its limit and how it thinks', async (t) => {
  const capabilities = { thinking: { supported: true, types: { adaptive: { supported: true } } } }
  const models = [
    listedModel({ max_tokens: 64_000, max_input_tokens: 200_000, capabilities }),
    listedModel({ id: 'other' }),
  ]
  const opened = await openBeforeAnthropic(t, streaming(...spoken), { models })
  await opened.post(chatUrl, asking({ model: 'far', reasoning_effort: 'minimal' }))
  assert.deepEqual(opened.sent(), {
    ...plain,
    max_tokens: 64_000,
    thinking: { type: 'adaptive' },
    output_config: { effort: 'low' },
  })
  // Programs ask Messages for more than some models have.
  await opened.post(messagesUrl, askingMessage({ model: 'far', max_tokens: 100_000 }))
  assert.equal(opened.sent().max_tokens, 64_000)
  const { json } = await opened.get('/v1/models')
  assert.deepEqual(
    json.data.map(({ id, device }: { id: string; device: string }) => [id, device]),
    [
      ['far', 'upstream: anthropic'],
      ['other', 'upstream: anthropic'],
    ],
  )
})

test('its kind is detected by its list, and its whole list is asked for if the kind is set', async (t) => {
  assert.equal(upstream.looks[0]?.headers.authorization, 'Bearer the-key-that-goes-upstream')
  const opened = await openBeforeAnthropic(t, streaming(...spoken), {
    kind: 'anthropic',
    models: [{ id: 'far', object: 'model' }],
  })
  assert.equal(opened.upstream.looks[0]?.url, '/v1/models?limit=1000')
  assert.equal(opened.upstream.looks[0]?.headers['x-api-key'], 'the-key-that-goes-upstream')
  await opened.post(chatUrl, asking())
  assert.deepEqual(opened.sent(), plain)
})

test('tokens are counted there', async (t) => {
  const opened = await openBeforeAnthropic(t, (response) => answerJson(response, { input_tokens: 42 }))
  const body = {
    messages: [hi],
    system: 'Be brief.',
    tools: [{ name: 'now', input_schema: { type: 'object' } }],
  }
  const { status, json } = await opened.post('/v1/messages/count_tokens', body)
  assert.deepEqual([status, json], [200, { input_tokens: 42 }])
  assert.equal(opened.upstream.asked.at(-1)?.url, '/v1/messages/count_tokens')
  assert.deepEqual(opened.sent(), { model: 'far', ...body })
  opened.upstream.answer = (response) => answerJson(response, {})
  assert.equal((await opened.post('/v1/messages/count_tokens', body)).status, 502)
})

test('with HEDDLE_UNKNOWN_FIELDS=refuse nothing is sent that would be ignored there', async (t) => {
  const strict = await openApp(t, {
    models: await modelsOfUpstream([upstream.url]),
    settings: { HEDDLE_UNKNOWN_FIELDS: 'refuse' },
  })
  const before = upstream.asked.length
  const short = { reasoning_effort: 'high', max_tokens: 100 }
  const refused: [url: string, body: object, field: string][] = [
    [chatUrl, asking(short), 'reasoning_effort'],
    [chatUrl, asking({ ...short, stream: true }), 'reasoning_effort'],
    [chatUrl, asking({ messages: [{ role: 'user', name: 'ann', content: 'Hi' }] }), 'messages.name'],
    [
      '/api/generate',
      { prompt: 'Hi', options: { repeat_penalty: 1.2, repeat_last_n: 3 }, stream: false },
      'options.repeat_last_n',
    ],
  ]
  for (const [url, body, field] of refused) {
    const { status, json } = await strict.post(url, body)
    assert.equal(status, 400, field)
    assert.match(JSON.stringify(json), new RegExp(`${field}: has no effect here`))
  }
  assert.equal(upstream.asked.length, before)
  assert.equal((await strict.post(chatUrl, asking())).status, 200)
  assert.equal(upstream.asked.length, before + 1)
})
