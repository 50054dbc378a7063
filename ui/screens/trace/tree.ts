import type { TraceCall } from '../../server/calls.ts'

/** A call in the tree of its trace. */
export interface Branch {
  row: TraceCall
  depth: number
  /** In milliseconds since 1970; a running call ends now. */
  start: number
  end: number
  children: Branch[]
  /** Calls below it. */
  within: number
  /** It succeeded, and a call below it failed. */
  isFailedBelow: boolean
  /** Of it and the calls below it; undefined where none is known. */
  tokens: Tokens | undefined
  cost: number | undefined
}

interface Tokens {
  input: number
  output: number
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
    const branch = { row, depth: 0, start, end: Math.max(start, end ?? now), children: [] }
    byId.set(row.id, { ...branch, within: 0, isFailedBelow: false, tokens: undefined, cost: undefined })
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
  // Each call comes after its caller.
  for (const branch of [...placed].reverse()) sumUp(branch)
  return roots
}

/**
 * Sums up what is below a call. Some clients include the usage of the calls below in that of their caller, so tokens and
 * cost of a call stand for all below it.
 */
function sumUp(branch: Branch): void {
  const { row, children } = branch
  const { input_tokens, output_tokens } = row
  const isFailed = children.some((child) => child.isFailedBelow || child.row.status === 'error')
  branch.isFailedBelow = row.status !== 'error' && (isFailed || row.status === 'descendant_error')
  for (const { within } of children) branch.within += within + 1
  branch.tokens =
    input_tokens === null && output_tokens === null
      ? tokensOfTrace(children)
      : { input: input_tokens ?? 0, output: output_tokens ?? 0 }
  branch.cost = row.cost ?? costOfTrace(children)
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

/** What these calls and all below them cost; undefined where no price is known. */
export function costOfTrace(roots: readonly Branch[]): number | undefined {
  const costs = roots.flatMap(({ cost }) => cost ?? [])
  return costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost)
}

export function tokensOfTrace(roots: readonly Branch[]): Tokens | undefined {
  const used = roots.flatMap(({ tokens }) => tokens ?? [])
  const sum = (of: keyof Tokens) => used.reduce((all, tokens) => all + tokens[of], 0)
  return used.length === 0 ? undefined : { input: sum('input'), output: sum('output') }
}
