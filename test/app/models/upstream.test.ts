import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { basic, keys, openApp } from '../../support/app.ts'
import { asking, chatUrl, choiceOf, eventsOf } from '../../support/chat.ts'
import {
  beginStream,
  delta,
  modelsOfUpstream,
  startFakeUpstream,
  streamWords,
  type UpstreamHandler,
  usage,
} from '../../support/fake-upstream.ts'
import { until, withTimeout } from '../../support/wait.ts'

type Settings = Parameters<typeof modelsOfUpstream>[1]

/** An app whose model is on an upstream that answers as the test says. */
async function open(t: TestContext, answer: UpstreamHandler, settings: Settings = {}) {
  const upstream = await startFakeUpstream(t, answer)
  const app = await openApp(t, { models: await modelsOfUpstream([upstream.url], settings) })
  const ask = (fields: Record<string, unknown> = {}, url = chatUrl) => app.post(url, asking(fields))
  return { ...app, upstream, ask }
}

/** The recorded call of the last answer. */
async function lastCall({ post }: Pick<Awaited<ReturnType<typeof openApp>>, 'post'>) {
  let calls: Record<string, never>[] = []
  await until('the answer is recorded', async () => {
    const { text } = await post('/calls/stream_query', { project_id: 'acme/default' })
    calls = text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    return calls.length > 0
  })
  // biome-ignore lint/suspicious/noExplicitAny: what is stored is compared, never trusted
  return calls.at(-1) as any
}

test('an answer of an upstream is returned, whole and as a stream, and recorded as a call', async (t) => {
  const app = await open(t, streamWords('Two', ' words'))
  const whole = await app.ask()
  assert.equal(whole.status, 200, whole.text)
  assert.equal(whole.json.model, 'far')
  assert.equal(whole.json.choices[0].message.content, 'Two words')
  const { prompt_tokens, completion_tokens } = whole.json.usage
  assert.deepEqual([prompt_tokens, completion_tokens], [7, 2])
  const call = await lastCall(app)
  assert.equal(call.op_name, 'heddle.chat.completions')
  assert.equal(call.output.choices[0].message.content, 'Two words')
  assert.equal(call.summary.usage.far.total_tokens, 9)

  const { text } = await app.ask({ stream: true, stream_options: { include_usage: true } })
  const { chunks, error } = eventsOf(text)
  assert.equal(error, undefined)
  assert.equal(chunks.at(-1)?.usage?.total_tokens, 9)
  assert.equal(choiceOf(chunks, 0).content, 'Two words')
})

test('the cost that an upstream reports is that of the recorded call', async (t) => {
  const app = await open(t, (response) => {
    const say = beginStream(response)
    say(delta({ content: 'Two' }, 'stop'))
    const counted = usage(7, 1)
    say({ ...counted, usage: { ...counted.usage, cost: 0.00025 } })
    response.end('data: [DONE]\n\n')
  })
  await app.ask()
  const { id, summary } = await lastCall(app)
  assert.equal(summary.usage.far.total_cost, 0.00025)
  const read = { project_id: 'acme/default', id, include_costs: true }
  const { call } = (await app.post('/call/read', read)).json
  assert.equal(call.summary.weave.costs.far.stated_total_cost, 0.00025)
})

test('the caller is not disclosed to an upstream, and a Heddle upstream is asked not to record', async (t) => {
  const upstream = await startFakeUpstream(t, streamWords('Hello'), {
    models: [{ id: 'far', owned_by: 'heddle', root: 'far', max_model_len: 100 }],
  })
  const { app } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
  const answer = await app.inject({
    method: 'POST',
    url: chatUrl,
    headers: {
      authorization: basic(keys.alice),
      'x-heddle-project': 'acme/secret',
      'x-heddle-thread': 'a thread',
      cookie: 'a=b',
      'content-type': 'application/json',
    },
    payload: JSON.stringify(asking({ store: true, metadata: { a: 'b' }, max_tokens: 3 })),
  })
  assert.equal(answer.statusCode, 200, answer.body)
  const [{ headers, body } = assert.fail()] = upstream.asked
  assert.equal(headers.authorization, 'Bearer the-key-that-goes-upstream')
  assert.equal(headers['x-heddle-record'], 'off')
  const ours = Object.keys(headers).filter((name) => name.startsWith('x-') || name === 'cookie')
  assert.deepEqual(ours, ['x-heddle-record'])
  assert.match(body.cache_salt, /^[\w-]{43}$/)
  assert.deepEqual(Object.keys(body).toSorted(), [
    'cache_salt',
    'max_tokens',
    'messages',
    'model',
    'return_token_ids',
    'stream',
    'stream_options',
  ])
})

