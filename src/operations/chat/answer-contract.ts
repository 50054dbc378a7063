import { z } from 'zod'
import { answer, explained } from '../../domain/fields.ts'
import { answerHead, ended, PromptLogprobs, Usage } from '../generation/answer-contract.ts'

const Candidate = z.object(
  explained(
    { token: z.string(), bytes: z.array(z.int()), logprob: z.number() },
    {
      token: 'Its text; empty if it is only a part of a character.',
      bytes: 'The exact bytes of its text.',
      logprob: 'Its log-probability before any sampling setting; never below -9999.',
    },
  ),
)

const Token = Candidate.extend({
  top_logprobs: z.array(Candidate).meta({
    description:
      'The most likely tokens at its position, or those of `logprob_token_ids`, most likely first.',
  }),
})

const Logprobs = z.object({
  content: z.array(Token).meta({ description: 'The tokens, with the one that ends the answer.' }),
})

const FunctionCall = z.object(
  explained(
    { name: z.string(), arguments: z.string() },
    { name: 'The name of the tool.', arguments: 'JSON, as a string.' },
  ),
)

const ToolCall = z.object(
  explained(
    { id: z.string(), type: z.literal('function'), function: FunctionCall },
    { id: 'Names the call in the answer to it.', type: 'Tools are functions.', function: 'What is called.' },
  ),
)

/** The first delta of a call has its id and name; later ones add to its arguments. */
const CallDelta = z.object(
  explained(
    {
      index: z.int(),
      id: z.string().optional(),
      type: z.literal('function').optional(),
      function: FunctionCall.partial(),
    },
    {
      index: 'Which call of the answer it belongs to, from 0.',
      id: 'In the first delta of the call.',
      type: 'In the first delta of the call.',
      function: 'The name in the first delta of the call; in all of them, more of the arguments.',
    },
  ),
)

const Citation = z.object(
  explained(
    { start_index: z.int(), end_index: z.int(), title: z.string(), url: z.string() },
    {
      start_index: 'Where it begins.',
      end_index: 'Where it ends.',
      title: 'The title of the page.',
      url: 'The address of the page.',
    },
  ),
)

const Annotation = z.object(
  explained({ type: z.string(), url_citation: Citation }, { type: 'Its kind.', url_citation: 'A page.' }),
)

const Sound = z.object(
  explained(
    { id: z.string(), data: z.string(), expires_at: z.int(), transcript: z.string() },
    { id: 'Its id.', data: 'Its bytes in base64.', expires_at: 'When it expires.', transcript: 'Its words.' },
  ),
)

const reasoning = {
  reasoning: 'The thought of the model, if its template shows one.',
  /** The older name, which some clients read. */
  reasoning_content: 'The same as `reasoning`, under its older name.',
}

const Message = z.object(
  explained(
    {
      role: z.string(),
      content: z.string().nullable(),
      refusal: z.string().nullable(),
      reasoning: z.string().optional(),
      reasoning_content: z.string().optional(),
      tool_calls: z.array(ToolCall).optional(),
      function_call: FunctionCall.optional(),
      annotations: Annotation.optional(),
      audio: Sound.optional(),
    },
    {
      ...reasoning,
      role: '`assistant`, or the role of the last message if the answer continues it.',
      content: 'The text; null if there is none, but a thought or a call.',
      refusal: 'Always null.',
      tool_calls: 'The calls of tools that the answer makes.',
      function_call: 'The call, if the request has `functions`.',
      annotations: 'Never filled in by this version.',
      audio: 'Never filled in by this version.',
    },
  ),
)

const Delta = z.object(
  explained(
    {
      role: z.string().optional(),
      content: z.string().optional(),
      reasoning: z.string().optional(),
      reasoning_content: z.string().optional(),
      tool_calls: z.array(CallDelta).optional(),
      function_call: FunctionCall.partial().optional(),
    },
    {
      ...reasoning,
      role: 'In the first chunk of a choice.',
      content: 'More of the text.',
      tool_calls: 'More of one call.',
      function_call: 'More of the call, if the request has `functions`.',
    },
  ),
)

const ChatFinish = z.enum([...ended.finish_reason.options, 'tool_calls', 'function_call'])
export type ChatFinish = z.output<typeof ChatFinish>

const finishes =
  '`stop`, `length` (the limit of tokens, or the end of the context), `repetition`, `tool_calls` or `function_call` (whole calls that the model chose to make; `stop` if the request names the tool), or `content_filter` of another server.'

const ofChoice = {
  index: 'The number of the choice, from 0.',
  logprobs: 'Null unless asked for.',
  stop_reason: 'The stop text or stop token that ended it, `repetition_detected`, or null.',
  token_ids: 'The tokens, if `return_token_ids` asks for them.',
}

const Choice = z.object(
  explained(
    {
      index: z.int(),
      message: Message,
      logprobs: Logprobs.nullable(),
      finish_reason: ChatFinish,
      stop_reason: ended.stop_reason,
      token_ids: z.array(z.int()).optional(),
    },
    { ...ofChoice, message: 'The answer.', finish_reason: `Why it ended: ${finishes}` },
  ),
)

const ofAnswer = {
  usage: 'Counts of tokens.',
  prompt_token_ids: 'The tokens of the prompt, if `return_token_ids` asks for them.',
}

export const ChatAnswer = answer('The next message of the conversation.', {
  ...answerHead,
  ...explained(
    {
      object: z.literal('chat.completion'),
      choices: z.array(Choice),
      usage: Usage,
      prompt_token_ids: z.array(z.int()).optional(),
      service_tier: z.enum(['auto', 'default', 'flex', 'scale', 'priority']).nullish(),
      kv_transfer_params: z.record(z.string(), z.unknown()).optional(),
    },
    {
      ...ofAnswer,
      object: 'What this is.',
      choices: '`n` answers.',
      service_tier: 'Never filled in: there is only one tier.',
      kv_transfer_params: 'Never filled in by this version.',
    },
  ),
  prompt_logprobs: PromptLogprobs.optional(),
})

const ChunkChoice = z.object(
  explained(
    {
      index: z.int(),
      delta: Delta,
      logprobs: Logprobs.nullable(),
      finish_reason: ChatFinish.nullable(),
      stop_reason: ended.stop_reason.optional(),
      token_ids: z.array(z.int()).optional(),
    },
    {
      ...ofChoice,
      delta: 'What is added to the answer.',
      finish_reason: `Null, and in the last chunk of a choice why it ended: ${finishes}`,
    },
  ),
)

export const ChatChunk = z.object({
  ...answerHead,
  ...explained(
    {
      object: z.literal('chat.completion.chunk'),
      choices: z.array(ChunkChoice),
      usage: Usage.optional(),
      prompt_token_ids: z.array(z.int()).optional(),
    },
    {
      object: 'What this is.',
      choices: 'One choice; none in the last chunk with `include_usage`.',
      usage: 'As `stream_options` ask for it.',
      prompt_token_ids: 'In the first chunk, if `return_token_ids` asks for them.',
    },
  ),
})
export type ChatChunk = z.output<typeof ChatChunk>
