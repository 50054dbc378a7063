import type { Role, Scope } from '../../src/domain/roles.ts'
import { requestJson } from './request.ts'

export interface Grant {
  scope: string
  role: Role
}

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
  export: 'export projects',
  infer: 'ask models',
  write_calls: 'record calls',
  write: 'change and delete',
  keys: 'manage its keys',
  administer: 'invite and grant',
  operate: 'operate the server',
}

export interface User {
  name: string
  role: 'member' | 'admin'
  grants: Grant[]
  /** Null for a user that is set in HEDDLE_USERS. */
  created_at: string | null
  is_configured: boolean
  settings: UserSettings
}

export interface UserSettings {
  requests_per_minute?: number
  tokens_per_minute?: number
  requests_at_once?: number
  default_project?: string
  models?: string[]
  disabled?: true
}

export interface KeyRow {
  id: string
  name: string | null
  record: 'on' | 'off'
  /** Null: all that the user may do. */
  scopes: Scope[] | null
  created_at: string
  expires_at: string | null
  last_used_at: string | null
  revoked_at: string | null
}

interface Keys {
  user: string
  is_configured: boolean
  keys: KeyRow[]
}

interface NewKey {
  id: string
  /** Shown only once. */
  key: string
}

const ofPath = (name: string) => `/users/${encodeURIComponent(name)}`

export const readUsers = async (signal: AbortSignal) =>
  (await requestJson<{ users: User[] }>('/users', { signal })).users

export const addUser = (body: { name: string; grants: Grant[] }) =>
  requestJson<{ user: User; key: NewKey }>('/users', { body })

export const removeUser = (name: string) => requestJson(ofPath(name), { method: 'DELETE' })

/** Replaces the grants of the user where the signed-in user is an admin. */
export const setGrants = (name: string, grants: readonly Grant[]) =>
  requestJson(`${ofPath(name)}/grants`, { method: 'PUT', body: { grants } })

/** Null removes a setting. */
export const setSettings = (
  name: string,
  body: { [Name in keyof UserSettings]: UserSettings[Name] | null },
) => requestJson(`${ofPath(name)}/settings`, { method: 'PUT', body })

const ofUser = (user: string | undefined) => (user === undefined ? '' : `?user=${encodeURIComponent(user)}`)

/** Those of the signed-in user, or, for admins, those of any user. */
export const readKeys = (user: string | undefined, signal: AbortSignal) =>
  requestJson<Keys>(`/keys${ofUser(user)}`, { signal })

export const addKey = (body: {
  user?: string | undefined
  name?: string | undefined
  record?: 'off' | undefined
  scopes?: string[] | undefined
  expires_at?: string | undefined
}) => requestJson<NewKey>('/keys', { body })

export const revokeKey = (id: string) => requestJson(`/keys/${encodeURIComponent(id)}`, { method: 'DELETE' })

/** The old key works for some time beside the new one. */
export const rotateKey = (id: string, overlap_seconds: number) =>
  requestJson<NewKey>(`/keys/${encodeURIComponent(id)}/rotate`, { body: { overlap_seconds } })

export interface Invitation {
  id: string
  grants: Grant[]
  note: string
  created_at: string
  created_by: string
  expires_at: string
}

export const readInvitations = async (signal: AbortSignal) =>
  (await requestJson<{ invitations: Invitation[] }>('/invitations', { signal })).invitations

export const invite = (body: { grants: Grant[]; note?: string | undefined; days: number }) =>
  requestJson<{ secret: string }>('/invitations', { body })

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
