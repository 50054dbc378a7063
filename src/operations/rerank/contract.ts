import { z } from 'zod'
import { answer, shortList } from '../../domain/fields.ts'
import { refused } from '../generation/refused-fields.ts'
import { flag, integer } from '../generation/scalars.ts'
import { PoolingUsage, poolingFields } from '../pooling/fields.ts'

export const maxDocuments = 2_048

/** Fields of Cohere and Jina whose effect this server does not have. */
export const refusedRerankFields = {
  truncation_side: z
    .literal('right', { error: 'is not supported here; the end of a document is cut off ("right")' })
    .nullish()
    .meta({ description: 'Only `right`: the end of each document is cut off.', default: 'right' }),
  max_tokens_per_doc: refused('use truncate_prompt_tokens, which includes the query'),
  max_chunks_per_doc: refused('split the document into several'),
  top_k: refused('use top_n'),
  rank_fields: refused('send each document as one text'),
}

export const RerankBody = z.object({
  query: z.string(),
  documents: shortList(z.union([z.string(), z.object({ text: z.string() })]), maxDocuments).describe(
    'Strings, or objects with a `text`.',
  ),
  top_n: integer(0, 2 ** 31 - 1)
    .nullish()
    .describe('Returns only this many of the best documents; 0 and null return all.'),
  return_documents: flag()
    .nullish()
    .meta({ description: 'Whether the answer includes the texts of the documents.', default: true }),
  ...poolingFields,
  ...refusedRerankFields,
})
export type RerankBody = z.output<typeof RerankBody>

export const RerankAnswer = answer('The documents, best match first.', {
  id: z.string(),
  model: z.string(),
  results: z.array(
    z.object({
      index: z.int().describe('The index of the document in `documents`.'),
      relevance_score: z.number(),
      document: z.object({ text: z.string() }).optional(),
    }),
  ),
  usage: PoolingUsage.extend({ completion_tokens: z.literal(0) }),
  meta: z
    .object({
      api_version: z.object({ version: z.literal('2') }),
      billed_units: z.object({ search_units: z.literal(1) }),
      tokens: z.object({ input_tokens: z.int(), output_tokens: z.int() }),
    })
    .describe("Cohere's form of the usage."),
})
export type RerankAnswer = z.output<typeof RerankAnswer>

const texts = () =>
  z
    .union([z.string(), z.array(z.string()).max(maxDocuments)], {
      error: `expected a string or a list of at most ${maxDocuments} strings`,
    })
    .nullish()

export const ScoreBody = z.object({
  queries: texts().describe('One text, or as many as there are documents.'),
  documents: texts().describe('What each is compared with.'),
  text_1: texts().describe('The older name of `queries`.'),
  text_2: texts().describe('The older name of `documents`.'),
  ...poolingFields,
})
export type ScoreBody = z.output<typeof ScoreBody>

export const ScoreAnswer = answer('A score for each pair, in order.', {
  id: z.string(),
  object: z.literal('list'),
  created: z.int(),
  model: z.string(),
  data: z.array(z.object({ index: z.int(), object: z.literal('score'), score: z.number() })),
  usage: PoolingUsage,
})
export type ScoreAnswer = z.output<typeof ScoreAnswer>
