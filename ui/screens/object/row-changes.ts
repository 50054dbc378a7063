/** What became of one row from one table to another. */
export type RowChange<Row> =
  | { kind: 'added'; after: Row }
  | { kind: 'removed'; before: Row }
  | { kind: 'changed'; before: Row; after: Row }

/**
 * Rows that are the same have the same digest. What lies between two of these is paired in its order: a row that was edited is
 * one change, and not one row less and another more.
 */
export function rowChanges<Row extends { digest: string }>(
  before: readonly Row[],
  after: readonly Row[],
): RowChange<Row>[] {
  const changes: RowChange<Row>[] = []
  let [from, to] = [0, 0]
  for (const [nextFrom, nextTo] of [...anchors(before, after), [before.length, after.length] as const]) {
    gap(changes, before.slice(from, nextFrom), after.slice(to, nextTo))
    from = nextFrom + 1
    to = nextTo + 1
  }
  return changes
}

function gap<Row extends { digest: string }>(
  changes: RowChange<Row>[],
  before: readonly Row[],
  after: readonly Row[],
): void {
  for (let index = 0; index < Math.max(before.length, after.length); index++) {
    const [old, fresh] = [before[index], after[index]]
    if (old === undefined) changes.push({ kind: 'added', after: fresh as Row })
    else if (fresh === undefined) changes.push({ kind: 'removed', before: old })
    else if (old.digest !== fresh.digest) changes.push({ kind: 'changed', before: old, after: fresh })
  }
}

/** Places of rows that are once in both and stand in the same order: the longest rising run of their places. */
function anchors(
  before: readonly { digest: string }[],
  after: readonly { digest: string }[],
): (readonly [from: number, to: number])[] {
  const places = onceIn(after)
  const pairs: (readonly [number, number])[] = []
  for (const [digest, from] of onceIn(before)) {
    const to = places.get(digest)
    if (to !== undefined) pairs.push([from, to])
  }
  // Of each length the run whose last place is the lowest (patience sorting).
  const ends: number[] = []
  const previous: number[] = []
  for (const [index, [, to]] of pairs.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((pairs[ends[middle] as number]?.[1] ?? 0) < to) low = middle + 1
      else high = middle
    }
    previous[index] = low === 0 ? -1 : (ends[low - 1] as number)
    ends[low] = index
  }
  const run: (readonly [number, number])[] = []
  for (let index = ends.at(-1) ?? -1; index !== -1; index = previous[index] as number) {
    run.push(pairs[index] as readonly [number, number])
  }
  return run.reverse()
}

/** Where each digest is that is there once. */
function onceIn(rows: readonly { digest: string }[]): Map<string, number> {
  const places = new Map<string, number>()
  const twice = new Set<string>()
  for (const [index, { digest }] of rows.entries()) {
    if (places.has(digest)) twice.add(digest)
    else places.set(digest, index)
  }
  for (const digest of twice) places.delete(digest)
  return places
}
