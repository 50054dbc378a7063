import { z } from 'zod'
import { answer, entityName, isStep, noSteps, otherUser } from '../../domain/fields.ts'
import { KeySettings, maxNameLength, UserSettings } from '../../domain/user-settings.ts'

/** The names that `heddle user add` accepts. `api` stands for any user in Basic credentials. */
const userName = z
  .string()
  .min(1)
  .max(64)
  .refine((name) => /^[\w.@-]*$/.test(name), 'expected letters, digits and _ . @ -')
  .refine((name) => !isStep(name), noSteps)
  .refine((name) => name !== 'api', 'expected another name: "api" stands for any user')

const role = z.enum(['member', 'admin'])

const secret = z
  .string()
  .meta({ description: 'The key itself. It is shown only this once; the server stores its hash.' })

const User = z.object({
  name: z.string(),
  role,
  entities: z.array(z.string()),
  created_at: z.string().nullable().meta({ description: 'Null for a user from HEDDLE_USERS.' }),
  is_configured: z.boolean().meta({
    description: 'Whether the user comes from HEDDLE_USERS; the user and its key are then changed there.',
  }),
  settings: UserSettings,
})

export const UserPath = z.object({ name: z.string().min(1).max(64) })
export const KeyPath = z.object({ id: z.string().min(1).max(64) })

export const UserBody = z.object({
  name: userName,
  role: role.optional().meta({ default: 'member' }),
  entities: z.array(entityName).min(1).max(100).meta({
    description:
      'The entities that the user may use. Required, so that no user gets access to all of them by default.',
  }),
})
export type UserBody = z.output<typeof UserBody>

export const UsersAnswer = answer('The users, sorted by name.', { users: z.array(User) })

export const NewUserAnswer = answer('The user and its first key.', {
  user: User,
  key: z.object({ id: z.string(), key: secret }),
})

export const KeysQuery = z.object({
  user: otherUser,
})

export const KeyBody = z.object({
  user: otherUser,
  name: z
    .string()
    .trim()
    .min(1)
    .max(maxNameLength)
    .optional()
    .meta({ description: 'A name by which its owner recognises the key, such as the machine that uses it.' }),
  record: KeySettings.shape.record.meta({
    description: '`off`: answers of models to this key are not recorded.',
  }),
})
export type KeyBody = z.output<typeof KeyBody>

const Key = z.object({
  id: z.string(),
  name: z.string().nullable(),
  record: z.enum(['on', 'off']),
  created_at: z.string(),
  revoked_at: z.string().nullable(),
})

export const KeysAnswer = answer('The keys of the user, oldest first, without the secrets themselves.', {
  user: z.string(),
  is_configured: z.boolean().meta({
    description: 'Whether the key of the user comes from HEDDLE_USERS; no other keys can be created.',
  }),
  keys: z.array(Key),
})

export const NewKeyAnswer = answer('The new key, which works at once.', { id: z.string(), key: secret })

export const RevokedAnswer = answer('It no longer works.', {})
