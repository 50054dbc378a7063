import { z } from 'zod'
import { answer, otherUser } from '../../domain/fields.ts'

const day = z
  .string()
  .refine((text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)), {
    error: 'expected a day such as 2026-11-22',
  })
  .optional()

const number = (most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'expected a whole number')
    .transform(Number)
    .refine((value) => value <= most, `expected at most ${most}`)
    .optional()

const maxDays = 10_000

export const UsageQuery = z.strictObject({
  user: otherUser,
  from: day.describe('The first day, in UTC.'),
  to: day.describe('The last day, in UTC.'),
  limit: number(maxDays).meta({ default: String(maxDays), description: `At most ${maxDays}.` }),
  offset: number(Number.MAX_SAFE_INTEGER).meta({ default: '0' }),
})
export type UsageQuery = z.output<typeof UsageQuery>

export const UsageAnswer = answer('One entry for each user and day, latest day first.', {
  usage: z.array(
    z.object({
      user: z.string(),
      day: z.string().describe('A day in UTC.'),
      requests: z.int(),
      refused: z
        .int()
        .describe('Requests that were refused because of a limit of the user. They are part of `requests`.'),
      prompt_tokens: z.int().describe('Includes tokens that were found in the cache.'),
      completion_tokens: z.int(),
    }),
  ),
})

export const defaultLimit = maxDays
