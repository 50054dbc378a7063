import type { Branch, Span } from './tree.ts'

/** A gap in which nothing happens is shortened if it takes at least this share of the trace. */
const longGap = 0.2
/** The share that a shortened gap takes. */
const gapShare = 0.02

/** Maps times to positions: 0 is the start of the trace, 1 its end. */
export interface TimeScale {
  at(ms: number): number
  /** The time at such a position. */
  timeAt(share: number): number
  gaps: readonly Span[]
}

/** Without shortened gaps. */
export function evenScale({ start, end }: Span): TimeScale {
  const whole = Math.max(1, end - start)
  return { at: (ms) => (ms - start) / whole, timeAt: (share) => start + share * whole, gaps: [] }
}

/** Gaps take almost no room, so that what happens around them can be told apart. */
export function shortenedScale(span: Span, gaps: readonly Span[]): TimeScale {
  if (gaps.length === 0) return evenScale(span)
  const busy = span.end - span.start - gaps.reduce((sum, { start, end }) => sum + end - start, 0)
  const room = 1 - gaps.length * gapShare
  const edges: { ms: number; share: number }[] = [{ ms: span.start, share: 0 }]
  const reach = (ms: number, add: number) => edges.push({ ms, share: (edges.at(-1)?.share ?? 0) + add })
  let before = span.start
  for (const { start, end } of gaps) {
    reach(start, (room * (start - before)) / busy)
    reach(end, gapShare)
    before = end
  }
  reach(span.end, (room * (span.end - before)) / busy)
  const between = (by: 'ms' | 'share', to: 'ms' | 'share') => (value: number) => {
    const found = edges.findIndex((edge, index) => index > 0 && value <= edge[by])
    const [from, until] = [edges.at(found - 1), edges.at(found)] as [(typeof edges)[0], (typeof edges)[0]]
    const length = until[by] - from[by]
    return length === 0 ? until[to] : from[to] + ((value - from[by]) / length) * (until[to] - from[to])
  }
  return { at: between('ms', 'share'), timeAt: between('share', 'ms'), gaps }
}

/**
 * Long times in which nothing ran but the calls around everything: something outside was waited for. A call beside others
 * is drawn as long as it took, whatever ran below it.
 */
export function gapsIn(roots: readonly Branch[], { start, end }: Span): Span[] {
  const long = (end - start) * longGap
  if (long <= 0) return []
  const gaps: Span[] = []
  let reached = start
  for (const call of [
    ...roots.flatMap(withinOf).toSorted((a, b) => a.start - b.start),
    { start: end, end },
  ]) {
    if (call.start - reached >= long) gaps.push({ start: reached, end: call.start })
    reached = Math.max(reached, call.end)
  }
  return gaps
}

/** A root and an only call below it are around everything. */
function withinOf(root: Branch): readonly Branch[] {
  let around = root
  while (around.children.length === 1) around = around.children[0] as Branch
  return around.children.length === 0 ? [around] : around.children
}
