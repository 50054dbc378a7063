import { z } from 'zod'

export const ModelPath = z.object({ model: z.string().min(1).max(512) })

/** For names with slashes, which Fastify calls `*`. */
export const ModelRest = z.object({ '*': z.string().min(1).max(512) })

export const ModelCard = z.object({
  id: z.string().meta({ description: 'A served name: what `model` in a request may be.' }),
  object: z.literal('model'),
  created: z.int().meta({ description: 'Seconds since 1970 when it was loaded.' }),
  owned_by: z.literal('heddle'),
  root: z.string().meta({ description: 'The name that answers carry.' }),
  parent: z.null(),
  max_model_len: z
    .int()
    .meta({ description: 'Tokens that fit into one conversation, prompt and answer together.' }),
  device: z
    .string()
    .meta({ description: '`cpu`, or the GPU that runs it, such as `cuda: NVIDIA L4, 29 of 29 layers`.' }),
})
export type ModelCard = z.output<typeof ModelCard>

export const ModelList = z.object({ object: z.literal('list'), data: z.array(ModelCard) })
export type ModelList = z.output<typeof ModelList>
