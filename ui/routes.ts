import { computed, signal } from '@preact/signals'
import { placeOf } from './places.ts'

/** The address is the state: whatever a screen shows can be sent to somebody as a link. */
const address = signal(new URL(location.href))

export const place = computed(() => placeOf(address.value.pathname))
export const search = computed(() => address.value.searchParams)

interface Going {
  /** Going back skips the place that is left. */
  replaces?: boolean
}

export function go(to: string, { replaces = false }: Going = {}): void {
  const next = new URL(to, location.href)
  if (next.href === location.href) return
  history[replaces ? 'replaceState' : 'pushState'](null, '', next)
  address.value = next
}

/** Changes some of what stands behind the question mark; undefined takes a name away. */
export function setSearch(
  changes: Record<string, string | undefined>,
  going: Going = { replaces: true },
): void {
  const next = new URL(location.href)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.searchParams.delete(name)
    else next.searchParams.set(name, value)
  }
  go(next.href, going)
}

/** Links are links, so that they can be copied and opened in a new tab; a plain click stays on this page. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    address.value = new URL(location.href)
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = (event.target as Element | null)?.closest('a')
    if (link?.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return
    if (placeOf(link.pathname).screen === 'nowhere') return
    event.preventDefault()
    go(link.href)
  })
}
