import { z } from 'zod'

export const mostOfLimit = 1_000_000_000

const count = z.int().min(1).max(mostOfLimit).optional()

/** What an operator sets for a user; what is absent is not limited. Stored as JSON, so that more can be set later. */
export const UserSettings = z.object({
  requests_per_minute: count,
  tokens_per_minute: count,
  requests_at_once: count,
})
export type UserSettings = z.output<typeof UserSettings>
