import type { CallFormat, Hole, Literal } from '../call-format.ts'
import type { ProbeCall } from './probe-calls.ts'

/** The texts around the holes of a turn with calls: `gaps[i]` is between calls i and i + 1. */
interface Skeleton {
  open: string
  mids: string[]
  gaps: string[]
  close: string
}

/** The position of a call in a turn: of its name, and of its arguments. */
interface Place {
  name: number
  start: number
  end: number
}

/** Undefined unless all calls are found in order. */
export function skeletonOf(
  text: string,
  calls: readonly ProbeCall[],
  argumentsAt: (text: string, call: ProbeCall, from: number) => { start: number; end: number } | undefined,
): Skeleton | undefined {
  const positions: Place[] = []
  for (const call of calls) {
    const name = text.indexOf(call.name, positions.at(-1)?.end ?? 0)
    if (name === -1) return undefined
    const found = argumentsAt(text, call, name + call.name.length)
    if (found === undefined) return undefined
    positions.push({ name, ...found })
  }
  const [first] = positions
  if (first === undefined) return undefined
  const nameEnds = positions.map(({ name }, index) => name + (calls[index]?.name.length ?? 0))
  return {
    open: text.slice(0, first.name),
    mids: positions.map(({ start }, index) => text.slice(nameEnds[index], start)),
    gaps: positions.slice(1).map(({ name }, index) => text.slice(positions[index]?.end, name)),
    close: text.slice(positions.at(-1)?.end),
  }
}

/** The literals of turns with one, two and three calls; undefined if they disagree. */
interface Literals {
  open: Literal
  mid: Literal
  gap?: Literal
  close: Literal
  counter?: { from: number }
}

interface Told {
  calls: readonly ProbeCall[]
  skeleton: Skeleton
}

/**
 * Comparing two turns shows what differs from call to call: ids, which are known, and numbers that grow by one.
 * `single` has one call; `many` has three and is absent if a turn has only one call.
 */
export function literalsOf(single: Told, many: Told | undefined): Literals | undefined {
  const counter = many && counterOf(many)
  const from = counter?.from
  const open = holed(single.skeleton.open, { next: single.calls[0], count: from })
  const mid = holed(single.skeleton.mids[0] ?? '', { last: single.calls[0], count: from })
  const close = holed(single.skeleton.close, { last: single.calls[0], count: undefined })
  if (many === undefined) return { open, mid, close }
  const { skeleton, calls } = many
  const gaps = skeleton.gaps.map((gap, index) =>
    holed(gap, {
      last: calls[index],
      next: calls[index + 1],
      count: from === undefined ? undefined : from + index + 1,
    }),
  )
  const mids = skeleton.mids.map((text, index) =>
    holed(text, { last: calls[index], count: from === undefined ? undefined : from + index }),
  )
  const agree =
    allSame(gaps) &&
    allSame([mid, ...mids]) &&
    allSame([open, holed(skeleton.open, { next: calls[0], count: from })]) &&
    allSame([close, holed(skeleton.close, { last: calls.at(-1), count: undefined })])
  const [gap] = gaps
  if (!agree || gap === undefined) return undefined
  return { open, mid, gap, close, ...(from !== undefined && { counter: { from } }) }
}

const allSame = (literals: readonly Literal[]) =>
  new Set(literals.map((literal) => JSON.stringify(literal))).size === 1

/** The number in the gaps or mids that grows by one with each call. */
function counterOf({ skeleton: { gaps, mids } }: Told): { from: number } | undefined {
  const first = (texts: readonly string[]) => {
    const [a, b] = texts.map((text) => text.match(/\d+/g)?.map(Number) ?? [])
    const at = a?.findIndex((number, index) => b?.[index] === number + 1) ?? -1
    return at === -1 ? undefined : a?.[at]
  }
  const inMid = first(mids)
  if (inMid !== undefined) return { from: inMid }
  const inGap = first(gaps)
  return inGap === undefined ? undefined : { from: inGap - 1 }
}

interface Known {
  last?: ProbeCall | undefined
  next?: ProbeCall | undefined
  count: number | undefined
}

/** The literal with holes for ids and the counter. In a gap the counter is that of the next call. */
function holed(text: string, { last, next, count }: Known): Literal {
  const isGap = last !== undefined && next !== undefined
  const ofNext = isGap ? { of: 'next' as const } : {}
  const holes: [string | undefined, Hole][] = [
    [last?.id, { hole: 'id' }],
    [next?.id, { hole: 'id', ...ofNext }],
  ]
  let pieces: Literal = [text]
  for (const [needle, hole] of holes) {
    if (needle !== undefined)
      pieces = pieces.flatMap((piece) => split(piece, (text) => text.split(needle), hole))
  }
  if (count === undefined) return pieces.filter((piece) => piece !== '')
  const number = new RegExp(`(?<!\\d)${count}(?!\\d)`)
  return pieces
    .flatMap((piece) => split(piece, (text) => text.split(number), { hole: 'counter', ...ofNext }))
    .filter((piece) => piece !== '')
}

function split(piece: string | Hole, cut: (text: string) => string[], hole: Hole): (string | Hole)[] {
  if (typeof piece !== 'string') return [piece]
  return cut(piece).flatMap((text, index) => (index === 0 ? [text] : [hole, text]))
}

/** White space around the calls of a turn is ignored. */
export function callFormat(literals: Literals, form: CallFormat['arguments']): CallFormat {
  const { counter, gap, mid } = literals
  const open = trimmed(literals.open, 'start')
  const close = trimmed(literals.close, 'end')
  const [first = ''] = open
  return {
    open,
    mid,
    arguments: form,
    ...(gap && { gap }),
    close,
    ...(counter && { counter: { ...counter, over: 'turn' } }),
    ids: 'any',
    // An answer may contain plain JSON that is not a call.
    isAnchored: open.length === 0 || (typeof first === 'string' && /^(\[\s*)?\{\s*"/.test(first)),
  }
}

function trimmed(literal: Literal, side: 'start' | 'end'): Literal {
  const at = side === 'start' ? 0 : literal.length - 1
  return literal
    .map((piece, index) =>
      typeof piece === 'string' && index === at
        ? side === 'start'
          ? piece.trimStart()
          : piece.trimEnd()
        : piece,
    )
    .filter((piece) => piece !== '')
}
