import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { keys } from '../support/app.ts'
import { completeOf } from '../support/calls.ts'
import { openEvents } from '../support/event-stream.ts'
import { until } from '../support/wait.ts'
import { cachedIn, startWorld, type World, withoutChance } from './tenant-worlds.ts'

/** What alice keeps to herself. In one world bob guesses right, in the other he does not. */
const guessed = 'Merger with Globex is planned for 14 March at 31.5 per share; keep it secret until then.'
const other = 'Strike at the Hamburg port is planned for 9 August at 6.30 sharp; nobody may know of it.'

const greedy = { temperature: 0, max_tokens: 4 }
const user = (content: string) => ({ messages: [{ role: 'user', content }], ...greedy })
const schemaOf = (text: string) => ({
  type: 'object',
  properties: {
    word: { enum: [text, 'none'] },
    code: { type: 'string', pattern: `^(${text.slice(0, 20)}|x)$` },
  },
  required: ['word'],
  additionalProperties: false,
})
const toolOf = (text: string) => ({
  type: 'function',
  function: { name: 'note', description: text, parameters: schemaOf(text) },
})
const template = (text: string) =>
  `{% for message in messages %}${text} {{ message.content }}{% endfor %}{% if false %}${'{{ 1 }}'.repeat(50)}{% endif %}`

/** Every way to send a text to a model. */
const sendings: Record<string, (text: string) => [url: string, body: object]> = {
  chat: (text) => ['/v1/chat/completions', user(text)],
  'chat as a stream': (text) => [
    '/v1/chat/completions',
    { ...user(text), stream: true, stream_options: { include_usage: true } },
  ],
  'chat with logprobs': (text) => [
    '/v1/chat/completions',
    { ...user(text), logprobs: true, top_logprobs: 5 },
  ],
  'chat with several choices': (text) => [
    '/v1/chat/completions',
    { ...user(text), n: 2, temperature: 1, seed: 7 },
  ],
  'chat with a prediction': (text) => [
    '/v1/chat/completions',
    { ...user('Repeat it'), prediction: { type: 'content', content: text } },
  ],
  'beam search': (text) => ['/v1/chat/completions', { ...user(text), n: 2, use_beam_search: true }],
  'chat with a schema': (text) => [
    '/v1/chat/completions',
    {
      ...user('Which word?'),
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'w', schema: schemaOf(text), strict: true },
      },
    },
  ],
  'chat with a tool': (text) => [
    '/v1/chat/completions',
    { ...user('Note it'), tools: [toolOf(text)], tool_choice: 'required' },
  ],
  'chat with a choice': (text) => [
    '/v1/chat/completions',
    { ...user('Which?'), structured_outputs: { choice: [text, 'no'] } },
  ],
  'chat with a template': (text) => [
    '/v1/chat/completions',
    { ...user('Hi'), chat_template: template(text) },
  ],
  completion: (text) => ['/v1/completions', { prompt: text, ...greedy }],
  'completion with echo': (text) => ['/v1/completions', { prompt: text, ...greedy, echo: true, logprobs: 2 }],
  'completion with prompt logprobs': (text) => [
    '/v1/completions',
    { prompt: text, ...greedy, prompt_logprobs: 1 },
  ],
  response: (text) => ['/v1/responses', { input: text, temperature: 0, max_output_tokens: 4 }],
  message: (text) => ['/v1/messages', { ...user(text), model: 'heddle-tiny' }],
  'count of tokens': (text) => [
    '/v1/messages/count_tokens',
    { messages: user(text).messages, model: 'heddle-tiny' },
  ],
  tokens: (text) => ['/tokenize', { prompt: text }],
  embedding: (text) => ['/v1/embeddings', { input: text }],
}

const guesses = [
  guessed.slice(0, 14),
  guessed.slice(0, 40),
  guessed,
  `${guessed} Sell everything before that.`,
]

let written = 0

/** Each call begins later than the one before it, as lists are in that order. */
const write = async ({ ask }: World, key: string, project: string, text: string) => {
  const [started_at, ended_at] = [++written, written + 0.5].map((minutes) =>
    new Date(Date.UTC(2026, 0, 2) + minutes * 60_000).toISOString(),
  )
  const times = { started_at, ended_at }
  const call = completeOf({ project_id: project, op_name: 'loom', inputs: { text }, output: text, ...times })
  assert.equal((await ask(key, `/v2/${project}/calls/complete`, { batch: [call] })).status, 200)
}

/**
 * Alice sends her secret in every way. `more` is what she does besides: requests and writes, each in a project of its
 * own. Prompts are not among them, because they take sequences from bob: how busy a server is cannot be hidden.
 */
async function actAsAlice(world: World, secret: string, more: number): Promise<void> {
  for (const [name, sending] of Object.entries(sendings)) {
    const { status, text } = await world.ask(keys.alice, ...sending(secret))
    assert.equal(status, name === 'embedding' ? 400 : 200, `${name}: ${text}`)
  }
  await write(world, keys.alice, 'acme/qa', secret)
  for (let n = 0; n < more; n++) {
    await write(world, keys.alice, `acme/more-${n}`, other)
    await world.ask(keys.alice, '/me')
  }
}

