import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl, choiceOf, eventsOf } from '../../support/chat.ts'
import { askingMessage, messagesUrl } from '../../support/messages.ts'
import { type ModelTexts, simulatedBackend } from '../../support/simulated-backend.ts'

const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
}
const format = { type: 'json_schema', json_schema: { name: 'person', schema } }
const tools = [{ type: 'function', function: { name: 'find', parameters: { type: 'object' } } }]
const user = { role: 'user', content: 'Who?' }

function continuing(content: unknown, fields: Record<string, unknown>) {
  return asking({
    model: 'played',
    messages: [user, { role: 'assistant', content }],
    add_generation_prompt: false,
    continue_final_message: true,
    ...fields,
  })
}

const backend = simulatedBackend({ after }, '')
const { post } = await openApp({ after }, { backend })

/** The continuation of the given text, which is the same streamed and whole. */
async function said(say: ModelTexts, body: Record<string, unknown>) {
  backend.say = say
  const { status, json, text } = await post(chatUrl, body)
  assert.equal(status, 200, text)
  const streamed = choiceOf(eventsOf((await post(chatUrl, { ...body, stream: true })).text).chunks, 0)
  const { message, finish_reason } = json.choices[0]
  assert.equal(streamed.content, message.content ?? '')
  assert.equal(streamed.finish_reason, finish_reason)
  assert.deepEqual(backend.failures, [])
  return { ...message, finish_reason }
}

const answers: Record<string, [given: unknown, fields: Record<string, unknown>, answer: string]> = {
  'a schema': ['{ "name" : "A', { response_format: format }, 'da", "age": 3}'],
  'a schema, with the text in parts': [
    [{ type: 'text', text: '{"name":' }],
    { response_format: format },
    ' "A", "age": 3}',
  ],
  'any object': ['\n{"a": [', { response_format: { type: 'json_object' } }, '1]}'],
  'a regular expression': ['ab ', { structured_outputs: { regex: 'ab +c' } }, ' c'],
  'a choice': ['ye', { structured_outputs: { choice: ['yes', 'no'] } }, 's'],
  'a grammar': ['(', { structured_outputs: { grammar: 'root ::= "(" root ")" | "x"' } }, 'x)'],
  'a structural tag': [
    'So: <n>',
    {
      structured_outputs: {
        structural_tag: JSON.stringify({
          triggers: ['<n>'],
          structures: [{ begin: '<n>', schema: { type: 'integer' }, end: '</n>' }],
        }),
      },
    },
    '12</n>',
  ],
  'a schema with tools': ['{"name":', { response_format: format, tools }, ' "A", "age": 3}'],
  'a schema after a thought': [
    '<think>Ada.</think>\n{"name"',
    { response_format: format },
    ': "Ada", "age": 3}',
  ],
  'a complete text': ['{"name": "A", "age": 3} ', { response_format: format }, ''],
  'an empty text': ['', { response_format: format }, '{"name": "A", "age": 3}'],
}

for (const [what, [given, fields, answer]] of Object.entries(answers)) {
  test(`${what}: the answer continues the last message, streamed or not`, async () => {
    const { content, finish_reason, tool_calls } = await said(answer, continuing(given, fields))
    assert.equal(content ?? '', answer)
    assert.equal(finish_reason, 'stop')
    assert.ok(!tool_calls?.length)
  })
}

test('a thought that the last message leaves open is ended first', async () => {
  const body = continuing('<think>Who', { response_format: format })
  const { content, reasoning } = await said(' is it?</think>{"name": "A", "age": 3}', body)
  assert.deepEqual([reasoning, content], ['is it?', '{"name": "A", "age": 3}'])
})

test('a required call follows the given text, to which the constraint on content does not apply', async () => {
  const call = '<tool_call>\n{"name": "find", "arguments": {}}\n</tool_call>'
  const body = continuing('Let me look. ', { response_format: format, tools, tool_choice: 'required' })
  const { tool_calls } = await said(call, body)
  assert.equal(tool_calls[0].function.name, 'find')
})

test('a given text that can never fit is refused by field and character, streamed or not', async () => {
  const body = continuing('Sure: {"name"', { response_format: format })
  for (const stream of [false, true]) {
    const { status, json } = await post(chatUrl, { ...body, stream })
    const { code, param, message } = json.error
    assert.deepEqual([status, code, param], [400, 'continued_text_unfit', 'messages.1.content'])
    assert.equal(
      message,
      'messages.1.content: the answer continues it, and the two together must fit ' +
        'response_format.json_schema.schema: "S" at character 1; accepted there: "{".',
    )
  }
})

test('a last message of the assistant is the beginning of the text that a schema of the Messages API constrains', async () => {
  backend.say = 'da", "age": 3}'
  const asked = (content: unknown) =>
    askingMessage({
      model: 'played',
      system: 'Be short.',
      messages: [user, { role: 'assistant', content }],
      output_config: { format: { type: 'json_schema', schema } },
    })
  for (const given of ['{"name": "A', [{ type: 'text', text: '{\n\n  "name": "A' }]]) {
    const { status, json, text } = await post(messagesUrl, asked(given))
    assert.equal(status, 200, text)
    assert.deepEqual(
      json.content.map((block: { text: string }) => block.text),
      ['da", "age": 3}'],
    )
  }
  const { status, json } = await post(messagesUrl, asked('{"age": 3'))
  assert.equal(status, 400)
  assert.match(json.error.message, /^messages\.1\.content: .*"a" at character 3; accepted there: "n"\.$/)
})
