import { signal } from '@preact/signals'

const name = 'heddle.half'

/** Session storage belongs to one origin, including its port, and one tab; the cookie of the session does not. */
export const half = (): string | undefined => sessionStorage.getItem(name) ?? undefined

/** Undefined while it is not known. */
export const isSignedIn = signal<boolean | undefined>(undefined)

const channel = new BroadcastChannel('heddle.session')

interface NewerSession {
  user: string
  half: string
}

/** Whoever has signed in as somebody else in another tab: the cookie, which all tabs send, is theirs, so this tab is refused. */
export const successor = signal<NewerSession | undefined>(undefined)

type TabMessage = { kind: 'who has it?' } | { kind: 'here'; half: string } | { kind: 'over' }

export function storeHalf(given: string): void {
  sessionStorage.setItem(name, given)
  isSignedIn.value = true
  successor.value = undefined
  hasExpired.value = false
}

/** Set while the sign-in form is shown to a user who was signed in and has not signed out. */
export const hasExpired = signal(false)

export function sessionEnded(): void {
  sessionStorage.removeItem(name)
  isSignedIn.value = false
}

/** The server no longer knows the session. */
export function sessionExpired(): void {
  // What is on the screen can still be read and copied.
  if (successor.value !== undefined) return
  hasExpired.value = half() !== undefined
  sessionEnded()
}

/** Tabs that were open before are signed out as well. */
export function endInAllTabs(): void {
  // The session of another user goes on in its tabs.
  if (successor.value === undefined) channel.postMessage({ kind: 'over' } satisfies TabMessage)
  sessionEnded()
}

channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
  const mine = half()
  if (data.kind === 'who has it?' && mine !== undefined && successor.value === undefined) {
    channel.postMessage({ kind: 'here', half: mine } satisfies TabMessage)
  } else if (data.kind === 'here' && mine === undefined) storeHalf(data.half)
  else if (data.kind === 'over') sessionEnded()
})

/** A tab that was just opened asks the others, which answer at once or not at all. */
export function requestHalfFromTabs(): Promise<void> {
  channel.postMessage({ kind: 'who has it?' } satisfies TabMessage)
  return new Promise((resolve) => setTimeout(resolve, 150))
}
