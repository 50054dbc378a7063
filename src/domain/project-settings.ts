import { z } from 'zod'

export const maxRetentionDays = 36_500

/**
 * What an operator sets for a project; absent settings follow the server's. Stored as JSON, so that more can be added
 * later.
 */
export const ProjectSettings = z.object({
  retention_days: z.int().min(0).max(maxRetentionDays).optional().meta({
    description:
      'Days after its start when a call expires; 0 keeps calls for ever. Absent: HEDDLE_RETENTION_DAYS.',
  }),
})
export type ProjectSettings = z.output<typeof ProjectSettings>
