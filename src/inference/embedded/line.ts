/** Who waits, in the order in which they are served: lower priority first, then who came first. */
export interface Line<Item> extends Iterable<Item> {
  readonly length: number
  add(item: Item): void
  remove(item: Item): void
}

export function createLine<Item extends { priority: number; arrival: number }>(): Line<Item> {
  const items: Item[] = []
  const isBefore = (one: Item, other: Item) =>
    one.priority === other.priority ? one.arrival <= other.arrival : one.priority < other.priority

  return {
    get length() {
      return items.length
    },
    add(item) {
      // Nearly always the last, so the place is looked for from behind.
      let place = items.length
      while (place > 0 && !isBefore(items[place - 1] as Item, item)) place--
      items.splice(place, 0, item)
    },
    remove(item) {
      const place = items.indexOf(item)
      if (place >= 0) items.splice(place, 1)
    },
    [Symbol.iterator]: () => items.slice()[Symbol.iterator](),
  }
}
