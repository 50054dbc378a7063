import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLossless } from '../../packages/json/index.ts'
import { assertRefused } from '../support/chat.ts'
import { startChatServer } from '../support/chat-server.ts'

/** Constraints that no version could satisfy, with the field that the refusal names. */
const impossible: [param: RegExp, fields: Record<string, unknown>][] = [
  [/^response_format/, schemaFormat({ type: 'object', properties: { a: { type: 'rope' } } })],
  [/^response_format/, schemaFormat({ $ref: 'https://example.com/schema.json' })],
  [/^response_format/, schemaFormat({ enum: [] })],
  [/^response_format/, schemaFormat({ type: 'string', pattern: '(' })],
  [/^structured_outputs/, { structured_outputs: { json: '{"type":' } }],
  [/^structured_outputs/, { structured_outputs: { regex: '(a' } }],
  [/^structured_outputs/, { structured_outputs: { regex: '(a)\\1' } }],
  [/^structured_outputs/, { structured_outputs: { choice: [] } }],
  [/^structured_outputs/, { structured_outputs: { grammar: 'root ::= missing' } }],
  [/^structured_outputs/, { structured_outputs: { grammar: `root ::= ${'('.repeat(20_000)}` } }],
  [/^structured_outputs/, { structured_outputs: { structural_tag: '{}' } }],
  [/^structured_outputs/, { structured_outputs: {} }],
  [/^structured_outputs/, { structured_outputs: { choice: ['a'], regex: 'a' } }],
  [/^structured_outputs/, { structured_outputs: { choice: ['b'] }, allowed_token_ids: [1] }],
  [/^structured_outputs/, { structured_outputs: { choice: ['b', 'ab'] }, bad_words: ['b', 'a'] }],
]

const named = { type: 'function', function: { name: 'f' } }

/** Constraints that this version does not support. */
const unavailable: typeof impossible = [
  [/^response_format/, { response_format: { type: 'json_object' }, use_beam_search: true }],
  [/^tool_choice/, { tools: [tool('f')], tool_choice: 'required', use_beam_search: true, n: 2 }],
  [/^tool_choice/, { tools: [tool('f')], tool_choice: named, use_beam_search: true, n: 2 }],
  [/^response_format/, { tools: [tool('f')], tool_choice: named, ...schemaFormat({ type: 'object' }) }],
  [/^tools/, { tools: [tool('f', { type: 'object', properties: { a: { type: 'rope' } } }, true)] }],
]

function schemaFormat(schema: object) {
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } }
}

function tool(name: string, parameters: object = { type: 'object' }, strict = false) {
  return { type: 'function', function: { name, parameters, strict } }
}

test('P4: a constraint that cannot be satisfied is refused before the first byte, streamed or not', async (t) => {
  const server = await startChatServer(t, { model: {} })
  for (const [param, fields] of [...impossible, ...unavailable]) {
    for (const stream of [false, true]) {
      const answer = await server.ask({ ...fields, stream, max_tokens: 5 })
      const { error } = answer.json ?? {}
      const said = `${JSON.stringify({ ...fields, stream }).slice(0, 200)}: ${answer.status} ${answer.text}`
      assert.equal(answer.status, 400, said)
      assert.match(error.param, param, said)
      assertRefused(answer, { status: 400, code: error.code, param: error.param })
      assert.ok(error.message.includes(error.param.split('.')[0]), said)
    }
  }
  assert.equal(await server.figure('heddle_prompt_tokens_total'), 0, 'the model has processed no prompt')
  assert.equal((await server.ask({ max_tokens: 1 })).status, 200)
  const errors = server.log.filter((line) => (JSON.parse(line) as { level: number }).level >= 50)
  assert.deepEqual(errors, [])
  assert.equal(await server.end('SIGTERM'), 0)
})

test('numbers of a schema keep the digits that no double has, wherever the schema is', async (t) => {
  const server = await startChatServer(t, { model: 'builtin' })
  const text = '{"const":9007199254740993}'
  const schema = parseLossless(text)
  const parameters = { type: 'object', properties: { id: schema }, required: ['id'] }
  const tag = { type: 'structural_tag', format: { type: 'json_schema', json_schema: schema } }
  for (const fields of [
    { structured_outputs: { json: schema } },
    { structured_outputs: { json: text } },
    { structured_outputs: { structural_tag: JSON.stringify(tag) } },
    { response_format: tag },
    { response_format: { type: 'json_object', schema } },
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
    { tools: [{ function: { name: 'f', parameters } }], tool_choice: 'required' },
  ]) {
    const { text: answer } = await server.ask({ ...fields, max_tokens: 100 })
    assert.match(answer, /9007199254740993/, JSON.stringify(fields))
  }
})
