import { z } from 'zod'
import { answer } from '../../domain/fields.ts'
import { answerHead, ended, Usage } from '../generation/answer-contract.ts'
import { answerFields } from '../generation/answer-fields.ts'
import { maxTokenCount, samplingFields } from '../generation/sampling-fields.ts'
import { integer } from '../generation/scalars.ts'
import { unusedOpenAiFields } from '../generation/unused-fields.ts'

/** As Mistral's clients send it. */
export const FimBody = z.object({
  prompt: z.string().describe('The text before the gap.'),
  suffix: z.string().nullish().describe('The text after it. Without one the answer goes on with the prompt.'),
  model: z.string().max(256).nullish(),
  max_tokens: integer(1, maxTokenCount).nullish().describe('If null, as many as fit.'),
  min_tokens: integer(0, maxTokenCount).nullish().meta({ default: 0 }),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  random_seed: samplingFields.seed,
  stop: samplingFields.stop,
  stream: answerFields.stream,
  store: answerFields.store,
  metadata: answerFields.metadata,
  prompt_cache_key: unusedOpenAiFields.prompt_cache_key,
})
export type FimBody = z.output<typeof FimBody>

const { id, created, model, system_fingerprint } = answerHead
const head = { id, created, model, system_fingerprint }
const text = { role: z.literal('assistant'), content: z.string() }

export const FimAnswer = answer('What fills the gap, as the message of a chat completion.', {
  ...head,
  object: z.literal('chat.completion'),
  choices: z.array(z.object({ index: z.int(), message: z.object(text), finish_reason: ended.finish_reason })),
  usage: Usage,
})

/** The last chunk of a stream has the usage. */
export const FimChunk = z.object({
  ...head,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.object({
      index: z.int(),
      delta: z.object({ ...text, role: text.role.optional() }),
      finish_reason: ended.finish_reason.nullable(),
    }),
  ),
  usage: Usage.optional(),
})
export type FimChunk = z.output<typeof FimChunk>
