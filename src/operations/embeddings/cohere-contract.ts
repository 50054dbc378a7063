import { z } from 'zod'
import { answer, shortList } from '../../domain/fields.ts'
import { refused } from '../generation/refused-fields.ts'
import { integer } from '../generation/scalars.ts'
import { poolingFields } from '../pooling/fields.ts'
import { maxInputs } from './contract.ts'

const TextPart = z.object({ type: z.literal('text'), text: z.string() })

export const CohereEmbedBody = z.object({
  texts: shortList(z.string(), maxInputs).nullish().describe('The texts.'),
  inputs: shortList(z.object({ content: shortList(TextPart, 64) }), maxInputs)
    .nullish()
    .describe('Instead of `texts`: each has one text or several, which are joined by newlines.'),
  input_type: z
    .string()
    .max(64)
    .nullish()
    .describe('No effect: models here have no prefixes by purpose. Add such a prefix to the texts.'),
  embedding_types: shortList(z.enum(['float', 'base64', 'ubinary', 'binary']), 4)
    .nullish()
    .meta({ description: 'The forms of each vector.', default: ['float'] }),
  output_dimension: integer(1, 2 ** 31 - 1)
    .nullish()
    .describe('As `dimensions` of /v1/embeddings.'),
  truncate: z.enum(['NONE', 'START', 'END']).nullish().meta({
    description: 'The end at which a text that is too long is cut off; `NONE` refuses it.',
    default: 'END',
  }),
  max_tokens: integer(1, 2 ** 31 - 1)
    .nullish()
    .describe('Cuts each text to so many tokens.'),
  images: refused('send texts: no model here reads images into vectors'),
  ...poolingFields,
  truncate_prompt_tokens: refused('use max_tokens'),
})
export type CohereEmbedBody = z.output<typeof CohereEmbedBody>

const vectors = z.array(z.array(z.number())).optional()
export const CohereEmbedAnswer = answer('A vector for each text, in order, in each form.', {
  id: z.string(),
  response_type: z.literal('embeddings_by_type'),
  embeddings: z.object({
    float: vectors,
    base64: z.array(z.string()).optional(),
    ubinary: vectors,
    binary: vectors,
  }),
  texts: z.array(z.string()),
  meta: z.object({
    api_version: z.object({ version: z.literal('2') }),
    billed_units: z.object({ input_tokens: z.int() }),
  }),
})
