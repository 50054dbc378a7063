import { z } from 'zod'
import {
  explained,
  explainedObject,
  jsonObject,
  jsonValue,
  longList,
  plainText,
} from '../../domain/fields.ts'
import { documentGiven, variablesGiven } from './given-values.ts'
import { documented, flag, integer, switchField } from './scalars.ts'

/** Pictures, sounds and files are recognised so that a refusal can name them; their content is never read. */
const media = () => jsonValue().nullish()

const refusedMedia = 'Refused, unless a server elsewhere answers that takes it.'

const Part = z.looseObject(
  explained({
    type: [z.string().max(64).nullish(), 'The kind of the part; if absent, the member that it has says so.'],
    text: [z.string().nullish(), 'A text.'],
    refusal: [z.string().nullish(), 'A text, of an earlier answer.'],
    thinking: [z.string().nullish(), 'A thought, of an earlier answer.'],
    image_url: [media(), refusedMedia],
    input_image: [media(), refusedMedia],
    input_audio: [media(), refusedMedia],
    audio_url: [media(), refusedMedia],
    video_url: [media(), refusedMedia],
    file: [media(), refusedMedia],
  }),
)

/** What clients add to an answer, or read from it, and send back with it. No model is shown it. */
const echoed = (value: z.ZodType = jsonValue()) => value.transform(() => undefined).nullish()

const FunctionCall = explainedObject({
  name: [plainText(256).min(1), 'The name of the tool.'],
  arguments: [z.string().nullish(), 'A JSON object, as a string.'],
  parsed_arguments: [echoed(), 'No effect: `arguments`, as `parse` of the client read them.'],
})

const ToolCall = explainedObject({
  id: [z.string().max(256).nullish(), 'Names the call in the answer to it.'],
  type: [z.string().max(64).nullish(), 'Only `function`.'],
  function: [FunctionCall, 'What was called.'],
  index: [echoed(z.int().min(0)), 'No effect: its place in the stream that it came in.'],
})

const onlyFalse = { error: 'is not supported here; continue_final_message continues a message' }

export const Message = explainedObject({
  role: [
    plainText(64).min(1),
    '`system`, `developer`, `user`, `assistant`, `tool`, `function`, or any other that the template knows.',
  ],
  content: [
    z
      .union(
        [
          z.string(),
          z.array(z.union([z.string(), Part], { error: 'expected a string or a part' })).max(1_024),
        ],
        {
          error: 'expected a string or a list of at most 1024 parts',
        },
      )
      .nullish(),
    'A text, or a list of texts and parts.',
  ],
  name: [z.string().max(256).nullish(), 'Who says it, for templates that show names.'],
  tool_calls: [z.array(ToolCall).max(128).nullish(), 'The calls that an earlier answer made.'],
  tool_call_id: [z.string().max(256).nullish(), 'The call that a message of the role `tool` answers.'],
  reasoning: [z.string().nullish(), 'The thought of an earlier answer.'],
  reasoning_content: [z.string().nullish(), 'The same as `reasoning`, under its older name.'],
  refusal: [z.string().nullish(), 'The refusal of an earlier answer.'],
  function_call: [FunctionCall.nullish(), 'The older form of `tool_calls`.'],
  annotations: [echoed(), 'No effect: of an earlier answer.'],
  parsed: [echoed(), 'No effect: `content`, as `parse` of the client read it.'],
  prefix: [z.literal(false, onlyFalse).nullish().meta({ default: false }), 'Only `false`.'],
})

export const ToolFunction = explainedObject({
  name: [plainText(256).min(1), 'Letters, digits and any of `_-.:/@`.'],
  description: [z.string().nullish(), 'What it does, for the model.'],
  parameters: [jsonObject().nullish(), 'A JSON Schema, which the arguments of a call fit.'],
  strict: [
    flag().nullish(),
    'If true, a schema that cannot be enforced is refused; otherwise the smallest part of it is widened.',
  ],
})

const Tool = explainedObject({
  type: [z.literal('function').optional(), 'Tools are functions.'],
  function: [ToolFunction, 'The tool.'],
})

const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

export const thinkingBudget = documented(
  integer(0).nullish(),
  'The most tokens of a thought, which then ends. Needs a template with thoughts.',
)

/** The fields that shape a conversation. Answers and token counts share them. */
export const conversationFields = {
  messages: documented(
    longList(Message),
    '1 to 10000 messages of any role; `developer` becomes `system` if the template does not know it. Content is a string or text parts; images, audio and files are for models on another server. The arguments of `tool_calls` are a JSON object as a string.',
  ),
  model: documented(
    z.string().max(256).nullish(),
    'A served name. If it is null or empty, the first model answers.',
  ),
  add_generation_prompt: switchField(
    true,
    'Whether the template opens a turn of the assistant. If false, the answer has the role of the last message.',
  ),
  continue_final_message: switchField(
    false,
    'The answer continues the last message. Needs `"add_generation_prompt": false`. A constraint applies to both together (docs/structured-output.md).',
  ),
  chat_template: documented(
    z.string().max(131_072).nullish(),
    'A Jinja template in place of the model’s own, limited to one second of processor time and in size. HEDDLE_REQUEST_TEMPLATES=off refuses it.',
  ),
  chat_template_kwargs: documented(
    jsonObject().transform(variablesGiven).nullish(),
    'Variables for the template; a field of the same name that is not null takes precedence. `chat_template` and `tokenize` are refused.',
  ),
  documents: documented(
    z.array(jsonObject().transform(documentGiven)).max(1_024).nullish(),
    'Objects with string values, for templates that show documents.',
  ),
  reasoning_effort: documented(
    z.enum(reasoningEfforts).nullish(),
    '`none` turns thinking off if the template can, the others on (docs/reasoning.md).',
  ),
  verbosity: documented(
    z.enum(['low', 'medium', 'high']).nullish(),
    'A variable for templates that know it.',
  ),
  tools: documented(
    z.array(Tool).max(512).nullish(),
    'The tools that the answer may call (docs/tools.md). Names have letters, digits and any of `_-.:/@`.',
  ),
}
export type ConversationFields = z.output<z.ZodObject<typeof conversationFields>>
