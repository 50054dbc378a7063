import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, jsonSchema, Output, streamText, ToolLoopAgent, tool } from 'ai'
import { z } from 'zod'
import { callText } from '../../support/tools.ts'
import { startPlayed } from './played.ts'

/** Vercel's unmodified AI SDK in complete tool loops, with both of its providers for chat completions. */

const server = await startPlayed({ after })
const { plays, prompts } = server

const compatible = createOpenAICompatible({
  name: 'heddle',
  ...server,
  includeUsage: true,
  supportsStructuredOutputs: true,
})
const providers = {
  '@ai-sdk/openai-compatible': compatible('played'),
  '@ai-sdk/openai': createOpenAI(server).chat('played'),
}

const heard: unknown[] = []
const tools = {
  get_weather: tool({
    description: 'The weather of a city',
    inputSchema: z.object({ city: z.string(), days: z.number().int().min(1).max(7).optional() }),
    execute: async (given) => {
      heard.push(given)
      return { sky: `rain in ${given.city}` }
    },
  }),
  now: tool({ inputSchema: z.object({}), execute: async () => 'noon' }),
}
const bothCalls = `${callText('get_weather', { city: 'Oslo', days: 2 })}\n${callText('get_weather', { city: 'Rīga' })}`
const asked = { tools, prompt: 'Weather?', stopWhen: isStepCount(5), maxRetries: 0 }

function loop() {
  heard.length = 0
  plays(bothCalls, callText('now', '{}'), 'It rains in both.')
}

function assertLooped(text: string, finishReason: string) {
  assert.deepEqual([text, finishReason], ['It rains in both.', 'stop'])
  assert.deepEqual(heard, [{ city: 'Oslo', days: 2 }, { city: 'Rīga' }])
  assert.match(prompts()[2] ?? '', /rain in Oslo.*rain in Rīga.*noon/s)
}

for (const [name, model] of Object.entries(providers)) {
  describe(name, () => {
    test('generateText, step by step', async () => {
      loop()
      const { text, finishReason, steps, totalUsage } = await generateText({ ...asked, model })
      assertLooped(text, finishReason)
      assert.deepEqual(
        steps.map((step) => [step.finishReason, step.toolCalls.length, step.toolResults.length]),
        [
          ['tool-calls', 2, 2],
          ['tool-calls', 1, 1],
          ['stop', 0, 0],
        ],
      )
      assert.ok((totalUsage.outputTokens ?? 0) > 20)
    })

    test('streamText, step by step', async () => {
      loop()
      const result = streamText({ ...asked, model })
      const types = new Set<string>()
      let input = ''
      for await (const part of result.fullStream) {
        types.add(part.type)
        if (part.type === 'tool-input-delta') input += part.delta
      }
      assertLooped(await result.text, await result.finishReason)
      for (const type of ['tool-input-start', 'tool-input-end', 'tool-call', 'tool-result', 'text-delta']) {
        assert.ok(types.has(type), type)
      }
      assert.ok(!types.has('error') && !types.has('tool-error'))
      assert.equal(input, '{"city":"Oslo","days":2}{"city":"Rīga"}{}')
      assert.ok(((await result.totalUsage).outputTokens ?? 0) > 20)
    })

    test('an agent, streamed or not', async () => {
      const agent = new ToolLoopAgent({ model, tools, instructions: 'Use tools.', maxRetries: 0 })
      loop()
      const whole = await agent.generate({ prompt: 'Weather?' })
      assertLooped(whole.text, whole.finishReason)
      loop()
      const streamed = await agent.stream({ prompt: 'Weather?' })
      assertLooped(await streamed.text, await streamed.finishReason)
    })

    test('toolChoice: required, a named tool, none', async () => {
      plays(callText('now', '{}'), callText('now', '{}'), 'It rains.')
      const one = { ...asked, model, stopWhen: isStepCount(1) }
      const required = await generateText({ ...one, toolChoice: 'required' })
      assert.deepEqual([required.toolCalls.length, required.finishReason], [1, 'tool-calls'])
      const named = await generateText({ ...one, toolChoice: { type: 'tool', toolName: 'now' } })
      assert.deepEqual(
        named.toolCalls.map(({ toolName }) => toolName),
        ['now'],
      )
      const none = await generateText({ ...one, toolChoice: 'none' })
      assert.deepEqual([none.text, none.toolCalls], ['It rains.', []])
    })

    test('tools together with an object: first a call, then the object', async () => {
      const output = Output.object({ schema: z.object({ rain: z.boolean() }) })
      plays(bothCalls, '{"rain":true}', bothCalls, '{"rain":true}')
      const whole = await generateText({ ...asked, model, output })
      assert.deepEqual(whole.output, { rain: true })
      const streamed = streamText({ ...asked, model, output })
      await streamed.consumeStream()
      assert.deepEqual(await streamed.output, { rain: true })
    })

    test('a tool whose schema allows any object', async () => {
      plays(callText('any', { deep: [{ a: null }] }), 'Done.')
      const any = tool({
        inputSchema: jsonSchema<object>({ type: 'object' }),
        execute: async (given) => given,
      })
      const { text, steps } = await generateText({ ...asked, model, tools: { any } })
      assert.equal(text, 'Done.')
      assert.deepEqual(steps[0]?.toolCalls[0]?.input, { deep: [{ a: null }] })
    })
  })
}

test('thoughts are separate parts, and are sent back with the calls', async () => {
  const model = providers['@ai-sdk/openai-compatible']
  const texts = [`<think>\nOslo first.\n</think>\n\n${bothCalls}`, '<think>\nClear.\n</think>\n\nIt rains.']
  plays(...texts)
  const whole = await generateText({ ...asked, model, reasoning: 'high' })
  assert.deepEqual(
    whole.steps.map(({ reasoningText }) => reasoningText?.trim()),
    ['Oslo first.', 'Clear.'],
  )
  assert.equal(whole.text, 'It rains.')
  assert.ok((whole.totalUsage.outputTokenDetails.reasoningTokens ?? 0) > 0)
  assert.match(prompts()[1] ?? '', /<think>\nOslo first\.\n<\/think>/)
  plays(...texts)
  const streamed = streamText({ ...asked, model, reasoning: 'high' })
  const thoughts: string[] = []
  for await (const part of streamed.fullStream) {
    if (part.type === 'reasoning-start') thoughts.push('')
    if (part.type === 'reasoning-delta') thoughts.push(`${thoughts.pop() ?? ''}${part.text}`)
  }
  assert.deepEqual(
    thoughts.map((thought) => thought.trim()),
    ['Oslo first.', 'Clear.'],
  )
  assert.equal(await streamed.text, 'It rains.')
})

test('a call that is cut off finishes with length, and is not run', async () => {
  const model = providers['@ai-sdk/openai-compatible']
  heard.length = 0
  plays(bothCalls, bothCalls)
  const cut = { ...asked, model, maxOutputTokens: 30, stopWhen: isStepCount(1) }
  assert.equal((await generateText(cut)).finishReason, 'length')
  const streamed = streamText(cut)
  await streamed.consumeStream()
  assert.equal(await streamed.finishReason, 'length')
  assert.deepEqual(heard, [])
})
