import { z } from 'zod'
import type { Caller } from '../../domain/callers.ts'
import { answer, otherUser } from '../../domain/fields.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import { readUsage } from '../../storage/users/usage.ts'
import { family, operation } from '../parts.ts'
import type { UsageMeter } from './meter.ts'

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

const UsageQuery = z.strictObject({
  user: otherUser,
  from: day.meta({ description: 'The first day, in UTC.' }),
  to: day.meta({ description: 'The last day, in UTC.' }),
  limit: number(maxDays).meta({ default: String(maxDays), description: `At most ${maxDays}.` }),
  offset: number(Number.MAX_SAFE_INTEGER).meta({ default: '0' }),
})
type UsageQuery = z.output<typeof UsageQuery>

const UsageAnswer = answer('One entry for each user and day, latest day first.', {
  usage: z.array(
    z.object({
      user: z.string(),
      day: z.string().meta({ description: 'A day in UTC.' }),
      requests: z.int(),
      refused: z.int().meta({
        description:
          'Requests that were refused because of a limit of the user. They are part of `requests`.',
      }),
      prompt_tokens: z.int().meta({ description: 'Includes tokens that were found in the cache.' }),
      completion_tokens: z.int(),
    }),
  ),
})

const defaultLimit = maxDays

/** An admin sees all users, a member only its own usage. Counts of the last moment are included. */
async function usageOf(db: Database, meter: UsageMeter, caller: Caller, query: UsageQuery) {
  const { user = caller.role === 'admin' ? undefined : caller.name, limit, offset } = query
  if (caller.role !== 'admin' && user !== caller.name) {
    throw refuse('role_forbidden', { role: 'admin', given: caller.role })
  }
  await meter.flush()
  const days = await readUsage(db, { ...query, user, limit: limit ?? defaultLimit, offset: offset ?? 0 })
  return { usage: days.map(({ user_name, ...counted }) => ({ user: user_name, ...counted })) }
}

export const usageRoutes = family(
  operation('GET', '/usage', {
    summary: 'Read the usage of users by day',
    tags: ['service'],
    querystring: UsageQuery,
    answer: UsageAnswer,
    refusals: ['role_forbidden'],
    rule: ({ db, usage }, { caller, query }) => usageOf(db, usage, caller, query),
  }),
)
