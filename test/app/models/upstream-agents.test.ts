import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { UpstreamKind } from '../../../src/inference/upstream/kinds.ts'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import {
  loadsOf,
  modelsOfUpstream,
  startFakeUpstream,
  streamWords,
  type UpstreamHandler,
} from '../../support/fake-upstream.ts'
import { pngOf } from '../../support/pictures.ts'
import { withTimeout } from '../../support/wait.ts'

// What agents send in Messages and Responses, to each kind of upstream.

const kinds: UpstreamKind[] = ['heddle', 'vllm', 'llama-server', 'openai']
const strict = kinds.filter((kind) => kind !== 'openai')
const context = 32_768
/** What /tokenize of the upstream says of every prompt. */
const promptTokens = 5_000

const counting: UpstreamHandler = (response) => {
  const tokens = Array.from({ length: promptTokens }, () => 1)
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ tokens }))
}
const replying =
  (status: number, text: string): UpstreamHandler =>
  (response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end(text)
const unknown = replying(404, '{"detail":"Not Found"}')

async function open(t: TestContext, kind: UpstreamKind, { tokenize = counting, silenceMs = 5_000 } = {}) {
  const upstream = await startFakeUpstream(
    t,
    (response, asked) => (asked.url.endsWith('/tokenize') ? tokenize : streamWords('Hello'))(response, asked),
    { models: [{ id: 'far', owned_by: 'somebody', max_model_len: context }] },
  )
  const models = await modelsOfUpstream([upstream.url], { kind, parallel: 4, silenceMs })
  const app = await openApp(t, { models })
  const [load] = loadsOf(models)
  /** The answer to a message, and the request that the upstream got. */
  const message = async (body: object) => {
    const answer = await app.post('/v1/messages', {
      max_tokens: 10,
      messages: [{ role: 'user', content: 'Hi' }],
      ...body,
    })
    return { ...answer, sent: upstream.asked.at(-1)?.body }
  }
  return { ...app, upstream, load, message }
}

/** As Codex and Claude Code send them. */
const turns = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'Hi' },
  {
    role: 'system',
    content: [
      { type: 'text', text: 'The date' },
      { type: 'text', text: 'is today.' },
    ],
  },
  { role: 'assistant', content: 'Hello' },
  { role: 'developer', content: 'Be polite.' },
  { role: 'user', content: 'Bye' },
]

