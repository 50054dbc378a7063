import { z } from 'zod'
import { answer } from '../../domain/fields.ts'
import { UserSettings } from '../../domain/user-settings.ts'
import { family, operation } from '../parts.ts'

const MeAnswer = answer('The user of the key, and what it may use.', {
  name: z.string(),
  role: z.enum(['member', 'admin']),
  entities: z.array(z.string()).meta({ description: '* means all.' }),
  settings: UserSettings.meta({ description: 'Limits set by an operator; what is absent is not limited.' }),
})

export const meRoutes = family(
  operation('GET', '/me', {
    summary: 'Read who the caller is',
    tags: ['service'],
    answer: MeAnswer,
    refusals: [],
    rule: (_, { caller: { name, role, entities, settings = {} } }) => ({
      name,
      role,
      entities: [...entities].sort(),
      settings,
    }),
  }),
)
