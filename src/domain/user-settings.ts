import { z } from 'zod'
import { projectId } from './fields.ts'
import { scopes } from './roles.ts'

export const maxLimit = 1_000_000_000

export const maxNameLength = 100

/** The longest list of models that a user may use. */
export const maxModels = 256

export const modelName = z.string().regex(/^[^\s\0]{1,256}$/, 'expected a name without spaces')

const count = z.int().min(1).max(maxLimit).optional()

/** What an operator sets for a user; absent settings do not limit. Stored as JSON, so that more can be added later. */
export const UserSettings = z.object({
  requests_per_minute: count,
  tokens_per_minute: count,
  requests_at_once: count,
  /** Where answers of models are recorded if the request names no project. */
  default_project: projectId.optional(),
  /** The models that the user may use; others do not exist for that user. */
  models: z.array(modelName).min(1).max(maxModels).optional(),
  /** Keys, tokens and sessions of the user are refused. */
  disabled: z.literal(true).optional(),
})
export type UserSettings = z.output<typeof UserSettings>

/** Whoever is disabled keeps everything, and is refused everywhere. */
export const isDisabled = ({ settings }: { settings?: UserSettings | undefined }): boolean =>
  settings?.disabled === true

/** What an operator sets for one key. */
export const KeySettings = z.object({
  /** For a client that records calls itself, such as a wrapped one, so that its answers are recorded only once. */
  record: z.literal('off').optional(),
  /** A name by which the owner recognises the key. */
  name: z.string().max(maxNameLength).optional(),
  /** What the key may be used for; without them, for all that its user may do. */
  scopes: z.array(z.enum(scopes)).min(1).max(scopes.length).optional(),
  /** Microseconds. From then on the key is unknown. */
  expires_at: z.int().optional(),
})
export type KeySettings = z.output<typeof KeySettings>