for (const kind of strict) {
  test(`system and developer messages anywhere become one system message at the beginning: ${kind}`, async (t) => {
    const { post, upstream, message } = await open(t, kind)
    const ask = async (messages: object[]) => {
      const { status, text } = await post(chatUrl, asking({ messages }))
      assert.equal(status, 200, text)
      return upstream.asked.at(-1)?.body.messages
    }
    const [, hi, , hello, , bye] = turns
    const system = { role: 'system', content: 'Be brief.\n\nThe date\nis today.\n\nBe polite.' }
    assert.deepEqual(await ask(turns), [system, hi, hello, bye])
    // What is in order stays as it was sent.
    const parts = { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] }
    assert.deepEqual(await ask([parts, hi as object]), [parts, hi])
    assert.deepEqual(await ask([hi as object]), [hi])
    assert.deepEqual(await ask(turns.slice(0, 2)), [{ role: 'system', content: 'Be brief.' }, hi])
    // A part that is no text is not lost.
    const picture = {
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${pngOf(4, 3).toString('base64')}` },
    }
    assert.deepEqual(await ask([hi as object, { role: 'system', content: [picture] }, turns[0] as object]), [
      { role: 'system', content: [picture, { type: 'text', text: 'Be brief.' }] },
      hi,
    ])

    const { sent } = await message({
      system: 'One',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'system', content: 'Two' },
      ],
    })
    assert.deepEqual(sent.messages, [
      { role: 'system', content: 'One\n\nTwo' },
      { role: 'user', content: 'Hi' },
    ])
    await post('/v1/responses', { instructions: 'One', input: turns })
    assert.deepEqual(
      upstream.asked.at(-1)?.body.messages.map(({ role }: { role: string }) => role),
      ['system', 'user', 'assistant', 'user'],
    )
  })
}

test('an upstream that knows developer messages gets them as they were sent', async (t) => {
  const { post, upstream } = await open(t, 'openai')
  assert.equal((await post(chatUrl, asking({ messages: turns }))).status, 200)
  assert.deepEqual(upstream.asked.at(-1)?.body.messages, turns)
})

for (const kind of kinds) {
  const limitOf = (sent: Record<string, number>) => sent.max_completion_tokens ?? sent.max_tokens ?? 0

  test(`max_tokens of a message is lowered to what the context leaves: ${kind}`, async (t) => {
    const { message } = await open(t, kind)
    // 5,000 tokens of English.
    const content = 'The quick fox sat. '.repeat(1_000)
    const { status, text, sent } = await message({
      max_tokens: 32_000,
      messages: [{ role: 'user', content }],
    })
    assert.equal(status, 200, text)
    const isCounted = kind === 'heddle' || kind === 'vllm'
    if (isCounted) assert.equal(limitOf(sent), context - promptTokens)
    // Counted by its length, more is left for the prompt than it needs.
    else assert.ok(limitOf(sent) > context / 2 && limitOf(sent) <= context - promptTokens, `${limitOf(sent)}`)
    assert.equal(limitOf((await message({ max_tokens: 100 })).sent), 100)
  })

  test(`tools count in what the context leaves, also without /tokenize: ${kind}`, async (t) => {
    const { post, message } = await open(t, kind, { tokenize: unknown })
    const tools = [{ name: 'f', description: 'x'.repeat(30_000), input_schema: { type: 'object' } }]
    const { status, text, sent } = await message({ max_tokens: 32_000, tools })
    assert.equal(status, 200, text)
    assert.ok(limitOf(sent) <= context - 10_000 && limitOf(sent) > context / 2, `${limitOf(sent)}`)
    // A chat completion asks for what it wants.
    const chat = await post(chatUrl, asking({ max_tokens: 32_768 }))
    assert.equal(chat.status, 200)
  })

  test(`the schemas of tools count as they are sent, and no picture is seen in them: ${kind}`, async (t) => {
    const { message } = await open(t, kind, { tokenize: unknown })
    // Longer texts come from another thread in another form.
    for (const count of [100, 1_500]) {
      const properties: Record<string, object> = { image_url: { type: 'string' } }
      for (let i = 0; i < count; i++) properties[`a property, number ${i}`] = { type: 'string' }
      const input_schema = { type: 'object', properties }
      const { status, text, sent } = await message({
        max_tokens: 32_768,
        tools: [{ name: 'f', input_schema }],
      })
      assert.equal(status, 200, text)
      const estimated = context - limitOf(sent)
      const least = JSON.stringify(input_schema).length / 3
      assert.ok(estimated >= least && estimated < least + 100, `${estimated} for ${least}`)
    }
  })

  test(`a budget for thoughts that the upstream cannot take is left out and named, and thinking stays: ${kind}`, async (t) => {
    const { message, post, upstream } = await open(t, kind)
    const { status, headers, text, sent } = await message({
      max_tokens: 3_000,
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      output_config: { effort: 'high' },
    })
    assert.equal(status, 200, text)
    assert.equal(sent.reasoning_effort, 'high')
    const takesBudget = kind === 'heddle' || kind === 'vllm'
    assert.equal(sent.thinking_token_budget, takesBudget ? 1_024 : undefined)
    assert.equal(headers['x-heddle-ignored-fields'], takesBudget ? undefined : 'thinking.budget_tokens')
    const bare = await message({ max_tokens: 3_000, thinking: { type: 'enabled', budget_tokens: 1_024 } })
    const thinks = bare.sent.reasoning_effort ?? bare.sent.chat_template_kwargs?.enable_thinking
    assert.ok(thinks === 'medium' || thinks === true, `${thinks}`)
    // A client that sends the field of chat completions can leave it out.
    const before = upstream.asked.length
    const chat = await post(chatUrl, asking({ thinking_token_budget: 1_024 }))
    if (takesBudget) return
    assert.deepEqual([chat.status, chat.json.error.param], [400, 'thinking_token_budget'])
    assert.equal(upstream.asked.length, before)
  })
}

for (const kind of ['heddle', 'vllm'] as const) {
  for (const [name, tokenize] of Object.entries<UpstreamHandler>({
    'refuses the key': replying(401, ''),
    'is forbidden': replying(403, ''),
    'has no such page': replying(200, '<html>Welcome</html>'),
    'has no tokens': replying(200, '{}'),
    fails: replying(500, ''),
    'is busy': replying(429, ''),
    'is not there': replying(503, ''),
    'closes the connection': (response) => response.destroy(),
    'is silent': () => {},
  })) {
    test(`a message is answered where /tokenize ${name}, and its address does not cool down: ${kind}`, async (t) => {
      const { message, load } = await open(t, kind, { tokenize, silenceMs: 600_000 })
      const { status, text, sent } = await withTimeout('an answer', message({ max_tokens: 32_768 }))
      assert.equal(status, 200, text)
      const limit = sent.max_completion_tokens ?? sent.max_tokens
      assert.ok(limit < context && limit > context - 100, `${limit}`)
      assert.deepEqual([load?.coolUntil, load?.running], [0, 0])
    })
  }
}
