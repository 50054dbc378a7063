import { z } from 'zod'
import { jsonObject, jsonValue, longList, plainText } from '../../domain/fields.ts'
import { refused } from '../generation/refused-fields.ts'
import { maxTokenCount } from '../generation/sampling-fields.ts'
import { documented, integer, optIn } from '../generation/scalars.ts'

/** The fields that a request for a message and a request for its token count share. */

/** Marks how far to cache, for Anthropic's models. Others reuse prefixes without it. */
const cacheControl = jsonObject().nullish()

/** For blocks that are refused by their type, nothing else is read. */
const TextBlock = z.object({
  type: z.string().max(64),
  text: z.string().nullish(),
  cache_control: cacheControl,
})

const Source = z.object({
  type: z.string().max(64).nullish(),
  media_type: plainText(64).nullish(),
  data: z.string().nullish(),
  url: z.string().nullish(),
})

const ResultBlock = TextBlock.extend({
  // Of a search_result it is a text.
  source: z.union([z.string(), Source], { error: 'expected an object' }).nullish(),
})
export type ResultBlock = z.output<typeof ResultBlock>

const textOrBlocks = <Block extends z.ZodType>(block: Block) =>
  z.union([z.string(), z.array(block).max(4_096)], {
    error: 'expected a string or a list of at most 4096 blocks',
  })

const ContentBlock = ResultBlock.extend({
  id: z.string().max(256).nullish(),
  name: plainText(256).nullish(),
  input: jsonObject().nullish(),
  tool_use_id: z.string().max(256).nullish(),
  content: textOrBlocks(ResultBlock).nullish(),
  is_error: optIn(),
  thinking: z.string().nullish(),
  signature: z.string().nullish(),
  data: z.string().nullish(),
  /** Calls of answers have it, and are sent back with it. */
  caller: jsonObject().nullish(),
})
export type ContentBlock = z.output<typeof ContentBlock>

const Message = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  content: textOrBlocks(ContentBlock),
})
export type Message = z.output<typeof Message>

/** Tools that run on Anthropic's servers, and those of its own clients, have a type and often no schema. */
const Tool = z.object({
  type: z.string().max(64).nullish(),
  name: plainText(256).min(1).nullish(),
  description: z.string().nullish(),
  input_schema: jsonObject().nullish(),
  strict: optIn(),
  cache_control: cacheControl,
})

const ToolChoice = z.object({
  type: z.enum(['auto', 'any', 'tool', 'none']),
  name: z.string().max(256).nullish(),
  disable_parallel_tool_use: optIn(),
})

const Thinking = z.object({
  type: z.enum(['enabled', 'adaptive', 'between_tools', 'disabled']),
  budget_tokens: integer(1, maxTokenCount).nullish(),
  display: z.enum(['summarized', 'updates', 'omitted']).nullish(),
})

const OutputFormat = z.object({ type: z.literal('json_schema'), schema: jsonObject() })

export const sharedFields = {
  model: documented(
    z.string().max(256).nullish(),
    'A served name. If it is null or empty, the first model answers.',
  ),
  messages: documented(
    longList(Message),
    'The conversation: 1 to 10000 messages of `user`, `assistant` and `system`. Consecutive messages of one role form one turn. If the last message is of the assistant, the answer continues it. Blocks: `text`, `tool_use`, `tool_result`, `thinking`, `redacted_thinking` (for Anthropic’s models, no effect on others), and `image` for a model on another server; others are refused by their type.',
  ),
  system: documented(
    textOrBlocks(TextBlock).nullish(),
    'The system message: a string or text blocks. The line `x-anthropic-billing-header` of Claude Code is removed, because it differs in each request.',
  ),
  tools: documented(
    z.array(Tool).max(512).nullish(),
    'The tools that the answer may call. Tools of other types than `custom` are left out and named in the header `x-heddle-skipped-tools`. `defer_loading`, `input_examples`, `allowed_callers` and `eager_input_streaming` have no effect.',
  ),
  tool_choice: documented(
    ToolChoice.nullish(),
    '`auto`, `any`, `tool` with a `name`, or `none`, which still shows the tools to the model. `disable_parallel_tool_use` ends the answer after its first call. Default: `auto` if there are tools.',
  ),
  thinking: documented(
    Thinking.nullish(),
    '`enabled` with `budget_tokens`, `adaptive` or `between_tools` let the model think, if it can. `disabled`, or no value, turns thinking off if the template has a switch. `"display": "omitted"` leaves out the text of thoughts; with `summarized` and `updates` it is returned whole.',
  ),
  output_config: documented(
    z
      .object({
        effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
        format: OutputFormat.nullish(),
      })
      .nullish(),
    '`format`: the answer is JSON that fits this schema. `effort`: a variable for templates that know it.',
  ),
  output_format: documented(OutputFormat.nullish(), 'The older name of `output_config.format`.'),
  mcp_servers: documented(jsonValue().nullish(), 'Anything but an empty list: tools are called by clients.', {
    effect: 'refused',
  }),
  compaction: refused('send a conversation that fits, or ask for a summary of it'),
  cache_control: documented(cacheControl, 'For models of Anthropic (docs/gateway.md); others need none.'),
}
