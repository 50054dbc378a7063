import { z } from 'zod'
import { answer } from '../../domain/fields.ts'
import { pageSessionHeader } from './session-header.ts'

export const SignIn = z.object({ key: z.string().min(1).max(1024).meta({ description: 'An API key.' }) })

export const SignedIn = answer('Who is signed in.', {
  half: z
    .string()
    .optional()
    .meta({ description: `The page's half of a new session: it is sent back in ${pageSessionHeader}.` }),
  user: z.string(),
  role: z.enum(['member', 'admin']),
  entities: z.array(z.string()).meta({ description: '`*` is all of them.' }),
  version: z.string(),
})
