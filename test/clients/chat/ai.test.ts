import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, streamText } from 'ai'
import { prefilled, type Script, scriptOf, tokens } from '../../support/scripted-backend.ts'
import { withTimeout } from '../../support/wait.ts'
import { type ChatServer, startChat } from './server.ts'

/** Vercel's unmodified AI SDK. */

const modelOf = ({ baseURL, apiKey }: ChatServer) =>
  createOpenAICompatible({ name: 'heddle', baseURL, apiKey, includeUsage: true })('scripted')

const endless: Script = async function* (request) {
  yield prefilled(request)
  yield tokens('Hello', request)
  await new Promise<never>(() => undefined)
}

test('generateText', async (t) => {
  const server = await startChat(t)
  const { text, finishReason, usage } = await generateText({
    model: modelOf(server),
    system: 'Be short.',
    prompt: 'Hi',
    temperature: 0.5,
    maxOutputTokens: 20,
  })
  assert.deepEqual([text, finishReason, usage.outputTokens], ['Hello', 'stop', 5])
  const [asked] = server.backend.asked
  assert.deepEqual(asked?.prompt, {
    text: '<s><|system|>Be short.<|end|><|user|>Hi<|end|><|assistant|>',
    special: true,
    add: false,
  })
  assert.deepEqual([asked?.sampling.temperature, asked?.ending.maxTokens], [0.5, 20])
})

test('a conversation in parts', async (t) => {
  const server = await startChat(t)
  await generateText({
    model: modelOf(server),
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
      { role: 'assistant', content: 'three' },
      { role: 'user', content: 'four' },
    ],
  })
  const prompt = server.backend.asked[0]?.prompt
  assert.equal(
    prompt && 'text' in prompt && prompt.text,
    '<s><|user|>one\ntwo<|end|><|assistant|>three<|end|><|user|>four<|end|><|assistant|>',
  )
})

test('streamText', async (t) => {
  const server = await startChat(t, scriptOf('Hel', 'lo', ' there'))
  const result = streamText({ model: modelOf(server), prompt: 'Hi' })
  let text = ''
  for await (const delta of result.textStream) text += delta
  assert.equal(text, 'Hello there')
  assert.equal(await result.finishReason, 'stop')
  assert.equal((await result.usage).outputTokens, 11)
})

test('aborting a request ends the generation, streamed or not', async (t) => {
  const server = await startChat(t, endless)
  const leaving = new AbortController()
  const result = streamText({ model: modelOf(server), prompt: 'Hi', abortSignal: leaving.signal })
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') leaving.abort()
  }
  await withTimeout('the stream is aborted', server.backend.abortedAtLeast(1))
  const again = new AbortController()
  const whole = generateText({ model: modelOf(server), prompt: 'Hi', abortSignal: again.signal })
  const ended = assert.rejects(whole)
  while (server.backend.running === 0) await new Promise((resolve) => setImmediate(resolve))
  again.abort()
  await ended
  await withTimeout('nothing runs', server.backend.idle())
})

test('refusals say what is wrong', async (t) => {
  const server = await startChat(t)
  await assert.rejects(
    generateText({ model: modelOf(server), prompt: 'Hi', topP: 5, maxRetries: 0 }),
    (error) => {
      assert.ok(APICallError.isInstance(error))
      assert.equal(error.statusCode, 400)
      assert.match(error.message, /top_p: expected number to be <=1/)
      return true
    },
  )
})

test('a failure in the middle of a stream is an error part', async (t) => {
  const server = await startChat(t, function* (request) {
    yield prefilled(request)
    yield tokens('Hel', request)
    yield new Error('broken')
  })
  const result = streamText({ model: modelOf(server), prompt: 'Hi', onError: () => undefined })
  const types: string[] = []
  for await (const { type } of result.fullStream) types.push(type)
  assert.ok(types.includes('text-delta'))
  assert.ok(types.includes('error'))
})
