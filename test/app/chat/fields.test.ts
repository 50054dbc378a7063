import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Constraint } from '../../../packages/chat-format/index.ts'
import type { ConstraintOptions } from '../../../packages/constraints/index.ts'
import { type Generation, plainSampling } from '../../../packages/engine/index.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const plain: Generation = {
  prompt: { text: '<s><|user|>Hi<|end|><|assistant|>', special: true, add: false },
  choices: 1,
  sampling: plainSampling,
  ending: { minTokens: 0, stop: [], stopTokens: [], ignoreEos: false, includeStop: false },
  text: { skipSpecial: true, spaceSpecial: true },
  priority: 0,
  tenant: 'alice',
}

const schema = { type: 'object', properties: { b: { type: 'string' }, a: { type: 'integer' } } }
const tool = { type: 'function', function: { name: 'f', parameters: schema } }

function compiled(
  constraint: Constraint,
  field: string,
  options: ConstraintOptions = { whitespace: 'bounded' },
): Generation['constraint'] {
  return { grammar: createConstraintCompiler().compile(constraint, options, field).grammar, field }
}

type Change = { [Part in keyof Generation]?: unknown }

const sampling = (change: Partial<Generation['sampling']>): Change => ({
  sampling: { ...plain.sampling, ...change },
})
const ending = (change: Partial<Generation['ending']>): Change => ({ ending: { ...plain.ending, ...change } })
const text = (change: Partial<Generation['text']>): Change => ({ text: { ...plain.text, ...change } })

