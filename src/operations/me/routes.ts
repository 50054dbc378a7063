import { z } from 'zod'
import { operationsByGrant, operationsOf } from '../../domain/callers.ts'
import { answer } from '../../domain/fields.ts'
import { roles } from '../../domain/roles.ts'
import { UserSettings } from '../../domain/user-settings.ts'
import { family, operation } from '../parts.ts'

const MeAnswer = answer('The user of the key, and what it may use.', {
  name: z.string(),
  role: z.enum(['member', 'admin']),
  entities: z.array(z.string()).describe('* means all.'),
  grants: z
    .array(z.object({ scope: z.string(), role: z.enum(roles), operations: z.array(z.string()) }))
    .describe('The role in each scope, and the operations that it allows with this key.'),
  operations: z.array(z.string()).describe('The operations allowed somewhere: docs/roles.md.'),
  settings: UserSettings.describe('Limits set by an operator; what is absent is not limited.'),
})

export const meRoutes = family(
  operation('GET', '/me', {
    right: 'own',
    summary: 'Read who the caller is',
    tags: ['service'],
    answer: MeAnswer,
    refusals: [],
    rule: (_, { caller }) => ({
      name: caller.name,
      role: caller.role,
      entities: [...caller.entities].sort(),
      grants: operationsByGrant(caller),
      operations: operationsOf(caller),
      settings: caller.settings ?? {},
    }),
  }),
)
