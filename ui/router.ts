import { computed, signal } from '@preact/signals'
import { contents } from './export/contents.ts'
import { enter } from './history.ts'
import { routeOf } from './routes.ts'

/** In an exported file the path follows the #, since a file has no paths of its own. */
const here = (): URL =>
  contents === undefined
    ? new URL(location.href)
    : new URL(location.hash.slice(1) || contents.path, 'file:///')

const hrefOf = (url: URL): string => (contents === undefined ? url.href : `#${url.pathname}${url.search}`)

/** The address is the state: whatever a screen shows can be shared as a link. */
const address = signal(here())

export const route = computed(() => routeOf(address.value.pathname))
export const search = computed(() => address.value.searchParams)

interface NavigationOptions {
  /** The current entry of the history is replaced, so that going back skips it. */
  replaces?: boolean
}

/** Set while the user is asked whether to leave and lose something. */
export const leaveQuestion = signal<{ loss: string; leave(): void } | undefined>(undefined)

let lossOf: (() => string | undefined) | undefined

/** `loss` says what leaving would lose; undefined where nothing. Returns a function that ends the guard. */
export function guardLeaving(loss: () => string | undefined): () => void {
  lossOf = loss
  const onUnload = (event: BeforeUnloadEvent) => {
    if (loss() !== undefined) event.preventDefault()
  }
  addEventListener('beforeunload', onUnload)
  return () => {
    if (lossOf === loss) lossOf = undefined
    removeEventListener('beforeunload', onUnload)
  }
}

/** Whether the user has to be asked before leaving. */
function isHeld(to: URL): boolean {
  const loss = to.pathname === address.value.pathname ? undefined : lossOf?.()
  if (loss === undefined) return false
  const leave = () => {
    lossOf = undefined
    navigate(to.href)
  }
  leaveQuestion.value = { loss, leave }
  return true
}

export function navigate(to: string, { replaces = false }: NavigationOptions = {}): void {
  const next = new URL(to, here())
  if (next.href === here().href || isHeld(next)) return
  enter(hrefOf(next), replaces)
  address.value = next
}

/** Changes parameters of the query string; undefined removes one. */
export function setSearch(
  changes: Record<string, string | undefined>,
  going: NavigationOptions = { replaces: true },
): void {
  const next = here()
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.searchParams.delete(name)
    else next.searchParams.set(name, value)
  }
  navigate(next.href, going)
}

/** Links are real links, which can be copied and opened in a new tab; a plain click stays on this page. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    const to = here()
    // The browser has already changed the address.
    if (isHeld(to)) enter(hrefOf(address.value), false)
    else address.value = to
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = (event.target as Element | null)?.closest('a')
    if (link?.target !== '' || link.hasAttribute('download')) return
    const to = new URL(link.getAttribute('href') ?? '', here())
    if (to.origin !== here().origin || routeOf(to.pathname).screen === 'nowhere') return
    event.preventDefault()
    navigate(to.href)
  })
}
