import { z } from 'zod'
import { answer, plainText } from '../../domain/fields.ts'

/** Anthropic's pages; other names, such as Azure's `api-version`, have no effect. */
export const ModelsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).optional().describe('Without it, all models.'),
  after_id: plainText(512).min(1).optional(),
  before_id: plainText(512).min(1).optional(),
})
export type ModelsQuery = z.output<typeof ModelsQuery>

export const ModelPath = z.object({ model: z.string().min(1).max(512) })

/** For names with slashes: Fastify calls the rest of a path `*`. */
export const ModelRest = z.object({ '*': z.string().min(1).max(512) })

/** What Anthropic's clients expect of a model and this server does not have. */
const unknownToServer = {
  capabilities: z.null(),
  deprecated_at: z.null(),
  retires_at: z.null(),
  line: z.null(),
}

export const ModelCard = answer('The model and its properties.', {
  id: z.string().describe('A served name, which requests may use as `model`.'),
  object: z.literal('model'),
  type: z.literal('model').describe('The same as `object`, for clients of Anthropic.'),
  display_name: z.string().describe('Same as `id`.'),
  created: z.int().describe('When the model was loaded, in seconds since 1970.'),
  created_at: z.iso.datetime().describe('The same time, as text.'),
  owned_by: z.literal('heddle'),
  root: z.string().describe('The name that answers have in `model`.'),
  parent: z.string().nullable().describe('The base model of a LoRA adapter; otherwise null.'),
  max_model_len: z
    .int()
    .describe('Maximum number of tokens of one conversation, prompt and answer together.'),
  max_input_tokens: z.int().describe('Same as `max_model_len`.'),
  max_tokens: z.int().describe('Same as `max_model_len`.'),
  device: z.string().describe('`cpu`, or the GPU that runs it, such as `cuda: NVIDIA L4, 29 of 29 layers`.'),
  state: z
    .enum(['ready', 'unloaded', 'starting', 'failed'])
    .describe(
      '`ready`: it is loaded. `unloaded`: it is loaded on demand. `starting`: it is being loaded. `failed`: it cannot be served now; GET /views/engine has the reason.',
    ),
  tasks: z
    .array(z.enum(['answers', 'embeddings', 'ranking', 'decisions']))
    .describe(
      'The tasks that the model can do: answers, embeddings of texts, the ranking of documents for a query, or typed decisions.',
    ),
  dimensions: z
    .int()
    .nullable()
    .describe('Length of its embedding vectors; null if it has none or the length is unknown.'),
  tools: z
    .enum(['proven', 'own', 'generic'])
    .nullable()
    .describe(
      'How it calls tools. `proven`: in the form of its chat template, which was verified with random calls. `own`: in a form that the server has code for. `generic`: in a form that its template does not know, described in the system message. Null if it has no template.',
    ),
  lifecycle: z.literal('active'),
  ...unknownToServer,
  reasoning: z.boolean().describe('Whether its template marks thoughts.'),
})
export type ModelCard = z.output<typeof ModelCard>

export const ModelList = answer('One model card for each served name.', {
  object: z.literal('list'),
  data: z.array(ModelCard),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  models: z
    .array(z.object({ name: z.string(), description: z.string(), release_date: z.string() }))
    .optional()
    .describe('The same for clients of TypeSafe; other clients read another list of this name.'),
})
export type ModelList = z.output<typeof ModelList>
