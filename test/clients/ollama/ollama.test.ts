import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Ollama } from 'ollama'
import { keys, openApp } from '../../support/app.ts'
import { scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { startPlayed } from '../chat/played.ts'

/** Ollama's own client, with a key in a header. */
const clientOf = (host: string) => new Ollama({ host, headers: { Authorization: `Bearer ${keys.alice}` } })

async function start(t: TestContext) {
  const backend = scriptedBackend()
  const { app } = await openApp(t, { backend })
  return { backend, ollama: clientOf(await app.listen({ host: '127.0.0.1', port: 0 })) }
}

async function startPlaying(t: TestContext) {
  const server = await startPlayed(t)
  return { ...server, ollama: clientOf(server.baseURL.replace(/\/v1$/, '')) }
}

const model = 'scripted'
const messages = [{ role: 'user', content: 'Hi' }]

test('ollama: a chat, whole and streamed', async (t) => {
  const { ollama } = await start(t)
  const { message, done_reason, eval_count } = await ollama.chat({ model, messages })
  assert.deepEqual([message.content, done_reason, eval_count], ['Hello', 'stop', 5])
  let text = ''
  for await (const { message: delta } of await ollama.chat({ model, messages, stream: true }))
    text += delta.content
  assert.equal(text, 'Hello')
})

test('ollama: a prompt, whole, streamed and raw', async (t) => {
  const { ollama, backend } = await start(t)
  assert.equal((await ollama.generate({ model, prompt: 'Hi', system: 'Be short.' })).response, 'Hello')
  let text = ''
  for await (const { response } of await ollama.generate({ model, prompt: 'Hi', stream: true }))
    text += response
  assert.equal(text, 'Hello')
  backend.asked.length = 0
  await ollama.generate({ model, prompt: 'Once', raw: true, options: { num_predict: 3, stop: ['.'] } })
  const [{ prompt, ending } = assert.fail()] = backend.asked
  assert.deepEqual(['text' in prompt && prompt.text, ending.maxTokens, ending.stop], ['Once', 3, ['.']])
})

test('ollama: tools are called and their results read, in a stream', async (t) => {
  const { ollama, plays, prompts } = await startPlaying(t)
  const call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>'
  plays(`<think>\nHm.\n</think>\n\n${call}`, 'Warm.')
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const tools = [{ type: 'function', function: { name: 'weather', description: 'Of a city', parameters } }]
  const asked = { model: '', messages, tools }
  const calls = []
  let thought = ''
  for await (const { message } of await ollama.chat({ ...asked, stream: true, think: true })) {
    thought += message.thinking ?? ''
    calls.push(...(message.tool_calls ?? []))
  }
  assert.equal(thought.trim(), 'Hm.')
  assert.deepEqual(
    calls.map(({ function: made }) => made),
    [{ name: 'weather', arguments: { city: 'Bonn' } }],
  )
  const turns = [
    ...messages,
    { role: 'assistant', content: '', tool_calls: calls },
    { role: 'tool', tool_name: 'weather', content: '21 degrees' },
  ]
  const { message } = await ollama.chat({ ...asked, messages: turns, think: false })
  assert.equal(message.content, 'Warm.')
  assert.match(prompts()[1] ?? '', /<tool_response>21 degrees<\/tool_response>/)
})

test('ollama: an answer fits the schema of format', async (t) => {
  const { ollama, plays } = await startPlaying(t)
  const format = {
    type: 'object',
    properties: { capital: { type: 'boolean' } },
    required: ['capital'],
    additionalProperties: false,
  }
  plays('{"capital": true}', '{}')
  const { message } = await ollama.chat({ model: '', messages, format, think: false })
  assert.deepEqual(JSON.parse(message.content), { capital: true })
  const { response } = await ollama.generate({ model: '', prompt: 'Hi', format: 'json', think: false })
  assert.deepEqual(JSON.parse(response ?? ''), {})
})

test('ollama: embeddings of one text, of several, and in the older form', async (t) => {
  const { ollama } = await start(t)
  assert.deepEqual((await ollama.embed({ model, input: ['b', 'a'] })).embeddings, [
    [0, 1, 0, 0],
    [1, 0, 0, 0],
  ])
  assert.deepEqual((await ollama.embed({ model, input: 'b', dimensions: 2 })).embeddings, [[0, 1]])
  assert.deepEqual((await ollama.embeddings({ model, prompt: 'b' })).embedding, [0, 1, 0, 0])
})

test('ollama: models are listed, shown, and cannot be changed', async (t) => {
  const { ollama } = await start(t)
  assert.deepEqual(
    (await ollama.list()).models.map(({ name }) => name),
    [model, 'alias/of-it'],
  )
  assert.equal((await ollama.ps()).models.length, 2)
  assert.ok((await ollama.show({ model })).capabilities.includes('completion'))
  assert.match((await ollama.version()).version, /^\d+\.\d+\.\d+$/)
  assert.equal((await ollama.pull({ model })).status, 'success')
  for await (const { status } of await ollama.pull({ model, stream: true })) assert.equal(status, 'success')
  const refused = { name: 'ResponseError', status_code: 403, message: /operator of this server/ }
  await assert.rejects(ollama.pull({ model: 'other' }), refused)
  await assert.rejects(ollama.create({ model: 'other', from: model }), refused)
  await assert.rejects(ollama.copy({ source: model, destination: 'other' }), refused)
  await assert.rejects(ollama.push({ model }), refused)
  await assert.rejects(ollama.delete({ model }), refused)
})

test('ollama: refusals and failures in the middle are errors with their text', async (t) => {
  const { ollama, backend } = await start(t)
  await assert.rejects(ollama.chat({ model: 'nope', messages }), {
    status_code: 404,
    message: /"nope" does not exist/,
  })
  await assert.rejects(ollama.chat({ model, messages, options: { mirostat: 2 } }), {
    status_code: 400,
    message: /options\.mirostat: is not supported here/,
  })
  backend.script = function* (request) {
    yield* [...(scriptOf('Hel')(request, new AbortController().signal) as Iterable<never>)].slice(0, 2)
    throw new Error('a cosmic ray')
  }
  await assert.rejects(async () => {
    for await (const _ of await ollama.chat({ model, messages, stream: true }));
  }, /request|failed/i)
})

test('ollama: abort() ends the answer', async (t) => {
  const { ollama, backend } = await start(t)
  backend.script = async function* (request, signal) {
    yield* [...(scriptOf('Hel')(request, signal) as Iterable<never>)].slice(0, 2)
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const stream = await ollama.chat({ model, messages, stream: true })
  await assert.rejects(
    async () => {
      for await (const _ of stream) ollama.abort()
    },
    { name: 'AbortError' },
  )
  await backend.abortedAtLeast(1)
})
