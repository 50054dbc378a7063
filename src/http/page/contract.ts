import { z } from 'zod'
import { answer } from '../../domain/fields.ts'
import { roles } from '../../domain/roles.ts'
import { pageSessionHeader } from './session-header.ts'

const secret = (description: string) => z.string().min(1).max(1024).optional().describe(description)

export const SignIn = z
  .object({
    key: secret('An API key.'),
    ticket: secret('Instead: what an issuer has led the browser here with, once.'),
  })
  .refine(({ key, ticket }) => (key === undefined) !== (ticket === undefined), {
    path: ['key'],
    error: 'expected a key or a ticket',
  })

export const SignInWays = answer('How people sign in.', {
  keys: z.boolean().describe('Whether the page accepts keys.'),
  issuers: z
    .array(z.object({ name: z.string(), title: z.string() }))
    .describe('GET /sign-in/{name} leads a browser to the issuer.'),
})

export const SignedOut = answer('The session has ended.', {
  continue_at: z.string().optional().describe('Where the browser signs out of the issuer, too.'),
})

export const SignedIn = answer('Who is signed in.', {
  half: z
    .string()
    .optional()
    .describe(`The page's half of a new session: it is sent back in ${pageSessionHeader}.`),
  user: z.string(),
  role: z.enum(['member', 'admin']),
  entities: z.array(z.string()).describe('`*` is all of them.'),
  grants: z
    .array(z.object({ scope: z.string(), role: z.enum(roles), operations: z.array(z.string()) }))
    .describe('What the user may do where, as in GET /me.'),
  operations: z.array(z.string()).describe('What the user may do somewhere.'),
  version: z.string(),
})
