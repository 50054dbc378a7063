import { z } from 'zod'
import { explained, jsonObject, jsonValue, longList, plainText } from '../../domain/fields.ts'
import { documentGiven, variablesGiven } from './given-values.ts'
import { documented, flag } from './scalars.ts'

/** Pictures, sounds and files are recognised so that a refusal can name them; their content is never read. */
const media = () => jsonValue().nullish()

const refusedMedia = 'Refused, unless a server elsewhere answers that takes it.'

const Part = z.looseObject(
  explained(
    {
      type: z.string().max(64).nullish(),
      text: z.string().nullish(),
      refusal: z.string().nullish(),
      thinking: z.string().nullish(),
      image_url: media(),
      input_image: media(),
      input_audio: media(),
      audio_url: media(),
      video_url: media(),
      file: media(),
    },
    {
      type: 'The kind of the part; if absent, the member that it has says so.',
      text: 'A text.',
      refusal: 'A text, of an earlier answer.',
      thinking: 'A thought, of an earlier answer.',
      image_url: refusedMedia,
      input_image: refusedMedia,
      input_audio: refusedMedia,
      audio_url: refusedMedia,
      video_url: refusedMedia,
      file: refusedMedia,
    },
  ),
)

const FunctionCall = z.object(
  explained(
    { name: plainText(256).min(1), arguments: z.string().nullish() },
    { name: 'The name of the tool.', arguments: 'A JSON object, as a string.' },
  ),
)

const ToolCall = z.object(
  explained(
    { id: z.string().max(256).nullish(), type: z.string().max(64).nullish(), function: FunctionCall },
    { id: 'Names the call in the answer to it.', type: 'Only `function`.', function: 'What was called.' },
  ),
)

export const Message = z.object(
  explained(
    {
      role: plainText(64).min(1),
      content: z
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
      name: z.string().max(256).nullish(),
      tool_calls: z.array(ToolCall).max(128).nullish(),
      tool_call_id: z.string().max(256).nullish(),
      reasoning: z.string().nullish(),
      reasoning_content: z.string().nullish(),
      refusal: z.string().nullish(),
      function_call: FunctionCall.nullish(),
    },
    {
      role: '`system`, `developer`, `user`, `assistant`, `tool`, `function`, or any other that the template knows.',
      content: 'A text, or a list of texts and parts.',
      name: 'Who says it, for templates that show names.',
      tool_calls: 'The calls that an earlier answer made.',
      tool_call_id: 'The call that a message of the role `tool` answers.',
      reasoning: 'The thought of an earlier answer.',
      reasoning_content: 'The same as `reasoning`, under its older name.',
      refusal: 'The refusal of an earlier answer.',
      function_call: 'The older form of `tool_calls`.',
    },
  ),
)

export const ToolFunction = z.object(
  explained(
    {
      name: plainText(256).min(1),
      description: z.string().nullish(),
      parameters: jsonObject().nullish(),
      strict: flag().nullish(),
    },
    {
      name: 'Letters, digits and any of `_-.:/@`.',
      description: 'What it does, for the model.',
      parameters: 'A JSON Schema, which the arguments of a call fit.',
      strict:
        'If true, a schema that cannot be enforced is refused; otherwise the smallest part of it is widened.',
    },
  ),
)

const Tool = z.object(
  explained(
    { type: z.literal('function').optional(), function: ToolFunction },
    { type: 'Tools are functions.', function: 'The tool.' },
  ),
)

const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** The fields that shape a conversation. Answers and token counts share them. */
export const conversationFields = {
  messages: documented(
    longList(Message),
    'The conversation: 1 to 10000 messages of any role; `developer` becomes `system` if the template does not know it. Content is a string or text parts; images, audio and files are for models on another server that takes them. The arguments of `tool_calls` are a JSON object as a string.',
  ),
  model: documented(
    z.string().max(256).nullish(),
    'A served name. If it is null or empty, the first model answers.',
  ),
  add_generation_prompt: documented(
    flag().optional(),
    'Whether the template opens a turn of the assistant. If false, the answer has the role of the last message.',
    { initial: true },
  ),
  continue_final_message: documented(
    flag().optional(),
    'Leaves the last message open, so that the answer continues it. Needs `"add_generation_prompt": false`. A constraint applies to both together (docs/structured-output.md).',
    { initial: false },
  ),
  chat_template: documented(
    z.string().max(131_072).nullish(),
    'A Jinja template in place of the model’s own, limited to one second of processor time and in the size of texts and lists. HEDDLE_REQUEST_TEMPLATES=off refuses it.',
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
  tools: documented(
    z.array(Tool).max(512).nullish(),
    'The tools that the answer may call (docs/tools.md). Names have letters, digits and any of `_-.:/@`.',
  ),
}
export type ConversationFields = z.output<z.ZodObject<typeof conversationFields>>
