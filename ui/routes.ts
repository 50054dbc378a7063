import { computed, signal } from '@preact/signals'

/** Where the page is. The address is the state: whatever a screen shows can be sent to somebody as a link. */
export type Place =
  | { screen: 'projects' }
  | { screen: 'calls'; project: string }
  | { screen: 'trace'; project: string; trace: string }
  | { screen: 'call'; project: string; call: string }
  | { screen: 'nowhere'; path: string }

type Names = Record<string, string>

/** The links that the clients of Weave print have no /ui in front. */
const table: [pattern: string, place: (names: Names) => Place][] = [
  ['/', () => ({ screen: 'projects' })],
  ['/ui', () => ({ screen: 'projects' })],
  ['/ui/:entity/:name', (names) => ({ screen: 'calls', project: projectIn(names) })],
  ['/ui/:entity/:name/calls', (names) => ({ screen: 'calls', project: projectIn(names) })],
  [
    '/ui/:entity/:name/trace/:trace',
    (names) => ({ screen: 'trace', project: projectIn(names), trace: names.trace ?? '' }),
  ],
  ['/ui/:entity/:name/call/:call', (names) => callIn(names)],
  ['/:entity/:name/r/call/:call', (names) => callIn(names)],
  ['/:entity/:name/weave/calls/:call', (names) => callIn(names)],
  ['/:entity/:name/weave', (names) => ({ screen: 'calls', project: projectIn(names) })],
  ['/:entity/:name/weave/calls', (names) => ({ screen: 'calls', project: projectIn(names) })],
  ['/:entity/:name/weave/traces', (names) => ({ screen: 'calls', project: projectIn(names) })],
]

const projectIn = ({ entity, name }: Names) => `${entity}/${name}`
const callIn = (names: Names): Place => ({
  screen: 'call',
  project: projectIn(names),
  call: names.call ?? '',
})

export function placeOf(path: string): Place {
  const parts = path.split('/').filter(Boolean)
  for (const [pattern, place] of table) {
    const names = match(pattern.split('/').filter(Boolean), parts)
    if (names !== undefined) return place(names)
  }
  return { screen: 'nowhere', path }
}

function match(pattern: readonly string[], parts: readonly string[]): Names | undefined {
  if (pattern.length !== parts.length) return undefined
  const names: Names = {}
  for (const [index, one] of pattern.entries()) {
    const part = parts[index] as string
    if (!one.startsWith(':')) {
      if (one !== part) return undefined
      continue
    }
    try {
      names[one.slice(1)] = decodeURIComponent(part)
    } catch {
      // A percent sign of its own is no address of ours.
      return undefined
    }
  }
  return names
}

const segment = (text: string) => encodeURIComponent(text)
const projectPath = (project: string) => `/ui/${project.split('/').map(segment).join('/')}`

export const paths = {
  projects: '/ui/',
  calls: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/calls${searchText(search)}`,
  trace: (project: string, trace: string, call?: string) =>
    `${projectPath(project)}/trace/${segment(trace)}${searchText(call === undefined ? {} : { call })}`,
  call: (project: string, call: string) => `${projectPath(project)}/call/${segment(call)}`,
}

function searchText(search: Record<string, string>): string {
  const text = new URLSearchParams(search).toString()
  return text === '' ? '' : `?${text}`
}

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
