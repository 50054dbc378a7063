import { type Caller, requireRight } from '../../domain/callers.ts'
import type { Database } from '../../storage/database.ts'
import { readUsage } from '../../storage/users/usage.ts'
import { family, operation } from '../parts.ts'
import { defaultLimit, UsageAnswer, UsageQuery } from './contract.ts'
import type { UsageMeter } from './meter.ts'

/** An admin sees all users, a member only its own usage. Counts of the last moment are included. */
async function usageOf(db: Database, meter: UsageMeter, caller: Caller, query: UsageQuery) {
  const { user = caller.role === 'admin' ? undefined : caller.name, limit, offset } = query
  if (user !== caller.name) requireRight(caller, 'operate')
  await meter.flush()
  const days = await readUsage(db, { ...query, user, limit: limit ?? defaultLimit, offset: offset ?? 0 })
  return { usage: days.map(({ user_name, ...counted }) => ({ user: user_name, ...counted })) }
}

export const usageRoutes = family(
  operation('GET', '/usage', {
    right: 'own',
    summary: 'Read the usage of users by day',
    tags: ['service'],
    querystring: UsageQuery,
    answer: UsageAnswer,
    refusals: ['role_forbidden'],
    rule: ({ db, usage }, { caller, query }) => usageOf(db, usage, caller, query),
  }),
)
