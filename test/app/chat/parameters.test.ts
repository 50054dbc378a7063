import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

interface Values {
  good: unknown[]
  bad: unknown[]
}

interface Bodies {
  goodBodies: object[]
  badBodies: object[]
}

/** Every field of the specification, in its order: values or bodies that are accepted, and some that are refused. */
const fields: Record<string, Values | Bodies> = {
  messages: {
    goodBodies: [{}],
    badBodies: [{ messages: null }, { messages: 'Hi' }, { messages: [] }, { messages: ['Hi'] }],
  },
  add_generation_prompt: one([true, false, 'true', 0], [null, 'x', 2, []]),
  add_special_tokens: one([true, false], [null, 'x', {}]),
  allowed_token_ids: one([null, [1, 2], ['3']], [[], [-1], [1.5], 5]),
  bad_words: one([[], ['a']], [null, [''], 'a', [5]]),
  cache_salt: one([null, 'salt'], ['', 5, []]),
  chat_template: one([null, 'x', ''], [5, {}, '{% if %}']),
  chat_template_kwargs: one([null, {}, { a: 1 }], [5, 'x', [], { tokenize: true }]),
  continue_final_message: {
    goodBodies: [
      { continue_final_message: false },
      { continue_final_message: true, add_generation_prompt: false },
    ],
    badBodies: [{ continue_final_message: true }, { continue_final_message: null }],
  },
  documents: one([null, [], [{ title: 'a', text: 'b' }], [{}]], [{}, ['x'], [{ a: 1 }], [{ a: null }]]),
  echo: one([true, false], [null, 'x']),
  frequency_penalty: one([null, 0, -2, 2, '1'], [-2.1, 2.1, 'x', [], true]),
  ignore_eos: one([true, false], [null, 5]),
  include_reasoning: one([true, false], [null, 'x']),
  include_stop_str_in_output: one([true, false], [null, 'x']),
  kv_transfer_params: one([null, { a: [1] }], [5, 'x', []]),
  length_penalty: one([1, -0.5], [null, 'x', true]),
  logit_bias: one([null, {}, { '5': 1.5 }], [[], 'x', { a: 1 }, { '5': 'x' }, { '5': null }, { '-1': 1 }]),
  logprobs: one([null, true, false], [5, 'x']),
  max_completion_tokens: one([null, 1, '5'], [0, -1, 1.5, 'x']),
  max_tokens: one([null, 1, '5'], [0, -1, 1.5, 'x']),
  min_p: one([null, 0, 1], [-0.1, 1.1, 'x']),
  min_tokens: one([0, 1], [null, -1, 1.5]),
  mm_processor_kwargs: one([null, { a: 1 }], [5, []]),
  model: one([null, '', 'scripted', 'alias/of-it'], [5, 'other']),
  n: one([null, 1, 128], [0, -1, 129, 1.5]),
  parallel_tool_calls: one([null, true, false], ['x', 5]),
  presence_penalty: one([null, 0, -2, 2], [-2.1, 2.1, 'x']),
  priority: one([0], [null, 1, -1, 1.5, 'x']),
  prompt_logprobs: one([null, 0, 20], [-1, 21, 1.5]),
  reasoning_effort: one([null, 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'], ['huge', '', 5]),
  repetition_detection: one(
    [null, {}, { max_pattern_size: 3, min_pattern_size: 1, min_count: 2 }],
    [5, [], { max_pattern_size: -1 }, { max_pattern_size: 3 }, { min_pattern_size: 1 }, { min_count: 'x' }],
  ),
  repetition_penalty: one([null, 0.1, 2], [0, -1, 'x']),
  request_id: one(['mine'], [null, '', 5]),
  response_format: one(
    [
      null,
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_object', schema: { type: 'object' } },
      { type: 'json_schema', json_schema: { name: 'x', description: 'y', strict: true, schema: {} } },
      { type: 'structural_tag', structures: [{ begin: '<a>', schema: {}, end: '</a>' }], triggers: ['<a'] },
    ],
    [
      {},
      'text',
      { type: 'poem' },
      { type: 'json_schema' },
      { type: 'json_schema', json_schema: { schema: {} } },
      { type: 'json_schema', json_schema: { name: 'x' } },
      { type: 'json_schema', json_schema: { name: 'x', schema: 5 } },
      { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'rope' } } },
      { type: 'json_object', schema: [] },
      { type: 'structural_tag' },
    ],
  ),
  return_token_ids: one([null, true, false], ['x']),
  return_tokens_as_token_ids: one([null, true, false], ['x']),
  seed: one([null, 0, -1, '5'], [1.5, 'x', [], true]),
  skip_special_tokens: one([true, false], [null, 'x']),
  spaces_between_special_tokens: one([true, false], [null, 'x']),
  stop: one([null, [], 'x', ['x', 'y']], ['', [''], 5, [5], {}]),
  stop_token_ids: one([null, [], [1]], [[-1], ['x'], 5]),
  stream: one([null, true, false], ['x', 5]),
  stream_options: {
    goodBodies: [
      { stream_options: null },
      { stream_options: {} },
      { stream_options: { include_usage: true, continuous_usage_stats: true }, stream: true },
    ],
    badBodies: [
      { stream_options: { include_usage: true } },
      { stream_options: 5, stream: true },
      { stream_options: { include_usage: 'x' }, stream: true },
    ],
  },
  structured_outputs: one(
    [
      null,
      { json: '{}' },
      { json: { type: 'object' } },
      { json_object: true, disable_any_whitespace: true },
      { json_object: true, whitespace_pattern: '[ ]?', disable_additional_properties: true },
      { json: { type: 'object' }, any_order: true },
      { choice: ['a', 'b'] },
      { regex: 'a+', disable_fallback: true, _backend: 'x', _backend_was_auto: true },
      { grammar: 'root ::= "a"' },
      { structural_tag: '{"type":"structural_tag","format":{"type":"any_text"}}' },
    ],
    [
      {},
      5,
      { disable_any_whitespace: true },
      { json: '' },
      { json: '{' },
      { json: true },
      { json: 'true' },
      { json_object: false },
      { choice: [] },
      { choice: [1] },
      { regex: {} },
      { regex: '(a' },
      { regex: '\\0' },
      { grammar: ' ' },
      { grammar: 'root ::= missing' },
      { structural_tag: '{}' },
      { structural_tag: '{' },
      { choice: ['a'], regex: 'a' },
      { json_object: true, grammar: 'root ::= "a"' },
      { json_object: true, whitespace_pattern: 'x' },
      { json_object: true, whitespace_pattern: ' *', disable_any_whitespace: true },
    ],
  ),
  temperature: one([null, 0, 5, '0.5'], [-1, 'x', [], true]),
  tool_choice: one(
    [null, 'none'],
    ['auto', 'required', 'x', 5, { type: 'function', function: { name: 'f' } }],
  ),
  tools: one(
    [null, [], [{ type: 'function', function: { name: 'f', description: 'd', parameters: {} } }]],
    [{}, [{}], [{ type: 'x', function: { name: 'f' } }], [{ function: { name: '' } }]],
  ),
  top_k: one([null, -1, 0, 5], [-2, 1.5, 'x']),
  logprob_token_ids: {
    goodBodies: [
      { logprob_token_ids: null },
      { logprob_token_ids: [0], logprobs: true },
      { logprob_token_ids: Array.from({ length: 128 }, (_, id) => id), logprobs: true, top_logprobs: 2 },
    ],
    badBodies: [
      { logprob_token_ids: [1] },
      { logprob_token_ids: [1], logprobs: false },
      { logprob_token_ids: [], logprobs: true },
      { logprob_token_ids: Array.from({ length: 129 }, (_, id) => id), logprobs: true },
      { logprob_token_ids: [-1], logprobs: true },
      { logprob_token_ids: ['x'], logprobs: true },
      { logprob_token_ids: 1, logprobs: true },
    ],
  },
  top_logprobs: {
    goodBodies: [{ top_logprobs: null }, { top_logprobs: 0 }, { top_logprobs: 20, logprobs: true }],
    badBodies: [
      { top_logprobs: 1 },
      { top_logprobs: 21, logprobs: true },
      { top_logprobs: -1, logprobs: true },
    ],
  },
  top_p: one([null, 0.1, 1], [0, 1.1, 'x']),
  truncate_prompt_tokens: one([null, -1, 1, 9_223_372_036_854_776_000], [-2, 0, 1.5, 'x', 1e19]),
  truncation_side: one([null, 'left', 'right'], ['', 'middle', 5]),
  use_beam_search: one([true, false], [null, 'x']),
  user: one([null, 'me'], [5, {}]),
  engine_xargs: one(
    [null, {}, { a: 1, b: 'x', c: [1, 'x'] }],
    [5, [], { a: null }, { a: { b: 1 } }, { a: [true] }],
  ),
}

