import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageStreamOf } from '../../support/messages.ts'
import { asksTheWeather, type MessagesServer, promptOf, startMessages, weather } from './server.ts'

/**
 * Requests of Claude Code. The program itself needs more than a test can provide; these have the shape that a proxy in front
 * of it shows: a billing line, long system blocks that are marked for the cache, many tools, thinking, and betas in the query
 * and in a header.
 */

const ephemeral = { cache_control: { type: 'ephemeral' } }

const tools = Array.from({ length: 40 }, (_, index) => ({
  name: index === 0 ? weather.name : `mcp__server-${index % 4}__tool_${index}`,
  description: `What the tool ${index} does, and when to use it. `.repeat(20),
  input_schema:
    index === 0
      ? { $schema: 'http://json-schema.org/draft-07/schema#', ...weather.input_schema }
      : {
          $schema: 'http://json-schema.org/draft-07/schema#',
          type: 'object',
          properties: {
            file_path: { type: 'string', description: 'An absolute path.' },
            limit: { type: 'number' },
            mode: { type: 'string', enum: ['content', 'files'], default: 'files' },
            edits: {
              type: 'array',
              minItems: 1,
              items: { type: 'object', properties: { old: { type: 'string' } }, required: ['old'] },
            },
          },
          required: ['file_path'],
          additionalProperties: false,
        },
}))

function bodyOf(cch: string, messages: object[]) {
  return {
    model: 'scripted',
    max_tokens: 32_000,
    stream: true,
    system: [
      {
        type: 'text',
        text: `x-anthropic-billing-header: cc_version=2.1.101.e51; cc_entrypoint=cli; cch=${cch};`,
      },
      { type: 'text', text: "You are Claude Code, Anthropic's official CLI for Claude.", ...ephemeral },
      { type: 'text', text: 'You help with software engineering tasks. '.repeat(300), ...ephemeral },
    ],
    messages,
    tools,
    thinking: { type: 'enabled', budget_tokens: 31_999 },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    metadata: { user_id: `user_${'0'.repeat(64)}_account__session_0` },
    temperature: 1,
  }
}

async function ask({ baseURL, apiKey }: MessagesServer, body: object, path = '/v1/messages') {
  const answer = await fetch(`${baseURL}${path}?beta=true`, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${apiKey}`,
      'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27',
      'anthropic-dangerous-direct-browser-access': 'true',
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      'user-agent': 'claude-cli/2.1.101 (external, cli)',
      'x-app': 'cli',
      'x-stainless-lang': 'js',
      'x-stainless-retry-count': '0',
    },
    body: JSON.stringify(body),
  })
  return { status: answer.status, text: await answer.text() }
}

const question = {
  role: 'user',
  content: [
    { type: 'text', text: '<system-reminder>\nThe working directory is /src.\n</system-reminder>' },
    { type: 'text', text: 'How is the weather?', ...ephemeral },
  ],
}

test('a session with tools', async (t) => {
  const server = await startMessages(t, asksTheWeather)
  const messages: object[] = [question]
  const first = await ask(server, bodyOf('a5145', messages))
  assert.equal(first.status, 200, first.text)
  const { message, inputs } = messageStreamOf(first.text)
  assert.equal(message?.stop_reason, 'tool_use')
  assert.deepEqual(message?.context_management, { applied_edits: [] })
  const calls = message?.content.filter((block) => block.type === 'tool_use') ?? []
  assert.deepEqual(
    calls.map(({ name }, index) => [name, JSON.parse(inputs[index] ?? '')]),
    [
      ['weather', { city: 'Paris' }],
      ['weather', { city: 'Rome' }],
    ],
  )
  let next = 0
  const said = message?.content.map((block) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(inputs[next++] ?? '') } : block,
  )
  messages.push({ role: 'assistant', content: said })
  messages.push({
    role: 'user',
    content: calls.map(({ id }, index) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [{ type: 'text', text: `21 degrees in ${['Paris', 'Rome'][index]}` }],
      is_error: false,
      ...(index === 1 && ephemeral),
    })),
  })
  const second = await ask(server, bodyOf('ffb02', messages))
  assert.equal(second.status, 200, second.text)
  const answer = messageStreamOf(second.text).message
  assert.equal(answer?.stop_reason, 'end_turn')
  assert.deepEqual(
    answer?.content.map((block) => block.type === 'text' && block.text),
    ['It is warm.'],
  )

  // The second prompt continues the first one, although its billing line differs.
  const [one = '', two = ''] = server.backend.asked.map(promptOf)
  assert.ok(!one.includes('x-anthropic-billing-header'))
  const turn = one.lastIndexOf('<|assistant|>')
  assert.ok(turn > 10_000)
  assert.equal(two.slice(0, turn), one.slice(0, turn))
})

test('the requests alongside a session: a title that is not streamed, and a token count', async (t) => {
  const server = await startMessages(t)
  const title = await ask(server, {
    model: 'scripted',
    max_tokens: 512,
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.101.e51; cc_entrypoint=cli; cch=0;' },
      { type: 'text', text: 'Write a title for this session, as JSON with the member title.' },
    ],
    messages: [{ role: 'user', content: 'How is the weather?' }],
    output_config: {
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: { title: { type: 'string' } },
          required: ['title'],
          additionalProperties: false,
        },
      },
    },
    tools: [],
    temperature: 1,
    metadata: { user_id: 'user_0' },
  })
  assert.equal(title.status, 200, title.text)
  assert.equal(server.backend.asked[0]?.constraint?.field, 'output_config.format.schema')
  const { messages, tools: all, model } = bodyOf('0', [question])
  const counted = await ask(server, { model, messages, tools: all }, '/v1/messages/count_tokens')
  assert.equal(counted.status, 200, counted.text)
  assert.ok(JSON.parse(counted.text).input_tokens > 50)
})

test('a request with web search, which the server cannot run, is answered and names what was left out', async (t) => {
  const server = await startMessages(t)
  const { status, text } = await ask(server, {
    ...bodyOf('0', [{ role: 'user', content: 'Perform a web search for the query: weather' }]),
    tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }],
  })
  assert.equal(status, 200)
  assert.equal(messageStreamOf(text).message?.stop_reason, 'end_turn')
})
