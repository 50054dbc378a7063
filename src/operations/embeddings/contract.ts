import { z } from 'zod'
import { answer, jsonValue } from '../../domain/fields.ts'
import { refused } from '../generation/refused-fields.ts'
import { flag, integer } from '../generation/scalars.ts'
import { PoolingUsage, poolingFields } from '../pooling/fields.ts'

const refusedEmbeddingFields = {
  messages: refused('send the text as input'),
  normalize: z
    .literal(true, { error: 'is not taken here; vectors always have the length 1' })
    .nullish()
    .meta({ description: '`true` alone: vectors always have the length 1.', default: true }),
  embed_dtype: z
    .literal('float32', { error: 'is not taken here; numbers are float32' })
    .nullish()
    .meta({ description: '`float32` alone.' }),
  endianness: z
    .enum(['native', 'little'], { error: 'is not taken here; numbers are little-endian' })
    .nullish()
    .meta({ description: '`little`, which `native` is too.' }),
}

export const EmbeddingBody = z.object({
  input: jsonValue().meta({
    description: 'A text, a list of texts, a list of token ids, or a list of such lists.',
  }),
  encoding_format: z
    .enum(['float', 'base64'])
    .nullish()
    .meta({ description: '`base64` is the vector as little-endian float32.', default: 'float' }),
  dimensions: integer(1, 2 ** 31 - 1)
    .nullish()
    .meta({
      description:
        'Numbers of a vector: fewer than its own only where the model may be cut (HEDDLE_DIMENSIONS).',
    }),
  add_special_tokens: flag()
    .nullish()
    .meta({ description: 'Puts around a text what the model wants there.', default: true }),
  truncation_side: z
    .enum(['left', 'right'])
    .nullish()
    .meta({ description: 'The end of an input that is cut off.', default: 'right' }),
  ...poolingFields,
  ...refusedEmbeddingFields,
})
export type EmbeddingBody = z.output<typeof EmbeddingBody>

export const EmbeddingAnswer = answer('A vector for each input, in their order.', {
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
