import { z } from 'zod'
import { jsonObject, jsonValue, plainText } from '../../domain/fields.ts'
import { answerFields } from '../generation/answer-fields.ts'
import { constraintFields } from '../generation/constraint-fields.ts'
import { conversationFields, thinkingBudget } from '../generation/conversation-fields.ts'
import { moderation } from '../generation/refused-fields.ts'
import { maxLogprobs, samplingFields } from '../generation/sampling-fields.ts'
import { documented, flag, integer, optIn } from '../generation/scalars.ts'
import { unused, unusedOpenAiFields } from '../generation/unused-fields.ts'
import { promptField } from '../prompts/contract.ts'
import { InputItem, maxItems } from './items-contract.ts'

/** OpenAI's ids are a third as long. */
const itemId = plainText(256).min(1)

const ConversationName = z.union([itemId, z.object({ id: itemId })], {
  error: 'expected the id of a conversation, or an object with its `id`',
})

export const conversationIdOf = (named: z.output<typeof ConversationName>): string =>
  typeof named === 'string' ? named : named.id

/** Accepts any type: tools that are not functions are skipped, and the answer reports them. */
const Tool = z.object({
  type: z.string().max(64),
  name: plainText(256).min(1).nullish(),
  description: z.string().nullish(),
  parameters: jsonObject().nullish(),
  strict: flag().nullish(),
})

const ToolName = z.object({ type: z.string().max(64), name: z.string().max(256).nullish() })

const ToolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    z.object({ type: z.literal('function'), name: z.string().max(256) }),
    z.object({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'required']),
      tools: z.array(ToolName).max(512),
    }),
  ],
  { error: 'expected "none", "auto", "required", a function by name, or allowed_tools' },
)

const TextFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string().max(256).nullish(),
    description: z.string().nullish(),
    schema: jsonObject(),
    strict: optIn(),
  }),
])

/**
 * Parts of an answer that are present only on request. The other names stand for parts that this server never makes.
 */
const includable = [
  'message.output_text.logprobs',
  'reasoning.encrypted_content',
  'message.input_image.image_url',
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
] as const

const input = z.union([z.string(), z.array(InputItem).max(maxItems)], {
  error: `expected a string or a list of at most ${maxItems} items`,
})
const aboutInput =
  'A string, or items: messages, calls of functions and their outputs, reasoning, references.'

/** The fields that determine what the model reads. Answers and token counts share them. */
const inputFields = {
  instructions: documented(
    z.string().nullish(),
    'A system message before everything else. It is not inherited through `previous_response_id`.',
  ),
  model: conversationFields.model,
  previous_response_id: documented(itemId.nullish(), 'A stored answer that the input continues.'),
  tools: documented(
    z.array(Tool).max(512).nullish(),
    'Functions that the answer may call. Tools of other types are skipped and named in the header `x-heddle-skipped-tools`.',
  ),
  tool_choice: documented(ToolChoice.nullish(), 'As in chat completions.'),
  parallel_tool_calls: documented(flag().nullish(), 'If false, the answer ends after its first call.', {
    initial: true,
  }),
  text: documented(
    z.object({ format: TextFormat.nullish(), verbosity: conversationFields.verbosity }).nullish(),
    '`format` is the form of the answer: `text`, `json_object` or `json_schema`. `verbosity` is that of chat completions.',
  ),
  reasoning: documented(
    z
      .object({
        effort: conversationFields.reasoning_effort,
        summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
        generate_summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      })
      .nullish(),
    '`effort` is the `reasoning_effort` of chat completions. With any `summary` (older: `generate_summary`), thoughts are also returned as their own summaries.',
  ),
  truncation: documented(
    z.enum(['auto', 'disabled']).nullish(),
    '`auto` leaves out the oldest turns of a too long input, but no leading system messages; `disabled` refuses it.',
    { initial: 'disabled' },
  ),
  conversation: documented(
    ConversationName.nullish(),
    'A conversation, as its id or `{"id": …}`. Not together with `previous_response_id` or `"store": false`.',
  ),
  chat_template: conversationFields.chat_template,
  chat_template_kwargs: conversationFields.chat_template_kwargs,
}

export const InputTokensBody = z.object({
  input: documented(input.nullish(), aboutInput),
  ...inputFields,
  personality: unused(z.string().max(64), 'Models here have no presets of style.'),
})
export type InputTokensBody = z.output<typeof InputTokensBody>

/** Leaves out the fields that make no sense for a single drawn answer. */
const {
  n: _n,
  max_tokens: _maxTokens,
  use_beam_search: _beam,
  length_penalty: _penalty,
  ...sampling
} = samplingFields

export const ResponsesBody = z.object({
  input: documented(input, aboutInput),
  ...inputFields,
  store: documented(
    flag().nullish(),
    'Keeps the answer. Where nothing is recorded, `true` is refused and the default is `false`.',
    { initial: true },
  ),
  include: documented(
    z.array(z.enum(includable)).max(32).nullish(),
    '`message.output_text.logprobs` and `reasoning.encrypted_content`. The other values of OpenAI are accepted and have no effect.',
  ),
  max_output_tokens: documented(
    samplingFields.max_tokens,
    'The most tokens of an answer, thoughts and calls included; as many as the context leaves if absent. More is refused.',
  ),
  top_logprobs: documented(
    integer(0, maxLogprobs).nullish(),
    'Returns this many of the most likely tokens at each position. Needs `"include": ["message.output_text.logprobs"]`.',
    { initial: 0 },
  ),
  ...sampling,
  structured_outputs: constraintFields.structured_outputs,
  include_reasoning: documented(
    flag().nullish(),
    'If false, thoughts are left out. They still count as usage.',
    { initial: true },
  ),
  thinking_token_budget: thinkingBudget,
  return_tokens_as_token_ids: answerFields.return_tokens_as_token_ids,
  request_id: documented(
    plainText(200).min(1).nullish(),
    'The `id` of the answer is `resp_` followed by this value, or random.',
  ),

  stream: answerFields.stream,
  stream_options: unused(z.object({ include_obfuscation: optIn() }), 'There is nothing to obfuscate.'),
  metadata: documented(
    jsonObject().nullish(),
    'Up to 16 strings of up to 512 characters, under names of up to 64. They are returned in the answer.',
  ),
  background: documented(
    flag().nullish(),
    'The answer is made while nobody waits for it. Needs an answer that is stored.',
    { initial: false },
  ),
  background_options: unused(jsonObject(), 'The answer is made as soon as there is room, within any window.'),
  prompt: promptField,
  moderation,
  max_tool_calls: unused(integer(1), 'Limits tools that run on the server; there are none.'),
  ...unusedOpenAiFields,
  image: unused(jsonValue(), 'Pictures are passed on as they are.'),
  access_programs: unused(jsonValue(), 'There are none.'),
  context_management: unused(jsonValue(), 'Conversations are not compacted.'),
  vllm_xargs: unused(jsonObject(), 'For extensions; there are none.'),
})
export type ResponsesBody = z.output<typeof ResponsesBody>
