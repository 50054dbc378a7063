/** How one row differs between two tables. */
export type RowChange<Row> =
  | { kind: 'added'; after: Row }
  | { kind: 'removed'; before: Row }
  | { kind: 'changed'; before: Row; after: Row }

/**
 * Equal rows have equal digests. Rows between two equal ones are paired in order, so that an edited row counts as one change
 * and not as one row removed and another added.
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

/** Positions of rows that occur once in both tables and in the same order: the longest increasing subsequence. */
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
  // For each length, the subsequence whose last position is lowest (patience sorting).
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

/** Position of each digest that occurs exactly once. */
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
