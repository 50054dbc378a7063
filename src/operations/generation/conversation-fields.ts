import { z } from 'zod'
import { jsonObject, jsonValue, longList, plainText } from '../../domain/fields.ts'
import { documentGiven, variablesGiven } from './given-values.ts'
import { documented, flag } from './scalars.ts'

/** Pictures, sounds and files are recognised so that a refusal can name them; their content is never read. */
const media = () => jsonValue().nullish()

const Part = z.looseObject({
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
})

const ToolCall = z.object({
  id: z.string().max(256).nullish(),
  type: z.string().max(64).nullish(),
  function: z.object({ name: plainText(256).min(1), arguments: z.string().nullish() }),
})

export const Message = z.object({
  role: plainText(64).min(1),
  content: z
    .union(
      [z.string(), z.array(z.union([z.string(), Part], { error: 'expected a string or a part' })).max(1_024)],
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
  function_call: ToolCall.shape.function.nullish(),
})

export const ToolFunction = z.object({
  name: plainText(256).min(1),
  description: z.string().nullish(),
  parameters: jsonObject().nullish(),
  strict: flag().nullish(),
})

const Tool = z.object({ type: z.literal('function').optional(), function: ToolFunction })

const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** The fields that shape a conversation. Answers and token counts share them. */
export const conversationFields = {
  messages: documented(
    longList(Message),
    'The conversation: 1 to 10000 messages of any role; `developer` becomes `system` if the template does not know it. Content is a string or a list of text parts; images, audio and files are refused by their type, unless the model is on another server that takes them. The arguments of `tool_calls` are a JSON object as a string.',
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
    'Leaves the last message open, so that the answer continues it. Needs `"add_generation_prompt": false`. A constraint applies to the message and the answer together: the message must be the beginning of a text that fits, or it is refused.',
    { initial: false },
  ),
  chat_template: documented(
    z.string().max(131_072).nullish(),
    'A Jinja template to use instead of the model’s own. Parsing and rendering are limited to one second of processor time and to a bounded size of texts and lists. HEDDLE_REQUEST_TEMPLATES=off refuses it.',
  ),
  chat_template_kwargs: documented(
    jsonObject().transform(variablesGiven).nullish(),
    'Variables for the template. A field of the request takes precedence over a variable of the same name, unless it is null. The names `chat_template` and `tokenize` are refused.',
  ),
  documents: documented(
    z.array(jsonObject().transform(documentGiven)).max(1_024).nullish(),
    'Objects with string values, for templates that show documents.',
  ),
  reasoning_effort: documented(
    z.enum(reasoningEfforts).nullish(),
    '`none` turns thinking off if the template can, anything else turns it on. Also passed as a variable to templates that know it.',
  ),
  tools: documented(
    z.array(Tool).max(512).nullish(),
    'The tools that the answer may call; see docs/tools.md. Names consist of letters, digits and any of `_-.:/@`.',
  ),
}
export type ConversationFields = z.output<z.ZodObject<typeof conversationFields>>
