import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import OpenAI6 from 'openai'
import { zodFunction as zodFunction6 } from 'openai/helpers/zod'
import OpenAI7 from 'openai-7'
import { zodFunction as zodFunction7 } from 'openai-7/helpers/zod'
import { z } from 'zod'
import { callText, weather as weatherTool } from '../../support/tools.ts'
import { startPlayed } from './played.ts'

/** OpenAI's unmodified SDK in complete tool loops: question, calls, results, answer. */
const versions = {
  'openai 6': { OpenAI: OpenAI6, zodFunction: zodFunction6 },
  'openai 7': {
    OpenAI: OpenAI7 as unknown as typeof OpenAI6,
    zodFunction: zodFunction7 as unknown as typeof zodFunction6,
  },
}

const server = await startPlayed({ after })
const { plays, prompts } = server

const asked = { model: 'played', messages: [{ role: 'user' as const, content: 'Weather in Oslo?' }] }
const weather = { ...weatherTool, type: 'function' as const }
const now = { type: 'function' as const, function: { name: 'now' } }
const bothCalls = `${callText('get_weather', { city: 'Oslo', days: 2 })}\n${callText('get_weather', { city: 'Rīga' })}`
const Place = z.object({ city: z.string(), days: z.number().int().min(1).max(7) })

