/** Splits a list into parts of this size; the last may be smaller. */
export function* batchesOf<T>(list: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size)
}

/** What is read for each batch, in one list. */
export async function readInBatches<T, Row>(
  list: readonly T[],
  size: number,
  read: (some: T[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (const some of batchesOf(list, size)) for (const row of await read(some)) rows.push(row)
  return rows
}
