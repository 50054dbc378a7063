import type { Branch, Span } from './tree.ts'

/**
 * The calls that a trace waited for, and when it waited for each of them itself: going back from the end, always the call that
 * ended last. Making any other call faster would not have made the trace faster. Stretches closer than `near` milliseconds
 * are merged.
 */
export function criticalPath(roots: readonly Branch[], near: number): ReadonlyMap<Branch, readonly Span[]> {
  const found = new Map<Branch, Span[]>()
  const open: { branch: Branch; from: number; until: number }[] = []
  /** Walks back through calls with the same parent; `hear` gets the times in which the parent waited for none of them. */
  const back = (branches: readonly Branch[], from: number, until: number, hear: (free: Span) => void) => {
    let at = until
    const ends = (branch: Branch) => Math.min(branch.end, until)
    for (const branch of branches.toSorted((one, other) => ends(other) - ends(one))) {
      const [start, end] = [Math.max(branch.start, from), ends(branch)]
      if (end > at || start >= end) continue
      if (end < at) hear({ start: end, end: at })
      open.push({ branch, from: start, until: end })
      at = start
    }
    if (from < at) hear({ start: from, end: at })
  }
  const last = roots.reduce((most, { end }) => Math.max(most, end), -Infinity)
  back(roots, -Infinity, last, () => undefined)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { branch, from, until } = next
    const own: Span[] = []
    back(branch.children, from, until, (free) => {
      const before = own.at(-1)
      if (before !== undefined && before.start - free.end < near) before.start = free.start
      else own.push(free)
    })
    found.set(branch, own)
  }
  return found
}