for (const [name, { OpenAI, zodFunction }] of Object.entries(versions)) {
  describe(name, () => {
    const { chat } = new OpenAI({ ...server, maxRetries: 0 })

    test('create, by hand: calls, their results, the answer', async () => {
      plays(bothCalls, 'It rains in both.')
      const tools = [weather, now]
      const first = await chat.completions.create({ ...asked, tools })
      const message = first.choices[0]?.message
      assert.ok(message?.tool_calls)
      assert.deepEqual([message.content, first.choices[0]?.finish_reason], [null, 'tool_calls'])
      const results = message.tool_calls.map((call) => {
        assert.ok(call.type === 'function')
        const { city } = JSON.parse(call.function.arguments)
        return { role: 'tool' as const, tool_call_id: call.id, content: `rain in ${city}` }
      })
      const messages = [...asked.messages, message, ...results]
      const second = await chat.completions.create({ ...asked, tools, messages })
      assert.equal(second.choices[0]?.message.content, 'It rains in both.')
      assert.equal(second.choices[0]?.finish_reason, 'stop')
      assert.match(prompts()[1] ?? '', /rain in Oslo.*rain in Rīga/s)
    })

    for (const stream of [false, true] as const) {
      test(`runTools${stream ? ', streamed' : ''}`, async () => {
        plays(bothCalls, callText('now', '{}'), 'It rains in both.')
        const heard: unknown[] = []
        const tools = [
          {
            type: 'function' as const,
            function: {
              ...weather.function,
              parse: JSON.parse,
              function: (given: { city: string }) => {
                heard.push(given)
                return `rain in ${given.city}`
              },
            },
          },
          zodFunction({ name: 'now', parameters: z.object({}), function: () => 'noon' }),
        ] as Parameters<typeof chat.completions.runTools>[0]['tools']
        let results = 0
        const asking = { ...asked, tools }
        const runner = stream
          ? chat.completions.runTools({ ...asking, stream }).on('functionToolCallResult', () => results++)
          : chat.completions.runTools(asking).on('functionToolCallResult', () => results++)
        assert.equal(await runner.finalContent(), 'It rains in both.')
        assert.deepEqual(heard, [{ city: 'Oslo', days: 2 }, { city: 'Rīga' }])
        assert.equal(results, 3)
        assert.match(prompts()[2] ?? '', /rain in Oslo.*rain in Rīga.*noon/s)
      })
    }

    test('parse: strict arguments defined with zod, streamed or not', async () => {
      const text = callText('place', { city: 'Oslo', days: 3 })
      plays(text, text)
      const asking = {
        ...asked,
        tools: [zodFunction({ name: 'place', parameters: Place })],
        tool_choice: 'required' as const,
      }
      const whole = await chat.completions.parse(asking)
      const streamed = await chat.completions.stream(asking).finalChatCompletion()
      for (const { choices } of [whole, streamed]) {
        assert.deepEqual(choices[0]?.message.tool_calls?.[0]?.function.parsed_arguments, {
          city: 'Oslo',
          days: 3,
        })
        assert.equal(choices[0]?.finish_reason, 'tool_calls')
      }
    })

    test('a stream delivers a call while it is written', async () => {
      plays(bothCalls)
      const stream = chat.completions.stream({ ...asked, tools: [weather] })
      const deltas = ['', '']
      const done: unknown[] = []
      stream.on('tool_calls.function.arguments.delta', ({ index, arguments_delta }) => {
        deltas[index] += arguments_delta
      })
      stream.on('tool_calls.function.arguments.done', ({ index, arguments: given }) =>
        done.push([index, given]),
      )
      const { choices } = await stream.finalChatCompletion()
      const calls = choices[0]?.message.tool_calls ?? []
      assert.deepEqual(
        calls.map((call) => call.function.arguments),
        deltas,
      )
      assert.deepEqual(done, [...deltas.entries()])
      assert.deepEqual(JSON.parse(deltas[0] ?? ''), { city: 'Oslo', days: 2 })
    })

    test('at most one call, a named tool, and no tool', async () => {
      plays([callText('get_weather', { city: 'Oslo' }), bothCalls], callText('now', '{}'), 'It rains.')
      const tools = [weather, now]
      const single = await chat.completions.create({ ...asked, tools, parallel_tool_calls: false })
      assert.equal(single.choices[0]?.message.tool_calls?.length, 1)
      const named = await chat.completions.create({ ...asked, tools, tool_choice: now })
      assert.deepEqual(
        named.choices[0]?.message.tool_calls?.map(({ type }) => type),
        ['function'],
      )
      assert.equal(named.choices[0]?.finish_reason, 'stop')
      const none = await chat.completions.create({ ...asked, tools, tool_choice: 'none' })
      assert.deepEqual(
        [none.choices[0]?.message.content, none.choices[0]?.message.tool_calls],
        ['It rains.', undefined],
      )
    })

    test('functions, the older form of tools', async () => {
      plays(callText('get_weather', { city: 'Oslo' }), 'It rains.', callText('get_weather', { city: 'Oslo' }))
      const functions = [weather.function]
      const first = await chat.completions.create({ ...asked, functions })
      const message = first.choices[0]?.message
      assert.ok(message?.function_call)
      assert.equal(first.choices[0]?.finish_reason, 'function_call')
      const result = { role: 'function' as const, name: 'get_weather', content: 'rain in Oslo' }
      const messages = [...asked.messages, message, result]
      const second = await chat.completions.create({ ...asked, functions, messages })
      assert.equal(second.choices[0]?.message.content, 'It rains.')
      assert.match(prompts()[1] ?? '', /rain in Oslo/)
      const streamed = await chat.completions.stream({ ...asked, functions }).finalChatCompletion()
      assert.deepEqual(streamed.choices[0]?.message.function_call, message.function_call)
    })

    test('a thought together with content and calls', async () => {
      plays(`<think>\nHm.\n</think>\n\n${bothCalls}`, `<think>\nHm.\n</think>\n\nIt rains.`)
      const asking = { ...asked, tools: [weather], reasoning_effort: 'high' as const }
      const { choices } = await chat.completions.create(asking)
      const message = choices[0]?.message as { reasoning?: string; tool_calls?: unknown[] } | undefined
      assert.deepEqual([message?.reasoning?.trim(), message?.tool_calls?.length], ['Hm.', 2])
      const streamed = await chat.completions.create({ ...asking, stream: true })
      let said = ''
      for await (const { choices } of streamed) said += choices[0]?.delta.content ?? ''
      assert.equal(said, 'It rains.')
    })

    test('unsupported requests are errors of the right class', async () => {
      const strict = { ...now.function, strict: true, parameters: { type: 'object', patternProperties: 7 } }
      await assert.rejects(
        chat.completions.create({ ...asked, tools: [{ type: 'function', function: strict }] }),
        (error) =>
          error instanceof OpenAI.BadRequestError && /tools\.0\.function\.parameters/.test(error.message),
      )
      const unknown = { type: 'function' as const, function: { name: 'other' } }
      await assert.rejects(
        chat.completions.create({ ...asked, tools: [now], tool_choice: unknown }),
        (error) => error instanceof OpenAI.BadRequestError && error.param === 'tool_choice',
      )
    })
  })
}
