import type { z } from 'zod'
import type { Role, Scope } from '../../src/domain/roles.ts'
import type {
  InvitationBody,
  InvitationsAnswer,
  KeyBody,
  KeysAnswer,
  NewKeyAnswer,
  SettingsBody,
  UserBody,
  UsersAnswer,
} from '../../src/operations/people/contract.ts'
import { requestJson } from './request.ts'

export type Grant = User['grants'][number]

/** What each role may do, in a few words. */
export const roleTexts: Record<Role, string> = {
  viewer: 'viewer: reads',
  annotator: 'annotator: reviews what is in queues',
  editor: 'editor: records, asks and changes',
  admin: 'admin: also invites, grants and deletes',
}

/** What a key may be limited to. */
export const scopeTexts: Record<Scope, string> = {
  read: 'read',
  review: 'review',
  export: 'export',
  infer: 'ask models',
  write_calls: 'record calls',
  write: 'change and delete',
  keys: 'manage keys',
  administer: 'invite, grant',
  scrape: 'read metrics',
  operate: 'run the server',
}

export type User = z.output<typeof UsersAnswer>['users'][number]

type Keys = z.output<typeof KeysAnswer>

export interface KeyRow extends Omit<Keys['keys'][number], 'scopes'> {
  /** Null: all that the user may do. */
  scopes: Scope[] | null
}

type NewKey = z.output<typeof NewKeyAnswer>

const ofPath = (name: string) => `/users/${encodeURIComponent(name)}`

export const readUsers = async (signal: AbortSignal) =>
  (await requestJson<{ users: User[] }>('/users', { signal })).users

export const addUser = (body: UserBody) => requestJson<{ user: User; key: NewKey }>('/users', { body })

export const removeUser = (name: string) => requestJson(ofPath(name), { method: 'DELETE' })

/** Replaces the grants of the user where the signed-in user is an admin. */
export const setGrants = (name: string, grants: readonly Grant[]) =>
  requestJson(`${ofPath(name)}/grants`, { method: 'PUT', body: { grants } })

/** Null removes a setting. */
export const setSettings = (name: string, body: Partial<SettingsBody>) =>
  requestJson(`${ofPath(name)}/settings`, { method: 'PUT', body })

const ofUser = (user: string | undefined) => (user === undefined ? '' : `?user=${encodeURIComponent(user)}`)

/** Those of the signed-in user, or, for admins, those of any user. */
export const readKeys = (user: string | undefined, signal: AbortSignal) =>
  requestJson<Omit<Keys, 'keys'> & { keys: KeyRow[] }>(`/keys${ofUser(user)}`, { signal })

export const addKey = (body: KeyBody) => requestJson<NewKey>('/keys', { body })

export const revokeKey = (id: string) => requestJson(`/keys/${encodeURIComponent(id)}`, { method: 'DELETE' })

/** The old key works for some time beside the new one. */
export const rotateKey = (id: string, overlap_seconds: number) =>
  requestJson<NewKey>(`/keys/${encodeURIComponent(id)}/rotate`, { body: { overlap_seconds } })

export type Invitation = z.output<typeof InvitationsAnswer>['invitations'][number]

export const readInvitations = async (signal: AbortSignal) =>
  (await requestJson<{ invitations: Invitation[] }>('/invitations', { signal })).invitations

export const invite = (body: InvitationBody) => requestJson<{ secret: string }>('/invitations', { body })

export const withdraw = (id: string) =>
  requestJson(`/invitations/${encodeURIComponent(id)}`, { method: 'DELETE' })

/** The sender is no user yet: the secret of the link is enough. */
export const acceptInvitation = async (secret: string, name: string) =>
  (await requestJson<{ key: NewKey }>('/invitations/accept', { body: { secret, name } })).key.key

/** Names are what a user reads: where, and as what. */
export const grantsText = (grants: readonly Grant[]): string =>
  grants.length === 0
    ? 'none'
    : grants.map(({ scope, role }) => `${role} of ${scope === '*' ? 'everything' : scope}`).join(', ')
