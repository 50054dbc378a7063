import { z } from 'zod'
import { projectId } from './fields.ts'

export const mostOfLimit = 1_000_000_000

export const mostOfName = 100

/** In a list of models that a user may ask. */
export const mostModels = 256

export const modelName = z.string().regex(/^[^\s\0]{1,256}$/, 'expected a name without spaces')

const count = z.int().min(1).max(mostOfLimit).optional()

/** What an operator sets for a user; what is absent is not limited. Stored as JSON, so that more can be set later. */
export const UserSettings = z.object({
  requests_per_minute: count,
  tokens_per_minute: count,
  requests_at_once: count,
  /** Where answers of models are recorded when the request names no project. */
  default_project: projectId.optional(),
  /** Names of the models that the user may ask; others are not there for it. */
  models: z.array(modelName).min(1).max(mostModels).optional(),
})
export type UserSettings = z.output<typeof UserSettings>

/** What an operator sets for one key. */
export const KeySettings = z.object({
  /** Who records by itself, such as a wrapped client, has its answers recorded once. */
  record: z.literal('off').optional(),
  /** By which its owner knows it again. */
  name: z.string().max(mostOfName).optional(),
})
export type KeySettings = z.output<typeof KeySettings>
