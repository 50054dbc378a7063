import { z } from 'zod'
import { answer, jsonValue } from '../../domain/fields.ts'
import { answerHead, ended, PromptLogprobs, Usage } from '../generation/answer-contract.ts'
import { answerFields } from '../generation/answer-fields.ts'
import { constraintFields } from '../generation/constraint-fields.ts'
import { formerConstraintFields } from '../generation/refused-fields.ts'
import { RequestMetrics } from '../generation/request-metrics.ts'
import { maxChoices, maxLogprobs, samplingFields } from '../generation/sampling-fields.ts'
import { flag, integer, optIn } from '../generation/scalars.ts'
import { unusedOpenAiFields, unusedVllmFields } from '../generation/unused-fields.ts'

/** The default of most servers since the first version of this operation. */
export const defaultMaxTokens = 16

export const acceptedPrompts = 'a string, a list of strings, a list of token ids, or a list of such lists'

export const CompletionBody = z.object({
  prompt: jsonValue(acceptedPrompts).describe(
    'A string, a list of strings, a list of token ids, or a list of such lists; or a stored prompt, `{"id": …, "version": …, "variables": {…}}` (docs/prompts.md).',
  ),
  model: z.string().max(256).nullish(),
  suffix: z
    .string()
    .nullish()
    .describe('The text after the gap that the answer fills, for a model with tokens for it.'),
  echo: optIn(),
  add_special_tokens: flag().nullish().meta({ default: true }),
  best_of: integer(1, maxChoices).nullish().describe('Null, or the value of `n`.'),

  ...samplingFields,
  max_tokens: integer(0, 2 ** 31 - 1)
    .nullish()
    .meta({
      description: 'If null, as many as fit. 0 is allowed only with `echo`.',
      default: defaultMaxTokens,
    }),

  logprobs: integer(0, maxLogprobs).nullish(),
  ...answerFields,
  ...constraintFields,
  ...formerConstraintFields,
  ...unusedOpenAiFields,
  ...unusedVllmFields,
})
export type CompletionBody = z.output<typeof CompletionBody>

const LegacyLogprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
  text_offset: z.array(z.int()),
})
export type LegacyLogprobs = z.output<typeof LegacyLogprobs>

const choice = {
  index: z.int(),
  text: z.string(),
  logprobs: LegacyLogprobs.nullable(),
  token_ids: z.array(z.int()).optional(),
  prompt_token_ids: z.array(z.int()).optional(),
}

const head = { ...answerHead, object: z.literal('text_completion') }

export const CompletionAnswer = answer('Continuations of the text.', {
  ...head,
  choices: z.array(
    z.object({
      ...choice,
      ...ended,
      prompt_logprobs: PromptLogprobs.optional(),
    }),
  ),
  usage: Usage,
  metrics: RequestMetrics.optional(),
})
export type CompletionAnswer = z.output<typeof CompletionAnswer>

export const CompletionChunk = z.object({
  ...head,
  choices: z.array(
    z.object({
      ...choice,
      finish_reason: ended.finish_reason.nullable(),
      stop_reason: ended.stop_reason.optional(),
    }),
  ),
  usage: Usage.optional(),
  metrics: RequestMetrics.optional(),
})
export type CompletionChunk = z.output<typeof CompletionChunk>