/** Each value of a field in a body of its own. */
function one(good: unknown[], bad: unknown[]): Values {
  return { good, bad }
}

const { post } = await openApp({ after }, { backend: scriptedBackend() })

for (const [name, given] of Object.entries(fields)) {
  const alone = (value: unknown) => ({ [name]: value })
  const good = 'good' in given ? given.good.map(alone) : given.goodBodies
  const bad = 'bad' in given ? given.bad.map(alone) : given.badBodies

  test(`${name}: accepted values, and values that are refused and named`, async () => {
    for (const sent of good) {
      const { status, text } = await post(chatUrl, asking({ ...sent }))
      assert.equal(status, 200, `${JSON.stringify(sent)}: ${text}`)
    }
    for (const sent of bad) {
      const { status, json } = await post(chatUrl, asking({ ...sent }))
      const said = `${JSON.stringify(sent)}: ${status} ${JSON.stringify(json)}`
      assert.ok(status === 400 || (name === 'model' && status === 404), said)
      assert.ok(json.error.param === name || json.error.param.startsWith(`${name}.`), said)
      assert.ok(json.error.message.includes(name) || json.error.code === 'template_failed', said)
    }
  })
}

test('the table in docs has every field of the specification', async () => {
  const page = await readFile(new URL('../../../docs/chat-parameters.md', import.meta.url), 'utf8')
  const [, unused = ''] = /^Checked, but without effect: (.+)$/m.exec(page) ?? []
  const rows = new Set(
    [...page.matchAll(/^\| `(\w+)` \|/gm), ...unused.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  )
  assert.deepEqual(
    Object.keys(fields).filter((name) => !rows.has(name)),
    [],
  )
  // Two of them are newer fields of vLLM.
  assert.equal(Object.keys(fields).length, 55 + 2)
})
