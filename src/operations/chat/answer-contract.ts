import { z } from 'zod'
import { answer, explained, explainedObject } from '../../domain/fields.ts'
import { answerHead, ended, PromptLogprobs, Usage } from '../generation/answer-contract.ts'
import { RequestMetrics } from '../generation/request-metrics.ts'

const Candidate = explainedObject({
  token: [z.string(), 'Its text; empty if it is only a part of a character.'],
  bytes: [z.array(z.int()), 'The exact bytes of its text.'],
  logprob: [z.number(), 'Its log-probability before any sampling setting; never below -9999.'],
})

const Token = Candidate.extend({
  top_logprobs: z
    .array(Candidate)
    .describe('The most likely tokens at its position, or those of `logprob_token_ids`, most likely first.'),
})

const Logprobs = z.object({
  content: z.array(Token).describe('The tokens, with the one that ends the answer.'),
})

const FunctionCall = explainedObject({
  name: [z.string(), 'The name of the tool.'],
  arguments: [z.string(), 'JSON, as a string.'],
})

const ToolCall = explainedObject({
  id: [z.string(), 'Names the call in the answer to it.'],
  type: [z.literal('function'), 'Tools are functions.'],
  function: [FunctionCall, 'What is called.'],
})

/** The first delta of a call has its id and name; later ones add to its arguments. */
const CallDelta = explainedObject({
  index: [z.int(), 'Which call of the answer it belongs to, from 0.'],
  id: [z.string().optional(), 'In the first delta of the call.'],
  type: [z.literal('function').optional(), 'In the first delta of the call.'],
  function: [
    FunctionCall.partial(),
    'The name in the first delta of the call; in all of them, more of the arguments.',
  ],
})

const Citation = explainedObject({
  start_index: [z.int(), 'Where it begins.'],
  end_index: [z.int(), 'Where it ends.'],
  title: [z.string(), 'The title of the page.'],
  url: [z.string(), 'The address of the page.'],
})

const Annotation = explainedObject({
  type: [z.string(), 'Its kind.'],
  url_citation: [Citation, 'A page.'],
})

const Sound = explainedObject({
  id: [z.string(), 'Its id.'],
  data: [z.string(), 'Its bytes in base64.'],
  expires_at: [z.int(), 'When it expires.'],
  transcript: [z.string(), 'Its words.'],
})

const reasoning = {
  reasoning: [z.string().optional(), 'The thought of the model, if its template shows one.'],
  /** The older name, which some clients read. */
  reasoning_content: [z.string().optional(), 'The same as `reasoning`, under its older name.'],
} as const

const Message = explainedObject({
  role: [z.string(), '`assistant`, or the role of the last message if the answer continues it.'],
  content: [z.string().nullable(), 'The text; null if there is none, but a thought or a call.'],
  refusal: [z.string().nullable(), 'Always null.'],
  ...reasoning,
  tool_calls: [z.array(ToolCall).optional(), 'The calls of tools that the answer makes.'],
  function_call: [FunctionCall.optional(), 'The call, if the request has `functions`.'],
  annotations: [Annotation.optional(), 'Never filled in by this version.'],
  audio: [Sound.optional(), 'Never filled in by this version.'],
})

const Delta = explainedObject({
  role: [z.string().optional(), 'In the first chunk of a choice.'],
  content: [z.string().optional(), 'More of the text.'],
  ...reasoning,
  tool_calls: [z.array(CallDelta).optional(), 'More of one call.'],
  function_call: [FunctionCall.partial().optional(), 'More of the call, if the request has `functions`.'],
})

const ChatFinish = z.enum([...ended.finish_reason.options, 'tool_calls', 'function_call'])

const finishes =
  '`stop`, `length` (the limit of tokens, or the end of the context), `repetition`, `tool_calls` or `function_call` (whole calls that the model chose to make; `stop` if the request names the tool), or `content_filter` of another server.'

const index = [z.int(), 'The number of the choice, from 0.'] as const
const logprobs = [Logprobs.nullable(), 'Null unless asked for.'] as const
const tokenIds = [z.array(z.int()).optional(), 'The tokens, if `return_token_ids` asks for them.'] as const
const stop = 'The stop text or stop token that ended it, `repetition_detected`, or null.'

const Choice = explainedObject({
  index,
  message: [Message, 'The answer.'],
  logprobs,
  finish_reason: [ChatFinish, `Why it ended: ${finishes}`],
  stop_reason: [ended.stop_reason, stop],
  token_ids: tokenIds,
})

export const ChatAnswer = answer('The next message of the conversation.', {
  ...answerHead,
  ...explained({
    object: [z.literal('chat.completion'), 'What this is.'],
    choices: [z.array(Choice), '`n` answers.'],
    usage: [Usage, 'Counts of tokens.'],
    metrics: [RequestMetrics.optional(), 'How long it took, with `HEDDLE_REQUEST_METRICS=on`.'],
    prompt_token_ids: [
      z.array(z.int()).optional(),
      'The tokens of the prompt, if `return_token_ids` asks for them.',
    ],
    prompt_text: [z.string().optional(), 'The rendered template, if `return_prompt_text` asks for it.'],
    service_tier: [
      z.enum(['auto', 'default', 'flex', 'scale', 'priority']).nullish(),
      'Never filled in: there is only one tier.',
    ],
    kv_transfer_params: [z.record(z.string(), z.unknown()).optional(), 'Never filled in by this version.'],
  }),
  prompt_logprobs: PromptLogprobs.optional(),
})

const ChunkChoice = explainedObject({
  index,
  delta: [Delta, 'What is added to the answer.'],
  logprobs,
  finish_reason: [ChatFinish.nullable(), `Null, and in the last chunk of a choice why it ended: ${finishes}`],
  stop_reason: [ended.stop_reason.optional(), stop],
  token_ids: tokenIds,
})

export const ChatChunk = z.object({
  ...answerHead,
  ...explained({
    object: [z.literal('chat.completion.chunk'), 'What this is.'],
    choices: [z.array(ChunkChoice), 'One choice; none in the last chunk with `include_usage`.'],
    usage: [Usage.optional(), 'As `stream_options` ask for it.'],
    metrics: [RequestMetrics.optional(), 'In the last chunk, with `HEDDLE_REQUEST_METRICS=on`.'],
    prompt_token_ids: [
      z.array(z.int()).optional(),
      'In the first chunk, if `return_token_ids` asks for them.',
    ],
    prompt_text: [z.string().optional(), 'In the first chunk, if `return_prompt_text` asks for it.'],
  }),
})
export type ChatChunk = z.output<typeof ChatChunk>
