import type { CallRow } from '../../server/calls.ts'

/** A call in its place among those that called it. */
export interface Branch {
  row: CallRow
  depth: number
  children: Branch[]
}

/**
 * Who called whom. A call whose caller is not there is a root. Callers that go in a circle, which only a broken client writes,
 * are roots as well, so that every call has its place exactly once.
 */
export function treeOf(rows: readonly CallRow[]): Branch[] {
  const byId = new Map(rows.map((row): [string, Branch] => [row.id, { row, depth: 0, children: [] }]))
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

/** What is shown, from top to bottom: all but what lies below a closed call. */
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

/** From the first start to the last end, in milliseconds since 1970. */
export function spanOf(rows: readonly CallRow[], now: number): Span {
  let start = Infinity
  let end = -Infinity
  for (const { started_at, ended_at } of rows) {
    start = Math.min(start, Date.parse(started_at))
    end = Math.max(end, ended_at === null ? now : Date.parse(ended_at))
  }
  return rows.length === 0 ? { start: now, end: now } : { start, end: Math.max(end, start) }
}
