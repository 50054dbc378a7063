import type { TraceCall } from '../../server/calls.ts'

/** A call in the tree of its trace. */
export interface Branch {
  row: TraceCall
  depth: number
  /** In milliseconds since 1970; a running call ends now. */
  start: number
  end: number
  children: Branch[]
}

/**
 * Builds the tree of callers. A call whose parent is missing is a root. So is one call of each cycle of parents, which only a
 * broken client writes, so that every call occurs exactly once.
 */
export function treeOf(rows: readonly TraceCall[], now: number): Branch[] {
  const byId = new Map<string, Branch>()
  for (const row of rows) {
    const { start, end } = row
    // Clocks differ: no call ends before it began.
    byId.set(row.id, { row, depth: 0, start, end: Math.max(start, end ?? now), children: [] })
  }
  const roots: Branch[] = []
  for (const branch of byId.values()) {
    const caller = branch.row.parent_id === null ? undefined : byId.get(branch.row.parent_id)
    if (caller === undefined || caller === branch) roots.push(branch)
    else caller.children.push(branch)
  }
  const placed = new Set<Branch>()
  place(roots, placed)
  for (const branch of byId.values()) {
    if (placed.has(branch)) continue
    roots.push(branch)
    place([branch], placed)
  }
  return roots
}

function place(roots: readonly Branch[], placed: Set<Branch>): void {
  const open = roots.map((branch) => ({ branch, depth: 0 }))
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { branch, depth } = next
    placed.add(branch)
    branch.depth = depth
    branch.children = branch.children.filter((child) => !placed.has(child))
    for (const child of branch.children) open.push({ branch: child, depth: depth + 1 })
  }
}

/** The visible calls from top to bottom: all but those below a closed call. */
export function linesOf(roots: readonly Branch[], closed: ReadonlySet<string>): Branch[] {
  const lines: Branch[] = []
  const open = roots.toReversed()
  for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
    lines.push(branch)
    if (closed.has(branch.row.id)) continue
    for (let index = branch.children.length - 1; index >= 0; index--)
      open.push(branch.children[index] as Branch)
  }
  return lines
}

export interface Span {
  start: number
  end: number
}

/** From the first start to the last end. */
export function spanOf(lines: readonly Branch[]): Span {
  let [start, end] = [Infinity, -Infinity]
  for (const branch of lines) {
    start = Math.min(start, branch.start)
    end = Math.max(end, branch.end)
  }
  return lines.length === 0 ? { start: 0, end: 0 } : { start, end }
}

/**
 * The cost of a trace. Some clients include the usage of child calls in that of the parent, so nothing below a call with a
 * cost is added. `lines` are all calls. Undefined where no price is known.
 */
export function costOfTrace(lines: readonly Branch[]): number | undefined {
  let sum: number | undefined
  let below = Infinity
  for (const { row, depth } of lines) {
    if (depth > below) continue
    below = Infinity
    if (row.cost === null) continue
    sum = (sum ?? 0) + row.cost
    below = depth
  }
  return sum
}