/** The same requests in every world; what bob sees of each, by what it asks. */
async function askAsBob(t: TestContext, world: World, more: number) {
  const { server } = world
  const seen: Record<string, unknown> = {}
  const ask = async (name: string, url: string, body?: object) => {
    seen[name] = await world.ask(keys.bob, url, body)
  }
  for (const [name, sending] of Object.entries(sendings))
    for (const guess of guesses) await ask(`${name}: ${guess}`, ...sending(guess))

  const stream = await openEvents(t, server.address, { key: keys.bob, query: '?project_id=globex%2Fqa' })
  const isOf = async (kind: string) => {
    for (;;) {
      const event = await stream.next()
      assert.ok(event !== undefined)
      if (event.name === 'open' || event.data.kind === kind)
        return JSON.parse(withoutChance(JSON.stringify(event)))
    }
  }
  seen['the first event'] = await isOf('open')
  for (let n = 0; n < more; n++) await write(world, keys.alice, `acme/more-${n}`, other)
  await write(world, keys.bob, 'globex/qa', 'loom of wool')
  seen['an event'] = await isOf('call')
  stream.close()
  for (const text of ['loom of silk', 'loom of jute']) await write(world, keys.bob, 'globex/qa', text)

  const search = { project_id: 'globex/qa', limit: 1 }
  await until('the calls can be searched', async () => {
    const answer = await server.post('/views/search', { ...search, text: 'loom jute' }, { key: keys.root })
    return ((await answer.json()) as { found: object[] }).found.length === 1
  })
  for (const text of ['loom', guessed.slice(0, 6), guessed])
    await ask(`search: ${text}`, '/views/search', { ...search, text })

  const { paths } = (await (await server.get('/openapi.json', keys.bob)).json()) as {
    paths: Record<string, object>
  }
  for (const [path, methods] of Object.entries(paths)) {
    // The stream of events is above.
    if (path.includes('{') || path === '/views/events') continue
    if ('get' in methods) await ask(`GET ${path}`, path)
    if ('post' in methods && /query|stats|views|read/.test(path))
      await ask(`POST ${path}`, path, { project_id: 'globex/qa' })
  }
  return seen
}

/** All that bob sees in a world in which alice has this secret. */
async function seenBeside(t: TestContext, secret: string, more: number): Promise<Record<string, unknown>> {
  const world = await startWorld(t)
  await actAsAlice(world, secret, more)
  const seen = await askAsBob(t, world, more)
  await world.server.end('SIGTERM')
  return seen
}

test('P6: what one tenant sent shows in no answer, header or counter of another', async (t) => {
  const right = await seenBeside(t, guessed, 1)
  const wrong = await seenBeside(t, other, 3)
  const different = Object.keys(right).filter((name) => !isDeepStrictEqual(right[name], wrong[name]))
  const only = (seen: Record<string, unknown>) => different.slice(0, 3).map((name) => [name, seen[name]])
  assert.deepEqual(only(right), only(wrong), `these differ: ${different.join('; ')}`)
  assert.deepEqual(Object.keys(right), Object.keys(wrong))
})

test('P6: prompts are shared within an entity, or by all, only where the operator says so', async (t) => {
  const anne = 'the-secret-key-of-anne'
  const users = `alice:${keys.alice}:acme,anne:${anne}:acme,bob:${keys.bob}:globex`
  for (const [sharing, colleague, stranger] of [
    ['user', false, false],
    ['entity', true, false],
    ['all', true, true],
  ] as const) {
    const settings = { HEDDLE_USERS: users, HEDDLE_PROMPT_SHARING: sharing }
    const { ask, server } = await startWorld(t, settings)
    const chat = sendings.chat?.(guessed) ?? assert.fail()
    assert.equal(cachedIn(await ask(keys.alice, ...chat)), 0)
    assert.ok(cachedIn(await ask(keys.alice, ...chat)) > 10, 'alice shares with herself')
    assert.equal(cachedIn(await ask(keys.bob, ...chat)) > 10, stranger, `a stranger, by ${sharing}`)
    assert.equal(cachedIn(await ask(anne, ...chat)) > 10, colleague, `a colleague, by ${sharing}`)

    const project_id = 'acme/default'
    const val = { content: `You answer for the harbour. ${other}` }
    await ask(keys.alice, '/obj/create', { obj: { project_id, object_id: 'harbour', val } })
    await ask(keys.alice, '/objs/harbour/aliases/production/move', { project_id, digest: 'v0' })
    const named = async (key: string, question: string) =>
      cachedIn(await ask(key, '/v1/chat/completions', { prompt: { id: 'harbour' }, ...user(question) }))
    assert.ok((await named(keys.alice, 'When?')) < 10)
    assert.ok((await named(keys.alice, 'Where?')) > 20, 'the prefix of a named prompt is shared')
    assert.equal((await named(anne, 'Who?')) > 20, colleague, `a named prompt, by ${sharing}`)
    await server.end('SIGTERM')
  }
})
