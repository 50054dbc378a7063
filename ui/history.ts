/** Which place of the history this is; places in front of it have higher numbers. */
const entry = (): number => (history.state as { entry?: number } | null)?.entry ?? 0

/** What screens remember of themselves at each place, for whoever comes back. */
const kept = new Map<number, unknown>()

export function enter(href: string, replaces: boolean): void {
  if (replaces) {
    history.replaceState(history.state, '', href)
    return
  }
  const next = entry() + 1
  // Who goes on from here leaves what lay in front behind.
  for (const number of kept.keys()) if (number >= next) kept.delete(number)
  history.pushState({ entry: next }, '', href)
}

/** What was kept at this place before, undefined where nobody has been, and how something is kept, also on the way out. */
export function keptHere<T>(): { left: T | undefined; keep(what: T): void } {
  const at = entry()
  return { left: kept.get(at) as T | undefined, keep: (what) => kept.set(at, what) }
}
