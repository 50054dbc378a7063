/** Splits a list into parts of this size; the last may be smaller. */
export function* batchesOf<T>(list: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size)
}
