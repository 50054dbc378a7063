/**
 * Items that wait for a slot, in the order in which they are served: lower priority first, then one of each tenant in
 * turn, so that a tenant with many items waits behind one with a single item, then first come first served.
 */
export function createSlotQueue<Item extends { priority: number; tenant: string }>() {
  const items: Item[] = []
  const rounds = new Map<Item, number>()
  const roundOf = (item: Item) => rounds.get(item) ?? 0
  const isBefore = (one: Item, other: Item) =>
    one.priority === other.priority ? roundOf(one) <= roundOf(other) : one.priority < other.priority

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
