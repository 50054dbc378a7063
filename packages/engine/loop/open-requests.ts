import type { Answering, Request } from './request.ts'

export type OpenRequests = ReturnType<typeof createOpenRequests>

/** The unfinished requests, and where their answers are: in a queue, or running on a sequence. */
export function createOpenRequests() {
  const requests = new Map<number, Request>()
  const running = new Set<Answering>()
  const queue = createSlotQueue<Answering>()
  /** Background work without a sequence, or that has lost its own. */
  const behind = createSlotQueue<Answering>()
  const queueOf = ({ isBackground }: Answering) => (isBackground ? behind : queue)

  return {
    running,
    queue,
    behind,
    queueOf,
    get size() {
      return requests.size
    },
    get: (id: number) => requests.get(id),
    add(request: Request): void {
      requests.set(request.id, request)
    },
    /** Drops a request whose answers are no longer wanted. Those that run are released between two batches. */
    drop(request: Request): void {
      requests.delete(request.id)
      for (const answering of request.unfinished) queueOf(answering).remove(answering)
    },
    isGone: ({ request }: Pick<Answering, 'request'>) => !requests.has(request.id),
    runningOf: (isBackground: boolean): Answering[] =>
      Array.from(running).filter((answering) => answering.isBackground === isBackground),
    finished(answering: Answering): void {
      const { unfinished, id } = answering.request
      unfinished.delete(answering)
      if (unfinished.size === 0) requests.delete(id)
    },
    /** Requests of callers only. */
    counts(): { running: number; waiting: number } {
      const asked = Array.from(requests.values()).filter(({ generation }) => generation.lane === undefined)
      const waiting = asked.reduce((count, { hasBegun }) => count + (hasBegun ? 0 : 1), 0)
      return { running: asked.length - waiting, waiting }
    },
  }
}

/**
 * Items that wait for a slot, in the order in which they are served: lower priority first, then one of each tenant in
 * turn, so that a tenant with many items waits behind one with a single item, then first come first served.
 */
export function createSlotQueue<Item extends { priority: number; tenant: string }>() {
  const items: Item[] = []
  const rounds = new Map<Item, number>()
  const roundOf = (item: Item) => rounds.get(item) ?? 0
  const isBefore = (a: Item, b: Item) =>
    a.priority === b.priority ? roundOf(a) <= roundOf(b) : a.priority < b.priority

  /**
   * The round after the tenant's own last item; a tenant without items in the queue joins the round that is being
   * served.
   */
  function nextRound({ priority, tenant }: Item): number {
    const own = items.findLast((other) => other.tenant === tenant && other.priority === priority)
    if (own !== undefined) return roundOf(own) + 1
    const first = items.find((other) => other.priority === priority)
    return first === undefined ? 0 : roundOf(first)
  }

  return {
    get length() {
      return items.length
    },
    add(item: Item): void {
      rounds.set(item, nextRound(item))
      // Nearly always the last, so the search starts at the end.
      let position = items.length
      while (position > 0 && !isBefore(items[position - 1] as Item, item)) position--
      items.splice(position, 0, item)
    },
    remove(item: Item): void {
      if (!rounds.delete(item)) return
      items.splice(items.indexOf(item), 1)
    },
    [Symbol.iterator]: () => items.slice()[Symbol.iterator](),
  }
}
