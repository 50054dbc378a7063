import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { modelsOfUpstream, startFakeUpstream, type UpstreamHandler } from '../../support/fake-upstream.ts'

/** Decisions of models on other servers. */

interface Ending {
  after(end: () => Promise<void> | void): void
}

async function behind(t: Ending, answer: UpstreamHandler, owned_by = 'vllm') {
  const models = [{ id: 'far', object: 'model', owned_by, max_model_len: 4_096 }]
  const upstream = await startFakeUpstream(t, answer, { models })
  return { upstream, ...(await openApp(t, { models: await modelsOfUpstream([upstream.url]) })) }
}

const say = (response: Parameters<UpstreamHandler>[0], value: unknown, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

const picture = { type: 'input_image', image_url: 'https://example.com/a.png' }
const rude = { type: 'predicate', name: 'rude', instructions: 'Is it rude?' }
const topic = { type: 'choice', instructions: 'Which?', choices: [{ value: 'a' }, { value: true }] }
const good = { type: 'score', instructions: 'How good?', levels: [{ label: 'bad' }, { label: 'good' }] }
const body = { model: 'far', input: 'Hi', questions: [rude, topic, good] }

const usage = {
  input_tokens: 40,
  input_tokens_details: { cached_tokens: 20, cache_write_tokens: 0 },
  output_tokens: 1,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 41,
}

test('a server that has the route is asked by it, and what it says counts', async (t) => {
  const { upstream, post } = await behind(t, (response) =>
    say(response, {
      model: 'far',
      answers: [
        { type: 'predicate', name: 'rude', probability: 0.25 },
        { type: 'refusal', name: null },
        { type: 'score', name: null, score: 1, probabilities: [{ probability: 0.1 }, { probability: 0.9 }] },
      ],
      usage,
    }),
  )
  const input = [{ role: 'user', content: [picture, { type: 'input_text', text: 'Hi' }] }]
  const { status, json } = await post('/v1/decisions', { ...body, input, safety_identifier: 'me' })
  assert.equal(status, 200, JSON.stringify(json))
  assert.deepEqual(json.answers[0], { type: 'predicate', name: 'rude', probability: 0.25 })
  assert.deepEqual(json.answers[1], { type: 'refusal', name: null })
  assert.ok(Math.abs(json.answers[2].score - 0.9) < 1e-9)
  assert.deepEqual([json.usage.input_tokens, json.usage.input_tokens_details.cached_tokens], [40, 20])
  const [asked] = upstream.asked
  assert.equal(asked?.url, '/v1/decisions')
  assert.deepEqual(asked?.body.input, input)
  assert.deepEqual(asked?.body.questions, body.questions)
  assert.equal(asked?.body.safety_identifier, 'me')
})

test('questions of System One are asked of it in the other form', async (t) => {
  const { upstream, post } = await behind(t, (response) =>
    say(response, { answers: [{ type: 'predicate', probability: 0.5 }], usage }),
  )
  const { status, json } = await post('/v1/systemone', {
    model: 'far',
    state: { said: 'Hi' },
    questions: { rude: { type: 'noul', instructions: 'Is it?', criteria: { true: 'an insult' } } },
  })
  assert.deepEqual([status, json.answers], [200, { rude: { type: 'noul', noul: 0.5 } }])
  assert.deepEqual(upstream.asked[0]?.body.questions, [
    { type: 'predicate', instructions: 'Is it?\nyes: an insult' },
  ])
})

test('llama-server is asked by its own route', async (t) => {
  const answers = {
    q0: { type: 'noul', noul: 0.75 },
    q1: { type: 'choice', choice: 'a', probabilities: { '"a"': 0.25, true: 0.75 } },
    q2: { type: 'score', score: 0.5, probabilities: { '0': 0.5, '1': 0.5 } },
  }
  const { upstream, post } = await behind(
    t,
    (response) => say(response, { answers, usage: { input_tokens: 9, output_tokens: 0 } }),
    'llamacpp',
  )
  const { status, json } = await post('/v1/decisions', body)
  assert.equal(status, 200, JSON.stringify(json))
  assert.equal(json.answers[1].choice, true)
  assert.equal(upstream.asked[0]?.url, '/v1/systemone')
  assert.deepEqual(upstream.asked[0]?.body.questions.q2, {
    type: 'score',
    instructions: 'How good?',
    criteria: ['bad', 'good'],
  })
})

test('images of System One reach a server that reads them, in its own form, or are refused by name', async (t) => {
  const image = 'data:image/png;base64,AA=='
  const asked = { model: 'far', questions: { a: { type: 'noul' } } }
  const state = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: image } }] }]
  const llama = await behind(
    t,
    (response) => say(response, { answers: { q0: { type: 'noul', noul: 0.5 } }, usage: { input_tokens: 9 } }),
    'llamacpp',
  )
  assert.equal((await llama.post('/v1/systemone', { ...asked, state })).status, 200)
  assert.equal((await llama.post('/v1/systemone', { ...asked, state: 'Hi', images: [image] })).status, 200)
  const [first, second] = llama.upstream.asked.map(({ body }) => body)
  assert.deepEqual([first?.state, first?.files], [state, undefined])
  assert.deepEqual([second?.state, second?.files], ['Hi', [image]])

  const { upstream, post } = await behind(t, (response) =>
    say(response, { answers: [{ type: 'predicate', probability: 0.5 }], usage }),
  )
  assert.equal((await post('/v1/systemone', { ...asked, state: 'Hi', files: [image] })).status, 200)
  assert.deepEqual(upstream.asked[0]?.body.input, [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Hi' },
        { type: 'input_image', image_url: image },
      ],
    },
  ])
  const refused = await post('/v1/systemone', { ...asked, state })
  assert.deepEqual([refused.status, refused.json.error?.param], [400, 'state.0.content.0'])
})

