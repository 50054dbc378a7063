/** Bounds of an LRU cache by its entries. With its own `max` it takes memory for all of them at once, 0.2 MB for 10,000. */
export const maxEntries = (count: number) => ({ maxSize: count, sizeCalculation: () => 1 })
