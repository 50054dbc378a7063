import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startChatServer } from '../support/chat-server.ts'
import { askingMessage, messageStreamOf, messagesUrl } from '../support/messages.ts'

const tools = [
  {
    name: 'lookup',
    input_schema: {
      type: 'object',
      properties: { word: { type: 'string', maxLength: 12 }, exact: { type: 'boolean' } },
      required: ['word', 'exact'],
      additionalProperties: false,
    },
  },
]

test('the built-in model answers messages', async (t) => {
  const server = await startChatServer(t, { model: 'builtin' })
  const send = async (fields: Record<string, unknown>, url = messagesUrl) => {
    const answer = await server.post(url, askingMessage({ temperature: 0, ...fields }))
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return text
  }
  const ask = async (fields: Record<string, unknown>) => JSON.parse(await send(fields))

  await t.test('answers are the same streamed or not, and a call fits its schema', async () => {
    for (const fields of [
      {},
      { thinking: { type: 'enabled', budget_tokens: 10 } },
      { tools },
      { tools, tool_choice: { type: 'any', disable_parallel_tool_use: true } },
      {
        tools,
        tool_choice: { type: 'tool', name: 'lookup' },
        thinking: { type: 'adaptive' },
        max_tokens: 400,
      },
      { tools, tool_choice: { type: 'any' }, max_tokens: 8 },
    ]) {
      const whole = await ask(fields)
      const { message, inputs } = messageStreamOf(await send({ ...fields, stream: true }))
      assert.equal(message?.stop_reason, whole.stop_reason, JSON.stringify(fields))
      assert.equal(message?.usage.output_tokens, whole.usage.output_tokens)
      const shown = (content: { type: string }[]) =>
        content.map((block) => (block.type === 'tool_use' ? { ...block, id: '', input: {} } : block))
      assert.deepEqual(shown(message?.content ?? []), shown(whole.content), JSON.stringify(fields))
      const calls = whole.content.filter(({ type }: { type: string }) => type === 'tool_use')
      if (whole.stop_reason === 'tool_use') {
        for (const [index, { input }] of calls.entries()) {
          assert.deepEqual(JSON.parse(inputs[index] ?? ''), input)
          assert.deepEqual(Object.keys(input).toSorted(), ['exact', 'word'])
          assert.ok(typeof input.word === 'string' && typeof input.exact === 'boolean')
        }
      }
    }
  })

  await t.test('the token count matches the usage of the request', async () => {
    for (const fields of [{}, { tools, system: 'Be short.' }]) {
      const { usage } = await ask(fields)
      const { max_tokens: _, ...body } = askingMessage(fields)
      const counted = JSON.parse(await send(body, `${messagesUrl}/count_tokens`))
      assert.equal(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens)
    }
  })

  await t.test('max_tokens beyond the context means all of the context', async () => {
    const { stop_reason } = await ask({ max_tokens: 1_000_000, stop_sequences: ['\u0001'] })
    assert.ok(['end_turn', 'model_context_window_exceeded'].includes(stop_reason), stop_reason)
  })

  await t.test('a prompt is found in the cache although its billing line differs', async () => {
    const system = 'You are a program that helps with programs. '.repeat(10)
    const said = async (cch: string) => {
      const line = `x-anthropic-billing-header: cc_version=2.1; cch=${cch};`
      const { usage } = await ask({
        system: [
          { type: 'text', text: line },
          { type: 'text', text: system },
        ],
      })
      return usage
    }
    const first = await said('aaaaa')
    const second = await said('bbbbb')
    assert.ok(first.input_tokens > 40)
    // All but the last tokens, which are computed each time.
    assert.ok(second.input_tokens <= 2, JSON.stringify(second))
  })
})
