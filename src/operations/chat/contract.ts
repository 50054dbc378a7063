import { z } from 'zod'
import { explainedObject, hidden } from '../../domain/fields.ts'
import { answerFields } from '../generation/answer-fields.ts'
import { constraintFields } from '../generation/constraint-fields.ts'
import { conversationFields, ToolFunction, thinkingBudget } from '../generation/conversation-fields.ts'
import { refusedChatFields } from '../generation/refused-fields.ts'
import { maxLogprobs, samplingFields } from '../generation/sampling-fields.ts'
import { documented, flag, integer, optIn, switchField } from '../generation/scalars.ts'
import { unusedOpenAiFields, unusedVllmFields } from '../generation/unused-fields.ts'
import { promptField } from '../prompts/contract.ts'

const NamedTool = explainedObject({
  type: [z.literal('function'), 'Tools are functions.'],
  function: [z.object({ name: z.string().max(256).describe('The name of a tool.') }), 'The tool.'],
})

const AllowedTools = explainedObject({
  type: [z.literal('allowed_tools'), 'Allows some of the tools.'],
  allowed_tools: [
    explainedObject({
      mode: [z.enum(['auto', 'required']), 'Whether the answer may or must call one of them.'],
      tools: [z.array(NamedTool).max(512), 'The tools that it may call.'],
    }),
    'Which.',
  ],
})

const PredictedPart = explainedObject({
  type: [z.literal('text'), 'Parts are texts.'],
  text: [z.string(), 'A part of the expected content.'],
})

const Prediction = explainedObject({
  type: [z.literal('content'), 'What is predicted.'],
  content: [
    z.union([z.string(), z.array(PredictedPart).max(1_024)], {
      error: 'expected a string or a list of at most 1024 text parts',
    }),
    'The expected content: a text, or text parts.',
  ],
})

const NamedFunction = z.object({ name: z.string().max(256).describe('The function to call.') })

export const ChatBody = z.object({
  ...conversationFields,
  prompt: promptField,

  echo: switchField(
    false,
    'Prepends the last message to the answer if both have the same role. Without a stream, adds `prompt_logprobs`, as in vLLM.',
  ),
  add_special_tokens: switchField(
    false,
    'Adds the model’s beginning-of-text and similar tokens to the rendered template.',
  ),
  include_reasoning: switchField(
    true,
    'If false, thoughts are left out, with their tokens and log-probabilities. They still count as usage.',
  ),

  thinking_token_budget: thinkingBudget,

  max_completion_tokens: documented(
    samplingFields.max_tokens,
    'The most tokens of an answer; as many as the context leaves if absent. More is refused.',
  ),
  ...samplingFields,
  random_seed: hidden(samplingFields.seed.meta({})),

  prediction: documented(
    Prediction.nullish(),
    'The expected content of the answer, such as the text that it edits: `{"type": "content", "content": …}`, from which tokens are guessed (docs/speculation.md). Not allowed with `use_beam_search`.',
  ),

  logprobs: documented(optIn(), 'Returns the log-probability of each token, before any sampling setting.'),
  top_logprobs: documented(
    integer(0, maxLogprobs).nullish(),
    'The number of most likely tokens at each position. Needs `logprobs`. Without a stream, `n` × `max_tokens` × (`top_logprobs` + 1) is at most 1000000.',
    { initial: 0 },
  ),
  return_prompt_text: documented(
    optIn(),
    'Returns the rendered template as `prompt_text` (in the first chunk of a stream).',
  ),
  ...answerFields,

  tool_choice: documented(
    z
      .union([z.enum(['none', 'auto', 'required', 'any']), NamedTool, AllowedTools], {
        error: 'expected "none", "auto", "required", "any", a function by name, or allowed_tools',
      })
      .nullish(),
    'Whether the answer may call tools (`auto`, the default with tools), must (`required`, Mistral’s `any`, a function by name, or `allowed_tools`), or must not (`none`). HEDDLE_TOOL_CHOICE=none refuses all but `none`.',
    { initial: 'none' },
  ),
  parallel_tool_calls: documented(flag().nullish(), 'If false, the answer ends after its first call.', {
    initial: true,
  }),
  functions: documented(
    z.array(ToolFunction).max(512).nullish(),
    'The older form of `tools`: the answer has one `function_call`.',
  ),
  function_call: documented(
    z
      .union([z.enum(['none', 'auto']), NamedFunction], {
        error: 'expected "none", "auto", or the name of a function in an object',
      })
      .nullish(),
    'The older form of `tool_choice`.',
  ),
  ...constraintFields,

  ...refusedChatFields,

  ...unusedOpenAiFields,
  ...unusedVllmFields,
})
export type ChatBody = z.output<typeof ChatBody>
