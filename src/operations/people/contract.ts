import { z } from 'zod'
import { answer, entityName, isStep, noSteps } from '../../domain/fields.ts'
import { KeySettings, mostOfName, UserSettings } from '../../domain/user-settings.ts'

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
  .meta({ description: 'The key itself. It is shown this once, and stored as its hash.' })

const User = z.object({
  name: z.string(),
  role,
  entities: z.array(z.string()),
  created_at: z.string().nullable().meta({ description: 'Null of a user of HEDDLE_USERS.' }),
  is_configured: z
    .boolean()
    .meta({ description: 'The user stands in HEDDLE_USERS: it is changed there, and its key as well.' }),
  settings: UserSettings,
})

export const UserPath = z.object({ name: z.string().min(1).max(64) })
export const KeyPath = z.object({ id: z.string().min(1).max(64) })

export const UserBody = z.object({
  name: userName,
  role: role.optional().meta({ default: 'member' }),
  entities: z.array(entityName).min(1).max(100).meta({
    description: 'The entities that it may use. A list, so that nobody is given all of them by silence.',
  }),
})
export type UserBody = z.output<typeof UserBody>

export const UsersAnswer = answer('The users, by their names.', { users: z.array(User) })

export const NewUserAnswer = answer('The user, and its first key.', {
  user: User,
  key: z.object({ id: z.string(), key: secret }),
})

export const KeysQuery = z.object({
  user: z.string().min(1).max(64).optional().meta({ description: 'Another than oneself: for admins.' }),
})

export const KeyBody = z.object({
  user: z.string().min(1).max(64).optional().meta({ description: 'Another than oneself: for admins.' }),
  name: z
    .string()
    .trim()
    .min(1)
    .max(mostOfName)
    .optional()
    .meta({ description: 'By which its owner knows it again, such as the machine that it is on.' }),
  record: KeySettings.shape.record.meta({
    description: '`off`: what models answer to this key is not recorded.',
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

export const KeysAnswer = answer(
  'The keys of the user, the oldest first. No answer has the keys themselves.',
  {
    user: z.string(),
    is_configured: z
      .boolean()
      .meta({ description: 'Its key stands in HEDDLE_USERS, and no other can be made.' }),
    keys: z.array(Key),
  },
)

export const NewKeyAnswer = answer('A key, as soon as it works.', { id: z.string(), key: secret })

export const GoneAnswer = answer('It is dead at once.', {})
