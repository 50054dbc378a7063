import { effect, signal } from '@preact/signals'
import { base } from '../base.ts'
import type { Grant } from './people.ts'
import { requestJson } from './request.ts'
import {
  endInAllTabs,
  half,
  isSignedIn,
  requestHalfFromTabs,
  sessionEnded,
  storeHalf,
  successor,
} from './session-half.ts'

interface CurrentUser {
  user: string
  role: 'member' | 'admin'
  entities: string[]
  grants: (Grant & { operations: string[] })[]
  /** What the user may do somewhere. */
  operations: string[]
  version: string
}

/** The secret of an invitation that led here. */
export const invitation = signal<string | undefined>(undefined)

export const currentUser = signal<CurrentUser | undefined>(undefined)

// Whoever signs in next may be somebody else.
effect(() => {
  if (isSignedIn.value === false) currentUser.value = undefined
})

/** Tells the other tabs who has signed in. */
const signIns = new BroadcastChannel('heddle.sign-in')

signIns.addEventListener('message', ({ data }: MessageEvent<{ user: string; half: string }>) => {
  const user = currentUser.peek()?.user
  if (user === data.user) storeHalf(data.half)
  else if (user !== undefined) successor.value = data
})

// Once the tab is loaded again, it is theirs.
addEventListener('pagehide', ({ persisted }) => {
  if (!persisted && successor.value !== undefined) storeHalf(successor.value.half)
})

/** With a key, or with the ticket of an issuer. */
export async function signIn(body: { key: string } | { ticket: string }): Promise<void> {
  const { half: given, ...me } = await requestJson<CurrentUser & { half: string }>('/ui/session', { body })
  currentUser.value = me
  storeHalf(given)
  signIns.postMessage({ user: me.user, half: given })
}

export async function signOut(): Promise<void> {
  const ended = await requestJson<{ continue_at?: string }>('/ui/session', { method: 'DELETE' }).finally(
    endInAllTabs,
  )
  // The issuer signs its user out as well, and leads back here.
  if (ended.continue_at !== undefined) location.assign(ended.continue_at)
}

/**
 * `npm start` prints a link with the key after the #, which browsers never send; an issuer leads here with a ticket
 * there, and so does the link of an invitation. It is removed from the address.
 */
function takeSecret(): { key: string } | { ticket: string } | undefined {
  const [, name, secret] = /^#(key|ticket|invite)=(.+)$/.exec(location.hash) ?? []
  if (name === undefined || secret === undefined) return undefined
  history.replaceState(null, '', location.pathname + location.search)
  if (name === 'invite') {
    invitation.value = secret
    return undefined
  }
  return name === 'key' ? { key: decodeURIComponent(secret) } : { ticket: secret }
}

interface SignInWays {
  keys: boolean
  issuers: { name: string; title: string }[]
}

export const readSignInWays = (): Promise<SignInWays> => requestJson<SignInWays>('/ui/issuers')

/** Where an issuer asks who the user is, before it leads back to this screen. */
export const pathOfIssuer = (name: string): string => {
  const back = (location.pathname + location.search).slice(base.length)
  return `${base}/sign-in/${name}?${new URLSearchParams({ return: back })}`
}

/** Finds out who is signed in. Fails only if the server does not answer. */
export async function findSession(): Promise<void> {
  const secret = takeSecret()
  if (secret !== undefined) {
    // If it is no longer valid, the sign-in form asks for one.
    await signIn(secret).catch(sessionEnded)
    return
  }
  if (half() === undefined) await requestHalfFromTabs()
  if (half() === undefined) return sessionEnded()
  currentUser.value = await requestJson<CurrentUser>('/ui/session')
  isSignedIn.value = true
}