test('calls and thoughts are separated by the upstream', async (t) => {
  const { ask, post, upstream } = await open(t, (response) => {
    const say = beginStream(response)
    say(delta({ role: 'assistant', reasoning_content: 'Hm.' }))
    say(
      delta({
        tool_calls: [{ index: 0, id: 'one', type: 'function', function: { name: 'f', arguments: '' } }],
      }),
    )
    say(delta({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] }))
    say(delta({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }))
    say(delta({ tool_calls: [{ index: 1, id: 'two', function: { name: 'g', arguments: '{}' } }] }))
    say(delta({}, 'tool_calls'))
    say(usage(3, 20))
    response.end('data: [DONE]\n\n')
  })
  const tools = ['f', 'g'].map((name) => ({ type: 'function', function: { name } }))
  const { json } = await ask({ tools })
  const [{ message, finish_reason }] = json.choices
  assert.equal(finish_reason, 'tool_calls')
  assert.equal(message.reasoning, 'Hm.')
  const called = message.tool_calls.map((call: { id: string; function: object }) => [call.id, call.function])
  assert.deepEqual(called, [
    ['one', { name: 'f', arguments: '{"a":1}' }],
    ['two', { name: 'g', arguments: '{}' }],
  ])
  assert.deepEqual(upstream.asked[0]?.body.tools, tools)
  assert.equal(upstream.asked[0]?.body.tool_choice, 'auto')

  const response = await post('/v1/responses', { input: 'x' })
  assert.deepEqual(
    response.json.output.map(({ type }: { type: string }) => type),
    ['reasoning', 'function_call', 'function_call'],
  )
  const body = { messages: [{ role: 'user', content: 'x' }], max_tokens: 50 }
  const said = await post('/v1/messages', body)
  assert.equal(said.json.stop_reason, 'tool_use')
  assert.deepEqual(said.json.content.at(-1).input, {})
})

test('P6: a server behind is given salts, so that it shares no prompt between those who do not share here', async (t) => {
  const upstream = await startFakeUpstream(t, streamWords('Hello'), {
    models: [{ id: 'far', owned_by: 'vllm', root: 'far', max_model_len: 100 }],
  })
  const saltsOf = async (sharing: string) => {
    const { post } = await openApp(t, {
      models: await modelsOfUpstream([upstream.url]),
      settings: { HEDDLE_PROMPT_SHARING: sharing },
    })
    const salt = async (key: string, cache_salt?: string) => {
      const answer = await post(chatUrl, asking(cache_salt === undefined ? {} : { cache_salt }), key)
      assert.equal(answer.status, 200, answer.text)
      return upstream.asked.at(-1)?.body.cache_salt
    }
    return {
      alice: await salt(keys.alice),
      again: await salt(keys.alice),
      salted: await salt(keys.alice, 'red'),
      bob: await salt(keys.bob),
      bobSalted: await salt(keys.bob, 'red'),
    }
  }
  for (const sharing of ['user', 'entity']) {
    const { again, ...salts } = await saltsOf(sharing)
    assert.equal(again, salts.alice)
    assert.equal(new Set(Object.values(salts)).size, 4, JSON.stringify(salts))
  }
  const { alice, bob, salted, bobSalted } = await saltsOf('all')
  assert.deepEqual([alice, bob, salted, bobSalted], [undefined, undefined, 'red', 'red'])
})

