/** What a write has changed. */
export interface Change {
  project: string
  /** `item` is an item of a queue; `trial` is a trial whose results were derived. */
  kind: 'call' | 'feedback' | 'item' | 'trial'
  /** For feedback, the calls that it is about. Null if there are too many to list. */
  ids: readonly string[] | null
  /** The queue of an item. */
  queue?: string
}

/** Called after each commit. `unknown` stands for writes by others: something has changed, but not what. */
export type Watcher = (changes: readonly Change[] | 'unknown') => void

/** The watchers of a record. `onWatched` is called when the first one is added and when the last one leaves. */
export function createWatchers(onWatched: (isWatched: boolean) => void = () => {}) {
  const watchers = new Set<Watcher>()
  return {
    get isWatched(): boolean {
      return watchers.size > 0
    },
    /** Returns a function that ends the watch. */
    watch(watcher: Watcher): () => void {
      watchers.add(watcher)
      if (watchers.size === 1) onWatched(true)
      return () => {
        if (watchers.delete(watcher) && watchers.size === 0) onWatched(false)
      }
    },
    tell: ((changes) => {
      for (const watcher of watchers) watcher(changes)
    }) satisfies Watcher,
  }
}

const maxIds = 500
const maxGroups = 1_000

/**
 * Collects changes to report together, merged by project, kind and queue. Its size is bounded, however much is written.
 */
export function createChangeCollector() {
  type Group = Omit<Change, 'ids'> & { ids: Set<string> | null }
  const groups = new Map<string, Group>()
  let isUnknown = false

  function add({ project, kind, queue, ids }: Change): void {
    const key = `${kind} ${queue ?? ''} ${project}`
    let group = groups.get(key)
    if (group === undefined) {
      if (groups.size === maxGroups) {
        isUnknown = true
        return
      }
      group = { project, kind, ...(queue !== undefined && { queue }), ids: new Set() }
      groups.set(key, group)
    }
    if (ids === null || (group.ids?.size ?? maxIds) + ids.length > maxIds) group.ids = null
    else for (const id of ids) group.ids?.add(id)
  }

  return {
    add(changes: Parameters<Watcher>[0]): void {
      if (changes === 'unknown') isUnknown = true
      else for (const change of changes) add(change)
    },
    /** Returns what was added since the last call, and clears it. */
    take(): readonly Change[] | 'unknown' {
      const taken = [...groups.values()].map(({ ids, ...group }) => ({ ...group, ids: ids && [...ids] }))
      groups.clear()
      if (!isUnknown) return taken
      isUnknown = false
      return 'unknown'
    },
  }
}
