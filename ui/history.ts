import { storageIn } from './browser-storage.ts'

/** Number of the current entry in the history; later entries have higher numbers. */
const entry = (): number => (history.state as { entry?: number } | null)?.entry ?? 0

const storageName = 'heddle.entries'
const storage = storageIn(() => sessionStorage)

/** What screens have stored for each entry, for a user who comes back to it. */
const kept = new Map<number, unknown>(
  JSON.parse(storage?.getItem(storageName) ?? '[]') as [number, unknown][],
)

/** Positions of lists outlast a reload and a visit elsewhere; answers of the playground are too large. */
addEventListener('pagehide', () => {
  const positions = [...kept].filter(([, state]) => typeof (state as { top?: unknown }).top === 'number')
  storage?.setItem(storageName, JSON.stringify(positions))
})

export function enter(href: string, replaces: boolean): void {
  if (replaces) {
    history.replaceState(history.state, '', href)
    return
  }
  const next = entry() + 1
  // Following a link drops the entries that "forward" led to.
  for (const number of kept.keys()) if (number >= next) kept.delete(number)
  history.pushState({ entry: next }, '', href)
}

/** What was stored for the current entry (undefined on a first visit), and a function that stores something for it. */
export function entryState<T>(): { left: T | undefined; keep(what: T): void } {
  const at = entry()
  return { left: kept.get(at) as T | undefined, keep: (what) => kept.set(at, what) }
}
