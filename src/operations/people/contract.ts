import { z } from 'zod'
import { answer, entityName, isStep, noSteps, otherUser, plainText, projectId } from '../../domain/fields.ts'
import { roles } from '../../domain/roles.ts'
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

const isScope = (text: string) => entityName.safeParse(text).success || projectId.safeParse(text).success
const Grant = z.object({
  scope: z
    .string()
    .max(256)
    .refine(isScope, 'expected an entity, a project as <entity>/<project>, or * for all'),
  role: z.enum(roles),
})
const grants = z.array(Grant).max(100)

const secret = z.string().describe('The key itself. It is shown only this once; the server stores its hash.')

const User = z.object({
  name: z.string(),
  role,
  entities: z.array(z.string()),
  grants: z.array(Grant).describe('What the user may do where: docs/roles.md.'),
  created_at: z.string().nullable().describe('Null for a user from HEDDLE_USERS.'),
  is_configured: z
    .boolean()
    .describe('Whether the user comes from HEDDLE_USERS; the user and its key are then changed there.'),
  settings: UserSettings,
})

export const UserPath = z.object({ name: z.string().min(1).max(64) })
export const KeyPath = z.object({ id: z.string().min(1).max(64) })

export const UserBody = z
  .object({
    name: userName,
    role: role.optional().meta({ default: 'member' }),
    entities: z
      .array(entityName)
      .min(1)
      .max(100)
      .optional()
      .describe(
        'The entities that the user may use. Required unless there are grants, so that no user gets access to all of them by default.',
      ),
    grants: grants
      .min(1)
      .optional()
      .describe('Besides role and entities, or instead of them: docs/roles.md.'),
  })
  .refine(({ entities, grants }) => entities !== undefined || grants !== undefined, {
    error: 'expected entities, or grants',
    path: ['entities'],
  })
export type UserBody = z.output<typeof UserBody>

export const UsersAnswer = answer('The users, sorted by name.', { users: z.array(User) })

export const NewUserAnswer = answer('The user and its first key.', {
  user: User,
  key: z.object({ id: z.string(), key: secret }),
})

const time = z.iso.datetime({ offset: true }).max(64)

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
    .describe('A name by which its owner recognises the key, such as the machine that uses it.'),
  record: KeySettings.shape.record.describe('`off`: answers of models to this key are not recorded.'),
  scopes: KeySettings.shape.scopes.describe('Absent: all that the user may do. docs/roles.md.'),
  expires_at: time.optional().describe('From then on the key is unknown.'),
})
export type KeyBody = z.output<typeof KeyBody>

const Key = z.object({
  id: z.string(),
  name: z.string().nullable(),
  record: z.enum(['on', 'off']),
  scopes: z.array(z.string()).nullable(),
  created_at: z.string(),
  expires_at: z.string().nullable(),
  last_used_at: z.string().nullable().describe('To the minute.'),
  revoked_at: z.string().nullable(),
})

export const KeysAnswer = answer('The keys of the user, oldest first, without the secrets themselves.', {
  user: z.string(),
  is_configured: z
    .boolean()
    .describe('Whether the key of the user comes from HEDDLE_USERS; no other keys can be created.'),
  keys: z.array(Key),
})

export const NewKeyAnswer = answer('The new key, which works at once.', { id: z.string(), key: secret })

export const RevokedAnswer = answer('It no longer works.', {})

export const RotateBody = z.object({
  overlap_seconds: z
    .int()
    .min(0)
    .max(30 * 86_400)
    .optional()
    .meta({ default: 86_400, description: 'How long the old key works beside the new one.' }),
  expires_at: KeyBody.shape.expires_at.describe('Of the new key. Default: that of the old one.'),
})
export type RotateBody = z.output<typeof RotateBody>

/** As `heddle user set` takes them. An absent setting keeps its value; null removes it. */
const { shape: setting } = UserSettings
export const SettingsBody = z.strictObject({
  requests_per_minute: setting.requests_per_minute.nullable(),
  tokens_per_minute: setting.tokens_per_minute.nullable(),
  requests_at_once: setting.requests_at_once.nullable(),
  default_project: setting.default_project.nullable(),
  models: setting.models.nullable(),
  disabled: setting.disabled.nullable().meta({ default: null }),
})
export type SettingsBody = z.output<typeof SettingsBody>
export const SettingsAnswer = answer('All settings of the user.', { settings: UserSettings })

export const GrantsBody = z.object({ grants })
export const GrantsAnswer = answer('The grants of the user where the caller is an admin.', {
  name: z.string(),
  grants: z.array(Grant),
})

export const InvitationBody = z.object({
  grants: grants.min(1),
  note: plainText(200).optional().describe('For whom it is.'),
  days: z.int().min(1).max(30).optional().meta({ default: 7, description: 'How long it can be accepted.' }),
})
export type InvitationBody = z.output<typeof InvitationBody>

const Invitation = z.object({
  id: z.string(),
  grants: z.array(Grant),
  note: z.string(),
  created_at: z.string(),
  created_by: z.string(),
  expires_at: z.string(),
})
export const InvitationsAnswer = answer(
  'The first thousand invitations that can still be accepted, oldest first.',
  {
    invitations: z.array(Invitation),
  },
)
export const NewInvitationAnswer = answer('The invitation.', {
  invitation: Invitation,
  secret: z.string().describe('Shown only this once; the server stores its hash.'),
})

export const AcceptBody = z.object({ secret: z.string().min(1).max(128), name: userName })
export type AcceptBody = z.output<typeof AcceptBody>
export const AcceptAnswer = answer('The new user and its first key.', {
  name: z.string(),
  grants: z.array(Grant),
  key: z.object({ id: z.string(), key: secret }),
})

export const AuditBody = z.object({
  actor: plainText(256).optional(),
  action: plainText(64).optional().describe('Such as `user.grants`, or its beginning with a dot: `key.`.'),
  from: time.optional(),
  until: time.optional(),
  before: plainText(64).optional().describe('`next` of the page before.'),
  limit: z.int().min(1).max(1_000).optional().meta({ default: 100 }),
})
export type AuditBody = z.output<typeof AuditBody>
export const AuditAnswer = answer('What was done, the latest first.', {
  entries: z.array(
    z.object({
      id: z.string(),
      at: z.string(),
      via: z.string().nullable(),
      actor: z.string().nullable(),
      action: z.string(),
      project_id: z.string().nullable(),
      count: z.number().nullable(),
      details: z.record(z.string(), z.unknown()),
    }),
  ),
  next: z.string().nullable().describe('Null on the last page.'),
})
