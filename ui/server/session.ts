import { signal } from '@preact/signals'
import { request, requestJson } from './request.ts'
import {
  endInAllTabs,
  half,
  isSignedIn,
  requestHalfFromTabs,
  sessionEnded,
  storeHalf,
} from './session-half.ts'

interface CurrentUser {
  user: string
  role: 'member' | 'admin'
  entities: string[]
  version: string
}

export const currentUser = signal<CurrentUser | undefined>(undefined)

export async function signIn(key: string): Promise<void> {
  const { half: given, ...me } = await requestJson<CurrentUser & { half: string }>('/ui/session', {
    body: { key },
  })
  currentUser.value = me
  storeHalf(given)
}

export async function signOut(): Promise<void> {
  try {
    await request('/ui/session', { method: 'DELETE' })
  } finally {
    currentUser.value = undefined
    endInAllTabs()
  }
}

/** `npm start` prints a link with the key after the #, which browsers never send. It is removed from the address. */
function takeKey(): string | undefined {
  const key = /^#key=(.+)$/.exec(location.hash)?.[1]
  if (key === undefined) return undefined
  history.replaceState(null, '', location.pathname + location.search)
  return decodeURIComponent(key)
}

/** Finds out who is signed in. Fails only if the server does not answer. */
export async function findSession(): Promise<void> {
  const key = takeKey()
  if (key !== undefined) {
    // If the key is no longer valid, the sign-in form asks for one.
    await signIn(key).catch(sessionEnded)
    return
  }
  if (half() === undefined) await requestHalfFromTabs()
  if (half() === undefined) return sessionEnded()
  currentUser.value = await requestJson<CurrentUser>('/ui/session')
  isSignedIn.value = true
}