test('fields that the kind of upstream does not support are refused and named, and it is not asked', async (t) => {
  const { ask, post, upstream } = await open(t, streamWords('Hello'))
  for (const [field, value] of [
    ['top_k', 5],
    ['min_p', 0.1],
    ['bad_words', ['x']],
    ['structured_outputs', { choice: ['a', 'b'] }],
    ['chat_template', '{{ messages }}'],
    ['documents', [{ a: 'b' }]],
    ['return_token_ids', true],
    ['prompt_logprobs', 1],
    ['thinking_token_budget', 5],
    ['continue_final_message', true],
    ['cache_salt', 'x'],
    ['truncate_prompt_tokens', 5],
    ['logprob_token_ids', [5]],
  ] as const) {
    const fields = {
      ...(field === 'continue_final_message' && { add_generation_prompt: false }),
      ...(field === 'logprob_token_ids' && { logprobs: true }),
    }
    const { status, json } = await ask({ ...fields, [field]: value })
    assert.deepEqual([status, json.error.code], [400, 'upstream_lacks'], field)
    const accepted = field === 'continue_final_message' ? [field, 'add_generation_prompt'] : [field]
    assert.ok(accepted.includes(json.error.param), `${field}: ${json.error.param}`)
  }
  const tokens = await post('/v1/completions', { prompt: [1, 2, 3] })
  assert.deepEqual([tokens.status, tokens.json.error.param], [400, 'prompt'])
  assert.equal((await post('/tokenize', { prompt: 'x' })).json.code, 'upstream_lacks')
  assert.equal(upstream.asked.length, 0)
  // Values without an effect are not refused.
  const { status } = await ask({ top_k: -1, min_p: 0, skip_special_tokens: true, user: 'somebody' })
  assert.equal(status, 200)
  assert.equal(upstream.asked[0]?.body.top_k, undefined)
  assert.equal(upstream.asked[0]?.body.user, 'somebody')
})

test('fields of OpenAI without an effect here are passed on to its API', async (t) => {
  const { ask, upstream } = await open(t, streamWords('Hello'))
  const fields = {
    safety_identifier: 'somebody',
    prompt_cache_key: 'mine',
    prompt_cache_options: { mode: 'implicit' },
    prompt_cache_retention: '24h',
    verbosity: 'low',
  }
  assert.equal(
    (await ask({ ...fields, watermarking: false, session_id: 'x', stream_interval: 2 })).status,
    200,
  )
  const body = upstream.asked[0]?.body ?? {}
  assert.partialDeepStrictEqual(body, fields)
  assert.ok(!('watermarking' in body || 'session_id' in body || 'stream_interval' in body))
  const refused = await ask({ return_prompt_text: true })
  assert.deepEqual(
    [refused.json.error.code, refused.json.error.param],
    ['upstream_lacks', 'return_prompt_text'],
  )
})

test('which end of a prompt is cut, and which candidates are listed, is passed on', async (t) => {
  for (const owner of ['heddle', 'vllm']) {
    const upstream = await startFakeUpstream(t, streamWords('Hello'), {
      models: [{ id: 'far', owned_by: owner, root: 'far', max_model_len: 100 }],
    })
    const { post } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
    const fields = { truncate_prompt_tokens: 5, truncation_side: 'right', logprob_token_ids: [7, 8] }
    assert.equal((await post(chatUrl, asking({ ...fields, logprobs: true }))).status, 200)
    assert.equal((await post('/v1/completions', { prompt: 'x', ...fields, logprobs: 0 })).status, 200)
    for (const { body } of upstream.asked) {
      const { truncate_prompt_tokens, truncation_side, logprob_token_ids } = body
      assert.deepEqual({ truncate_prompt_tokens, truncation_side, logprob_token_ids }, fields, owner)
    }
    assert.equal(upstream.asked.length, 2)
  }
})

test('a prediction is passed on to upstreams that support it, and counted as they report', async (t) => {
  const counts = { accepted_prediction_tokens: 3, rejected_prediction_tokens: 2 }
  const { ask, upstream } = await open(t, (response) => {
    const say = beginStream(response)
    say(delta({ content: 'Two words' }))
    say(delta({}, 'stop'))
    say({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 4, completion_tokens_details: counts } })
    response.end('data: [DONE]\n\n')
  })
  const prediction = { type: 'content', content: [{ type: 'text', text: 'Two words or so' }] }
  const { json } = await ask({ prediction })
  assert.deepEqual(upstream.asked[0]?.body.prediction, prediction)
  assert.deepEqual(json.usage.completion_tokens_details, counts)
  const { text } = await ask({ prediction, stream: true, stream_options: { include_usage: true } })
  assert.deepEqual(eventsOf(text).chunks.at(-1)?.usage?.completion_tokens_details, counts)
  for (const kind of ['vllm', 'llama-server'] as const) {
    const other = await open(t, streamWords('Hello'), { kind })
    const refused = await other.ask({ prediction })
    assert.deepEqual(
      [refused.status, refused.json.error.code, refused.json.error.param],
      [400, 'upstream_lacks', 'prediction'],
    )
    assert.equal((await other.ask({ prediction: { type: 'content', content: '' } })).status, 200)
    assert.equal(other.upstream.asked[0]?.body.prediction, undefined)
  }
})

