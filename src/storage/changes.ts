/** What a write has changed. */
export interface Change {
  project: string
  /** An `item` is one of a queue; a `trial` is one whose results were derived. */
  kind: 'call' | 'feedback' | 'item' | 'trial'
  /** Those of feedback are of the calls that it is about. Null where there are too many to be named. */
  ids: readonly string[] | null
  /** Of an item. */
  queue?: string
}

/** Hears of writes behind their commit. `unknown` are those of others, of which nothing is known but that there were some. */
export type Watcher = (changes: readonly Change[] | 'unknown') => void

/** Those who watch a record. `onWatched` hears when the first one comes and when the last one has left. */
export function createWatchers(onWatched: (isWatched: boolean) => void = () => {}) {
  const watchers = new Set<Watcher>()
  return {
    get isWatched(): boolean {
      return watchers.size > 0
    },
    /** Answers what ends it. */
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

const mostIds = 500
const mostGroups = 1_000

/** Changes that are told together: each project, kind and queue once. It has a bound, whatever is written. */
export function createPile() {
  type Group = Omit<Change, 'ids'> & { ids: Set<string> | null }
  const groups = new Map<string, Group>()
  let isUnknown = false

  function add({ project, kind, queue, ids }: Change): void {
    const key = `${kind} ${queue ?? ''} ${project}`
    let group = groups.get(key)
    if (group === undefined) {
      if (groups.size === mostGroups) {
        isUnknown = true
        return
      }
      group = { project, kind, ...(queue !== undefined && { queue }), ids: new Set() }
      groups.set(key, group)
    }
    if (ids === null || (group.ids?.size ?? mostIds) + ids.length > mostIds) group.ids = null
    else for (const id of ids) group.ids?.add(id)
  }

  return {
    add(changes: Parameters<Watcher>[0]): void {
      if (changes === 'unknown') isUnknown = true
      else for (const change of changes) add(change)
    },
    /** What was added since, which is gone from here then. */
    take(): readonly Change[] | 'unknown' {
      const taken = [...groups.values()].map(({ ids, ...group }) => ({ ...group, ids: ids && [...ids] }))
      groups.clear()
      if (!isUnknown) return taken
      isUnknown = false
      return 'unknown'
    },
  }
}
