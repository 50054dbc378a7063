import { requestJson } from './request.ts'

export interface User {
  name: string
  role: 'member' | 'admin'
  entities: string[]
  /** Null for a user that is set in HEDDLE_USERS. */
  created_at: string | null
  is_configured: boolean
  settings: Record<string, string | number>
}

export interface KeyRow {
  id: string
  name: string | null
  record: 'on' | 'off'
  created_at: string
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

export const readUsers = (signal: AbortSignal) => requestJson<{ users: User[] }>('/users', { signal })

export const addUser = (body: { name: string; role: User['role']; entities: string[] }) =>
  requestJson<{ user: User; key: NewKey }>('/users', { body })

export const removeUser = (name: string) =>
  requestJson('/users/'.concat(encodeURIComponent(name)), { method: 'DELETE' })

const ofUser = (user: string | undefined) => (user === undefined ? '' : `?user=${encodeURIComponent(user)}`)

/** Those of the signed-in user, or, for admins, those of any user. */
export const readKeys = (user: string | undefined, signal: AbortSignal) =>
  requestJson<Keys>(`/keys${ofUser(user)}`, { signal })

export const addKey = (body: { user?: string; name?: string; record?: 'off' }) =>
  requestJson<NewKey>('/keys', { body })

export const revokeKey = (id: string) => requestJson(`/keys/${encodeURIComponent(id)}`, { method: 'DELETE' })