/** How each field changes the generation that the backend gets. */
const effects: [fields: Record<string, unknown>, change: Change][] = [
  [{}, {}],
  [{ temperature: 0.5 }, sampling({ temperature: 0.5 })],
  [{ temperature: 0 }, sampling({ temperature: 0 })],
  [{ temperature: '0.7' }, sampling({ temperature: 0.7 })],
  [{ temperature: null }, {}],
  [{ top_p: 0.5 }, sampling({ topP: 0.5 })],
  [{ top_k: 5 }, sampling({ topK: 5 })],
  [{ top_k: '5' }, sampling({ topK: 5 })],
  [{ top_k: -1 }, {}],
  [{ min_p: 0.1 }, sampling({ minP: 0.1 })],
  [{ seed: 5 }, sampling({ seed: 5n })],
  [{ seed: '5' }, sampling({ seed: 5n })],
  [{ seed: 0 }, sampling({ seed: 0n })],
  [{ seed: -1 }, {}],
  [{ random_seed: 5 }, sampling({ seed: 5n })],
  [{ random_seed: 5, seed: 6 }, sampling({ seed: 6n })],
  [{ random_seed: null }, {}],
  [{ seed: -2 }, sampling({ seed: -2n })],
  [{ frequency_penalty: 1.5 }, sampling({ frequencyPenalty: 1.5 })],
  [{ presence_penalty: -1 }, sampling({ presencePenalty: -1 })],
  [{ repetition_penalty: 1.1 }, sampling({ repetitionPenalty: 1.1 })],
  [
    { logit_bias: { '5': '3', '7': -200, '8': 1e9 } },
    sampling({
      bias: [
        [5, 3],
        [7, -100],
        [8, 100],
      ],
    }),
  ],
  [{ logit_bias: {} }, {}],
  [{ logit_bias: null }, {}],
  [{ allowed_token_ids: [1, 2] }, sampling({ allowed: [1, 2] })],
  [{ bad_words: ['a', 'b c'] }, sampling({ badWords: ['a', 'b c'] })],
  [{ n: 3 }, { choices: 3 }],
  [{ n: null }, {}],
  [
    { n: 2, temperature: 0, use_beam_search: true },
    { choices: 2, beam: { lengthPenalty: 1 }, ...sampling({ temperature: 0 }) },
  ],
  [{ use_beam_search: true, length_penalty: 0.5 }, { beam: { lengthPenalty: 0.5 } }],
  [{ length_penalty: 0.5 }, {}],
  [{ max_tokens: 7 }, ending({ maxTokens: 7 })],
  [{ max_tokens: 7, max_completion_tokens: 8 }, ending({ maxTokens: 8 })],
  [{ max_tokens: 7, max_completion_tokens: null }, ending({ maxTokens: 7 })],
  [{ min_tokens: 2 }, ending({ minTokens: 2 })],
  [{ stop: 'END' }, ending({ stop: ['END'] })],
  [{ stop: ['a', 'b'] }, ending({ stop: ['a', 'b'] })],
  [{ stop: [] }, {}],
  [{ stop: null }, {}],
  [{ stop_token_ids: [7, 8, 7] }, ending({ stopTokens: [7, 8] })],
  [{ ignore_eos: true }, ending({ ignoreEos: true })],
  [{ ignore_eos: 'yes' }, ending({ ignoreEos: true })],
  [{ ignore_eos: 0 }, {}],
  [{ include_stop_str_in_output: true }, ending({ includeStop: true })],
  [
    { repetition_detection: { max_pattern_size: 4, min_pattern_size: 2, min_count: 3 } },
    ending({ repetition: { minPattern: 2, maxPattern: 4, count: 3 } }),
  ],
  [
    { repetition_detection: { max_pattern_size: 4, min_count: 2 } },
    ending({ repetition: { minPattern: 1, maxPattern: 4, count: 2 } }),
  ],
  [{ repetition_detection: { max_pattern_size: 0, min_count: 5 } }, {}],
  [{ repetition_detection: null }, {}],
  [{ skip_special_tokens: false }, text({ skipSpecial: false })],
  [{ spaces_between_special_tokens: false }, text({ spaceSpecial: false })],
  [{ add_special_tokens: true }, { prompt: { ...plain.prompt, add: true } }],
  [{ truncate_prompt_tokens: 5 }, { truncate: { tokens: 5, side: 'left' } }],
  [{ truncate_prompt_tokens: -1 }, { truncate: { tokens: -1, side: 'left' } }],
  [{ truncate_prompt_tokens: 9_223_372_036_854_776_000 }, { truncate: { tokens: 2 ** 63, side: 'left' } }],
  [{ truncate_prompt_tokens: 5, truncation_side: null }, { truncate: { tokens: 5, side: 'left' } }],
  [{ truncate_prompt_tokens: 5, truncation_side: 'right' }, { truncate: { tokens: 5, side: 'right' } }],
  [{ truncation_side: 'right' }, {}],
  [{ truncate_prompt_tokens: null }, {}],
  [{ cache_salt: 'salt' }, { salt: 'salt' }],
  [{ prediction: { type: 'content', content: 'like this' } }, { prediction: 'like this' }],
  [
    {
      prediction: {
        type: 'content',
        content: [
          { type: 'text', text: 'like ' },
          { type: 'text', text: 'that' },
        ],
      },
    },
    { prediction: 'like that' },
  ],
  [{ prediction: { type: 'content', content: '' } }, {}],
  [{ prediction: null }, {}],
  [{ logprobs: true }, { logprobs: 0 }],
  [{ logprobs: true, top_logprobs: 3 }, { logprobs: 3 }],
  [{ logprobs: true, top_logprobs: null }, { logprobs: 0 }],
  [{ logprobs: false, top_logprobs: 0 }, {}],
  [
    { logprobs: true, logprob_token_ids: [7, 5, 7] },
    { logprobs: 0, logprobTokens: [7, 5] },
  ],
  [{ logprobs: true, logprob_token_ids: null }, { logprobs: 0 }],
  [{ prompt_logprobs: 2 }, { promptLogprobs: 2 }],
  [{ prompt_logprobs: 0 }, { promptLogprobs: 0 }],
  [{ prompt_logprobs: 0, stream: true }, {}],
  [{ echo: true }, { promptLogprobs: 0 }],
  [
    { echo: true, logprobs: true, top_logprobs: 2 },
    { logprobs: 2, promptLogprobs: 2 },
  ],
  [{ echo: true, stream: true }, {}],
  // These change nothing here, as docs/chat-parameters.md says.
  [{ include_reasoning: false }, {}],
  [{ parallel_tool_calls: null }, {}],
  [{ response_format: { type: 'text' } }, {}],
  [{ structured_outputs: null }, {}],
  [
    {
      response_format: { type: 'json_object' },
      tools: [tool],
      tool_choice: 'none',
      // Does not show the tool.
      chat_template: '{{ messages[-1].content }}',
    },
    {
      prompt: { ...plain.prompt, text: 'Hi' },
      constraint: compiled({ kind: 'json_object' }, 'response_format'),
    },
  ],
  [
    { response_format: { json_schema: { name: 'x', schema } } },
    { constraint: compiled({ kind: 'json', schema }, 'response_format.json_schema.schema') },
  ],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } } },
    { constraint: compiled({ kind: 'json', schema }, 'response_format.json_schema.schema') },
  ],
  [
    {
      response_format: { type: 'json_object', schema },
      structured_outputs: { disable_any_whitespace: true },
    },
    { constraint: compiled({ kind: 'json', schema }, 'response_format.schema', { whitespace: 'none' }) },
  ],
  [
    { structured_outputs: { json: JSON.stringify(schema), disable_additional_properties: true } },
    {
      constraint: compiled({ kind: 'json', schema }, 'structured_outputs.json', {
        whitespace: 'bounded',
        additionalProperties: false,
      }),
    },
  ],
  [
    {
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      structured_outputs: { disable_additional_properties: false },
    },
    {
      constraint: compiled({ kind: 'json', schema }, 'response_format.json_schema.schema', {
        whitespace: 'bounded',
        additionalProperties: true,
      }),
    },
  ],
  [
    { structured_outputs: { json: schema, whitespace_pattern: ' {0,2}' } },
    {
      constraint: compiled({ kind: 'json', schema }, 'structured_outputs.json', {
        whitespace: { pattern: ' {0,2}' },
      }),
    },
  ],
  [
    { structured_outputs: { json_object: true }, response_format: { type: 'json_object' } },
    { constraint: compiled({ kind: 'json_object' }, 'structured_outputs.json_object') },
  ],
  [
    { structured_outputs: { choice: ['b', 'a'] }, response_format: { type: 'text' } },
    { constraint: compiled({ kind: 'choice', choices: ['b', 'a'] }, 'structured_outputs.choice') },
  ],
  [{ tool_choice: 'none', tools: [] }, {}],
  [{ tool_choice: null, tools: null }, {}],
  [{ user: 'me', store: true, metadata: { a: 'b' }, service_tier: 'flex' }, {}],
  [{ kv_transfer_params: { a: [1] }, mm_processor_kwargs: { b: {} } }, {}],
  [{ engine_xargs: { a: 1, b: 'x', c: [1, 'x'] }, vllm_xargs: { d: 2.5 } }, {}],
  [{ unknown: 1, functions: [], mirostat: {} }, {}],
]