test('the tools of a conversation count in its tokens', async (t) => {
  const upstream = await startFakeUpstream(
    t,
    (response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ tokens: [1, 2, 3] })),
    { models: [{ id: 'far', owned_by: 'heddle', root: 'far', max_model_len: 100 }] },
  )
  const { post } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
  const counted = await post('/v1/messages/count_tokens', {
    model: 'far',
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
  })
  assert.deepEqual([counted.status, counted.json.input_tokens], [200, 3], counted.text)
  const [asked] = upstream.asked
  assert.equal(asked?.url, '/tokenize')
  assert.deepEqual(asked?.body.tools, [
    { type: 'function', function: { name: 'look', parameters: { type: 'object' } } },
  ])
})

test('a refusal of the upstream is returned in its own words', async (t) => {
  const refusing = (status: number, error: object | string, headers = {}): UpstreamHandler => {
    const body = typeof error === 'string' ? error : JSON.stringify({ error })
    return (response) => response.writeHead(status, headers).end(body)
  }
  const app = await open(t, refusing(400, { message: 'no such thing', param: 'messages', code: 'odd' }))
  for (const [answer, status, code, message] of [
    [
      refusing(400, { message: 'no such thing', param: 'messages' }),
      400,
      'upstream_refused',
      /no such thing/,
    ],
    [refusing(404, 'nothing here'), 400, 'upstream_refused', /nothing here/],
    [refusing(401, { message: 'sk-123 is wrong' }), 502, 'upstream_failed', /key of this server/],
    [refusing(302, '', { location: 'http://x/' }), 502, 'upstream_failed', /redirection/],
    [refusing(429, 'slow down', { 'retry-after': '17' }), 429, 'upstream_busy', /busy/],
    [refusing(500, 'a stack'), 503, 'upstream_unavailable', /answered 500/],
  ] as const) {
    app.upstream.answer = answer
    for (const stream of [false, true]) {
      const refused = await app.ask({ stream })
      assert.deepEqual([refused.status, refused.json.error.code], [status, code])
      assert.match(refused.json.error.message, message)
      assert.doesNotMatch(refused.text, /sk-123|a stack/)
      if (status === 429) assert.equal(refused.headers['retry-after'], '17')
    }
  }
})

