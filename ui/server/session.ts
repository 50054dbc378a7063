import { signal } from '@preact/signals'
import { ask, askJson } from './ask.ts'
import { askOtherTabs, endEverywhere, half, isSignedIn, keepHalf, sessionEnded } from './session-half.ts'

interface Who {
  user: string
  role: 'member' | 'admin'
  entities: string[]
  version: string
}

export const who = signal<Who | undefined>(undefined)

export async function signIn(key: string): Promise<void> {
  const { half: given, ...me } = await askJson<Who & { half: string }>('/ui/session', { body: { key } })
  who.value = me
  keepHalf(given)
}

export async function signOut(): Promise<void> {
  try {
    await ask('/ui/session', { method: 'DELETE' })
  } finally {
    who.value = undefined
    endEverywhere()
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
  if (half() === undefined) await askOtherTabs()
  if (half() === undefined) return sessionEnded()
  who.value = await askJson<Who>('/ui/session')
  isSignedIn.value = true
}
