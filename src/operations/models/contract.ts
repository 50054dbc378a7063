import { z } from 'zod'
import { answer } from '../../domain/fields.ts'

export const ModelPath = z.object({ model: z.string().min(1).max(512) })

/** For names with slashes: Fastify calls the rest of a path `*`. */
export const ModelRest = z.object({ '*': z.string().min(1).max(512) })

export const ModelCard = answer('What is known about the model.', {
  id: z.string().meta({ description: 'A served name: what `model` in a request may be.' }),
  object: z.literal('model'),
  created: z.int().meta({ description: 'Seconds since 1970 when it was loaded.' }),
  owned_by: z.literal('heddle'),
  root: z.string().meta({ description: 'The name that answers carry.' }),
  parent: z.string().nullable().meta({ description: 'Of a LoRA adapter: the model that it changes.' }),
  max_model_len: z
    .int()
    .meta({ description: 'Tokens that fit into one conversation, prompt and answer together.' }),
  device: z
    .string()
    .meta({ description: '`cpu`, or the GPU that runs it, such as `cuda: NVIDIA L4, 29 of 29 layers`.' }),
  state: z.enum(['ready', 'unloaded', 'starting', 'failed']).meta({
    description:
      '`unloaded`: it is loaded when it is asked. `starting` is on its way, `failed` cannot be served now; GET /views/engine has the reason.',
  }),
  tasks: z.array(z.enum(['answers', 'embeddings', 'ranking'])).meta({
    description:
      'What it can be asked for: texts, the vectors of texts, or how well documents fit a question.',
  }),
  dimensions: z
    .int()
    .nullable()
    .meta({ description: 'Numbers of one of its vectors, where it makes some and says how many.' }),
  tools: z.enum(['proven', 'own', 'generic']).nullable().meta({
    description:
      'How it calls tools. `proven`: in the form of its chat template, of which random calls were read back as they were written. `own`: in a form that the server has code for. `generic`: in a form that its template does not know, described in the system message. Null where it has no template.',
  }),
  reasoning: z.boolean().meta({ description: 'Its template has marks for thoughts.' }),
})
export type ModelCard = z.output<typeof ModelCard>

export const ModelList = answer('A card for each served name.', {
  object: z.literal('list'),
  data: z.array(ModelCard),
})
export type ModelList = z.output<typeof ModelList>