test('labels reach llama-server in their order, and levels with their descriptions', async (t) => {
  const { upstream, post } = await behind(
    t,
    (response) =>
      say(response, {
        answers: {
          q0: { type: 'choice', probabilities: { '10': 0.5, '2': 0.5 } },
          q1: { type: 'score', probabilities: { '0': 0.5, '1': 0.5 } },
        },
        usage: { input_tokens: 9 },
      }),
    'llamacpp',
  )
  const choices = [{ value: '10' }, { value: '2', description: 'two' }]
  const levels = [{ label: 'bad', description: 'rude' }, { label: 'good' }]
  const questions = [
    { ...topic, choices },
    { ...good, levels },
  ]
  assert.equal((await post('/v1/decisions', { ...body, questions })).status, 200)
  const sent = upstream.asked[0]?.text ?? ''
  assert.match(sent, /"criteria":\{"10":null,"2":"two"\}/)
  assert.match(sent, /"criteria":\["bad. rude","good"\]/)
})

const candidate = (token: string, probability: number) => ({
  token,
  logprob: Math.log(probability),
  bytes: [...Buffer.from(token)],
})

const withLogprobs =
  (...top: ReturnType<typeof candidate>[]): UpstreamHandler =>
  (response, { url }) => {
    if (!url.endsWith('/chat/completions')) return say(response, { error: { message: 'no' } }, 404)
    const content = [{ ...top[0], top_logprobs: top }]
    const choice = {
      index: 0,
      delta: { content: top[0]?.token },
      logprobs: top.length > 0 ? { content } : null,
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of [
      { choices: [choice] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
      { choices: [], usage: { prompt_tokens: 30, completion_tokens: 1, total_tokens: 31 } },
    ]) {
      response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', ...event })}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  }

test('of a server without the route, decisions are computed from log-probabilities', async (t) => {
  const { upstream, post } = await behind(
    t,
    withLogprobs(candidate('Yes', 0.4), candidate(' yes', 0.2), candidate('no', 0.2), candidate('Not', 0.1)),
    'somebody',
  )
  const { status, json } = await post('/v1/decisions', { ...body, questions: [rude, topic] })
  assert.equal(status, 200, JSON.stringify(json))
  assert.ok(Math.abs(json.answers[0].probability - 0.75) < 1e-9)
  assert.ok(Math.abs(json.diagnostics[0].label_mass - 0.8) < 1e-9)
  // None of its tokens is a letter.
  assert.deepEqual(json.answers[1], { type: 'refusal', name: null })
  assert.equal(json.usage.input_tokens, 60)
  assert.equal(json.usage.output_tokens, 0)
  const chat = upstream.asked.find(({ url }) => url === '/v1/chat/completions')
  assert.deepEqual([chat?.body.top_logprobs, chat?.body.temperature], [20, 0])
})

for (const [what, fields, param] of [
  ['a picture', { input: [{ role: 'user', content: [picture] }] }, 'input.0.content.0'],
  [
    'more options than it lists',
    { questions: [{ ...topic, choices: Array.from({ length: 21 }, (_, i) => ({ value: `v${i}` })) }] },
    'questions.0',
  ],
] as const) {
  test(`${what} is refused by name of a server that only has log-probabilities`, async (t) => {
    const { post } = await behind(t, withLogprobs(candidate('Yes', 1)), 'somebody')
    const { status, json } = await post('/v1/decisions', { ...body, ...fields })
    assert.deepEqual([status, json.error?.param, json.error?.code], [400, param, 'upstream_lacks'])
  })
}

test('a server with neither is refused by name', async (t) => {
  const { post } = await behind(t, withLogprobs(), 'somebody')
  const { status, json } = await post('/v1/decisions', body)
  assert.deepEqual([status, json.error?.param, json.error?.code], [400, 'model', 'upstream_lacks'])
})

test('what is no decision is a failure of that server', async (t) => {
  for (const answers of [undefined, [], [{}], [{ probability: 2 }], [null], { '0': 1 }]) {
    const { post } = await behind(t, (response) => say(response, { answers, usage }))
    const { status, json } = await post('/v1/decisions', { ...body, questions: [rude] })
    assert.deepEqual([status, json.error?.code], [502, 'upstream_failed'], JSON.stringify(answers))
  }
})

test('a budget of thoughts reaches another Heddle, and is refused by name of other servers', async (t) => {
  const usageThere = { ...usage, output_tokens: 12, total_tokens: 52 }
  const answers = [{ type: 'predicate', name: 'rude', probability: 0.25 }]
  const question = { ...body, questions: [rude], thinking_token_budget: 40 }
  const answer: UpstreamHandler = (response) => say(response, { model: 'far', answers, usage: usageThere })
  const same = await behind(t, answer, 'heddle')
  const { status, json } = await same.post('/v1/decisions', question)
  assert.equal(status, 200, JSON.stringify(json))
  assert.equal(same.upstream.asked[0]?.body.thinking_token_budget, 40)
  assert.deepEqual([json.usage.output_tokens, json.usage.total_tokens], [12, 52])
  const other = await behind(t, answer)
  const refused = await other.post('/v1/decisions', question)
  assert.deepEqual([refused.status, refused.json.error.param], [400, 'thinking_token_budget'])
  assert.equal(other.upstream.asked.length, 0)
})
