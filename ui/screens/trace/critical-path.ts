import type { Branch, Span } from './tree.ts'

/**
 * Which calls a trace waited for, and when for each itself: from its end backwards always the one that ended last. Making
 * anything else faster would not have made the trace faster. Stretches closer than `near` milliseconds are one.
 */
export function criticalPath(roots: readonly Branch[], near: number): ReadonlyMap<Branch, readonly Span[]> {
  const found = new Map<Branch, Span[]>()
  const open: { branch: Branch; from: number; until: number }[] = []
  /** Goes back through calls beside one another; answers when somebody else was waited for. */
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
