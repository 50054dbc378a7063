import { z } from 'zod'
import { answer, longList, shortList } from '../../domain/fields.ts'
import { conversationFields, Message } from '../generation/conversation-fields.ts'
import { flag, integer, optIn } from '../generation/scalars.ts'

/** Longer than any context, so that a client can find out whether a text fits. */
const maxTextLength = 1024 * 1024

export const TokenizeBody = z.object({
  ...conversationFields,
  prompt: z.string().max(maxTextLength).nullish().describe('A string. Alternatively, send `messages`.'),
  messages: shortList(Message, 5_000).nullish(),
  add_special_tokens: flag()
    .nullish()
    .describe(
      'Adds the tokens that the model expects around a text. Default: true for `prompt`, false for `messages`.',
    ),
  return_token_strs: optIn(),
})
export type TokenizeBody = z.output<typeof TokenizeBody>

export const TokenizeAnswer = answer('The tokens and their number.', {
  count: z.int(),
  max_model_len: z.int(),
  tokens: z.array(z.int()),
  token_strs: z.null(),
})
export type TokenizeAnswer = z.output<typeof TokenizeAnswer>

export const maxTokens = 262_144

export const DetokenizeBody = z.object({
  model: conversationFields.model,
  tokens: longList(integer(0, 2 ** 31 - 1)),
})
export type DetokenizeBody = z.output<typeof DetokenizeBody>

/** The fields of vLLM that lm-eval and other harnesses read. */
export const TokenizerInfoAnswer = answer('Properties of the tokenizer that test harnesses need.', {
  tokenizer_class: z.string(),
  bos_token: z.string().nullable(),
  eos_token: z.string().nullable(),
  pad_token: z.string().nullable(),
  chat_template: z.string().nullable(),
  model_max_length: z.int().describe('Maximum number of tokens of one conversation.'),
  vocab_size: z.int(),
})
export type TokenizerInfoAnswer = z.output<typeof TokenizerInfoAnswer>

export const TokenizerInfoQuery = z.object({ model: z.string().max(512).optional() })

export const DetokenizeAnswer = answer('The text.', { prompt: z.string() })
export type DetokenizeAnswer = z.output<typeof DetokenizeAnswer>