for (const stream of [false, true]) {
  const isStream = `stream: ${stream}`

  test(`a hanging upstream is abandoned: ${isStream}`, async (t) => {
    const app = await open(t, () => {}, { silenceMs: 200 })
    const refused = await withTimeout('the request is refused', app.ask({ stream }))
    assert.deepEqual([refused.status, refused.json.error.code], [504, 'upstream_timeout'])
    await until('the request to the upstream is closed', async () => app.upstream.left === 1)
    app.upstream.answer = streamWords('Hello')
    await until('it is asked again', async () => (await app.ask({ stream })).status === 200)
  })

  test(`an upstream that sends byte by byte is abandoned: ${isStream}`, async (t) => {
    const drip =
      (status: number, type: string, text: string): UpstreamHandler =>
      async (response) => {
        response.writeHead(status, { 'content-type': type })
        for (let n = 0; !response.destroyed; n++) {
          response.write(text[n % text.length])
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
      }
    const app = await open(t, streamWords('Hello'), { silenceMs: 200 })
    for (const answer of [
      drip(200, 'text/event-stream', 'data: {"choices":[{"index":0,"delta":{"content":"endless'),
      drip(200, 'application/json', '{"choices":[{"index":0,"message":{"content":"endless'),
      drip(500, 'application/json', '{"error":"endless'),
    ]) {
      app.upstream.answer = answer
      const before = app.upstream.left
      const refused = await withTimeout('the request is refused', app.ask({ stream }))
      assert.deepEqual([refused.status, refused.json.error.code], [504, 'upstream_timeout'])
      await until('the request to the upstream is closed', async () => app.upstream.left === before + 1)
    }
    app.upstream.answer = streamWords('Hello')
    await until('it is asked again', async () => (await app.ask({ stream })).status === 200)
  })

  test(`the text so far is kept when the upstream disconnects in the middle: ${isStream}`, async (t) => {
    const app = await open(t, async (response) => {
      beginStream(response)(delta({ content: 'Half' }))
      await new Promise((resolve) => setTimeout(resolve, 50))
      response.destroy()
    })
    const answer = await app.ask({ stream })
    const { error } = stream ? eventsOf(answer.text) : answer.json
    assert.equal(error.code, 'upstream_failed')
    assert.match(error.message, /in the middle of the answer/)
    assert.equal(answer.status, stream ? 200 : 502)
    const call = await lastCall(app)
    assert.match(call.exception, /in the middle/)
    assert.equal(call.output.choices[0].message.content, 'Half')
    assert.ok(call.summary.usage.far.prompt_tokens > 0, 'the usage is estimated')
  })

  test(`an invalid answer is refused: ${isStream}`, async (t) => {
    const app = await open(t, streamWords('Hello'))
    for (const garbage of [
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"a\n\n'),
      (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 5\n\n'),
      (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: [DONE]\n\n'),
      (response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[{"index":9}]}'),
      (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":"x"}'),
      (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
    ] satisfies UpstreamHandler[]) {
      app.upstream.answer = garbage
      const { status, json } = await app.ask({ stream })
      assert.deepEqual([status, json?.error.code], [502, 'upstream_failed'])
    }
  })

  test(`an error in the middle of a stream is reported: ${isStream}`, async (t) => {
    const app = await open(t, async (response) => {
      beginStream(response)({ error: { message: 'the model fell over', type: 'server_error' } })
      response.end()
    })
    const { status, json } = await app.ask({ stream })
    assert.equal(status, 502)
    assert.match(json.error.message, /the model fell over/)
  })

  test(`a slow upstream is waited for: ${isStream}`, async (t) => {
    const app = await open(
      t,
      async (response) => {
        const say = beginStream(response)
        for (const content of ['a', 'b', 'c']) {
          await new Promise((resolve) => setTimeout(resolve, 150))
          response.write(': keep-alive\n\n')
          await new Promise((resolve) => setTimeout(resolve, 150))
          say(delta({ content }))
        }
        say(delta({}, 'stop'))
        response.end('data: [DONE]\n\n')
      },
      { silenceMs: 1_000 },
    )
    const answer = await app.ask({ stream })
    const content = stream
      ? choiceOf(eventsOf(answer.text).chunks, 0).content
      : answer.json.choices[0].message.content
    assert.equal(content, 'abc')
  })
}

test('a client that disconnects ends the request to the upstream and frees its slot', async (t) => {
  const upstream = await startFakeUpstream(t, (response) => {
    beginStream(response)(delta({ content: 'Hello' }))
  })
  const { app } = await openApp(t, { models: await modelsOfUpstream([upstream.url], { parallel: 1 }) })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  for (const stream of [true, false, true, false]) {
    const leaving = new AbortController()
    const before = upstream.asked.length
    const asked = fetch(`${address}${chatUrl}`, {
      method: 'POST',
      headers: { authorization: basic(keys.alice), 'content-type': 'application/json' },
      body: JSON.stringify(asking({ stream })),
      signal: leaving.signal,
    }).then(
      (answer) => answer.text().catch(() => 'left'),
      () => 'left',
    )
    await until('the upstream is asked', async () => upstream.asked.length === before + 1)
    leaving.abort()
    assert.equal(await asked, 'left')
    await until('the request to the upstream is closed', async () => upstream.left === before + 1)
  }
})

test('another address is tried only as long as none has begun to answer', async (t) => {
  const dead = await startFakeUpstream(t, streamWords('Hello'))
  const busy = await startFakeUpstream(t, (response) => response.writeHead(503).end())
  const well = await startFakeUpstream(t, streamWords('Hello'))
  const models = await modelsOfUpstream([dead.url, busy.url, well.url])
  await until('all upstreams are reachable', async () => {
    const answers = await Promise.all([dead, busy, well].map(({ url }) => fetch(`${url}/models`)))
    return answers.every(({ ok }) => ok)
  })
  const { post } = await openApp(t, { models })
  await dead.end()
  for (let i = 0; i < 10; i++) {
    const { status, text } = await post(chatUrl, asking({ messages: [{ role: 'user', content: `${i}` }] }))
    assert.equal(status, 200, text)
  }
  assert.equal(well.asked.length, 10)
  await well.end()
  const { status } = await post(chatUrl, asking())
  assert.equal(status, 503)
})

test('prompts with the same beginning go to the same address', async (t) => {
  const servers = await Promise.all([1, 2, 3].map(() => startFakeUpstream(t, streamWords('Hello'))))
  const models = await modelsOfUpstream(servers.map(({ url }) => url))
  const { post } = await openApp(t, { models })
  // The first request loads what answers it, which the router takes for the time of its server.
  await post(chatUrl, asking({}))
  for (const { asked } of servers) asked.length = 0
  for (let topic = 0; topic < 12; topic++) {
    for (let turn = 0; turn < 3; turn++) {
      const messages = [
        { role: 'system', content: `${topic}`.repeat(5_000) },
        { role: 'user', content: `${turn}` },
      ]
      assert.equal((await post(chatUrl, asking({ messages }))).status, 200)
    }
  }
  const places = servers.map(({ asked }) => new Set(asked.map(({ body }) => body.messages[0].content)))
  assert.equal(
    places.reduce((sum, { size }) => sum + size, 0),
    12,
    'no topic is at two addresses',
  )
})

test('a call that arrives together with its end is streamed with the end in a chunk of its own', async (t) => {
  const call = { index: 0, id: 'one', type: 'function', function: { name: 'f', arguments: '{}' } }
  const { ask } = await open(t, (response) => {
    const say = beginStream(response)
    say(delta({ role: 'assistant', tool_calls: [call] }, 'tool_calls'))
    response.end('data: [DONE]\n\n')
  })
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  const { text } = await ask({ stream: true, tools })
  const [, begun, ended] = eventsOf(text).chunks.map(({ choices: [choice] }) => choice)
  assert.deepEqual([begun?.delta.tool_calls?.[0]?.function?.arguments, begun?.finish_reason], ['{}', null])
  assert.deepEqual([ended?.delta, ended?.finish_reason], [{}, 'tool_calls'])
})

test('the state of the upstream is reported: ready, unreachable, and ready again', async (t) => {
  const upstream = await startFakeUpstream(t, streamWords('Hello'), {
    models: [
      { id: 'one', owned_by: 'vllm', root: '/models', max_model_len: 4_096 },
      { id: 'two', owned_by: 'vllm', root: '/models', max_model_len: 8_192 },
    ],
  })
  const { get, post } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
  const { json } = await get('/v1/models')
  assert.deepEqual(
    json.data.map((card: Record<string, unknown>) => [card.id, card.max_model_len, card.device]),
    [
      ['one', 4_096, 'upstream: vllm'],
      ['two', 8_192, 'upstream: vllm'],
    ],
  )
  assert.equal((await post(chatUrl, asking({ model: 'two' }))).json.model, 'two')
  assert.equal(upstream.asked[0]?.body.model, 'two')
  assert.equal((await post(chatUrl, asking({ model: 'three' }))).json.error.code, 'model_not_found')
  assert.equal((await get('/ready')).status, 200)
  const gauge = async () => /^heddle_model_ready (\d)$/m.exec((await get('/metrics', keys.root)).text)?.[1]
  assert.equal(await gauge(), '1')
  await upstream.end()
  assert.equal((await post(chatUrl, asking())).status, 503)
  assert.equal((await get('/ready')).status, 503)
  assert.equal(await gauge(), '0')
})

test('connections to the upstream are reused', async (t) => {
  const upstream = await startFakeUpstream(t, streamWords('Hello'))
  let connections = 0
  upstream.onConnection = () => connections++
  const { post } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
  for (let i = 0; i < 10; i++)
    assert.equal((await post(chatUrl, asking({ stream: i % 2 === 0 }))).status, 200)
  assert.ok(connections <= 2, `${connections} connections for 10 answers`)
})
