import { z } from 'zod'
import { answer, jsonValue } from '../../domain/fields.ts'
import { refused } from '../generation/refused-fields.ts'
import { flag, integer } from '../generation/scalars.ts'
import { PoolingUsage, poolingFields } from '../pooling/fields.ts'

/** OpenAI's limit. */
export const maxInputs = 2_048

const refusedEmbeddingFields = {
  messages: refused('send the text as input'),
  normalize: z
    .literal(true, { error: 'is not supported here; vectors always have length 1' })
    .nullish()
    .meta({ description: 'Only `true`: vectors always have length 1.', default: true }),
  embed_dtype: z
    .literal('float32', { error: 'is not supported here; numbers are float32' })
    .nullish()
    .describe('Only `float32`.'),
  output_dtype: z
    .literal('float', { error: 'is not supported here; numbers are float' })
    .nullish()
    .describe('Only `float`.'),
  endianness: z
    .enum(['native', 'little'], { error: 'is not supported here; numbers are little-endian' })
    .nullish()
    .describe('`little` or `native`, which are the same here.'),
}

export const acceptedInputs = 'a string, a list of strings, a list of token ids, or a list of such lists'

export const EmbeddingBody = z.object({
  input: jsonValue(acceptedInputs).describe(
    'A string, a list of strings, a list of token ids, or a list of such lists.',
  ),
  encoding_format: z
    .enum(['float', 'base64'])
    .nullish()
    .meta({ description: '`base64` returns each vector as little-endian float32.', default: 'float' }),
  dimensions: integer(1, 2 ** 31 - 1)
    .nullish()
    .describe(
      'Length of the vectors. Shorter than those of the model only if they may be truncated (HEDDLE_DIMENSIONS).',
    ),
  output_dimension: integer(1, 2 ** 31 - 1)
    .nullish()
    .describe('The name of Mistral and Voyage for `dimensions`.'),
  add_special_tokens: flag()
    .nullish()
    .meta({ description: 'Adds the tokens that the model expects around a text.', default: true }),
  truncation_side: z
    .enum(['left', 'right'])
    .nullish()
    .meta({ description: 'The side on which an input is truncated.', default: 'right' }),
  ...poolingFields,
  ...refusedEmbeddingFields,
})
export type EmbeddingBody = z.output<typeof EmbeddingBody>

export const EmbeddingAnswer = answer('A vector for each input, in order.', {
  id: z.string(),
  object: z.literal('list'),
  created: z.int(),
  model: z.string(),
  data: z.array(
    z.object({
      object: z.literal('embedding'),
      index: z.int(),
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  usage: PoolingUsage,
})