const backend = scriptedBackend()
const { post } = await openApp({ after }, { backend })

for (const [fields, change] of effects) {
  test(`${JSON.stringify(fields)} asks for ${JSON.stringify(change, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}`, async () => {
    backend.asked.length = 0
    const { status, text: body } = await post(chatUrl, asking(fields))
    assert.equal(status, 200, body)
    assert.deepEqual(backend.asked, [{ ...plain, ...change }])
  })
}

test('seeds keep every digit', async () => {
  backend.asked.length = 0
  const seeds: [sent: string, seed: bigint][] = [
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854776000', 9223372036854775807n],
    ['-9223372036854776000', -9223372036854775808n],
    // The range of the specification ends at the doubles nearest to the bounds of 64 bits.
    ['9223372036854775808', 9223372036854775807n],
    ['-9223372036854775809', -9223372036854775808n],
    ['9.223372036854776e18', 9223372036854775807n],
    ['-9.223372036854776E+18', -9223372036854775808n],
    ['9.223372036854775e18', 9223372036854775000n],
    ['922337203685477580700e-2', 9223372036854775807n],
    ['"9007199254740993"', 9007199254740993n],
    ['1e3', 1000n],
    ['5.0', 5n],
  ]
  for (const [sent] of seeds) {
    const { status } = await post(chatUrl, JSON.stringify(asking()).replace('{', `{"seed":${sent},`))
    assert.equal(status, 200, sent)
  }
  assert.deepEqual(
    backend.asked.map(({ sampling }) => sampling.seed),
    seeds.map(([, seed]) => seed),
  )
})
