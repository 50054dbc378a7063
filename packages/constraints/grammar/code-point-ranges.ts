/** Ranges of code points, ascending: the first and the last code point of each. */
type Ranges = readonly number[]

/** How many pieces a spread may split the given ranges into. */
const maxPieces = 64
const lastPoint = 0x10ffff

export function meets(ranges: Ranges, first: number, last: number): boolean {
  const at = firstMet(ranges, first)
  return at < ranges.length && (ranges[at] as number) <= last
}

export function meetsSome(ranges: Ranges, others: Ranges): boolean {
  for (let at = 0; at < others.length; at += 2) {
    if (meets(ranges, others[at] as number, others[at + 1] as number)) return true
  }
  return false
}

export function meetsOther(
  ranges: Ranges,
  first: number,
  last: number,
  isTaken: (point: number) => boolean,
): boolean {
  for (let at = firstMet(ranges, first); at < ranges.length; at += 2) {
    const end = Math.min(ranges[at + 1] as number, last)
    for (let point = Math.max(ranges[at] as number, first); point <= end; point++) {
      if (!isTaken(point)) return true
    }
  }
  return false
}

/** The index of the first range that does not end before this code point. */
function firstMet(ranges: Ranges, first: number): number {
  let low = 0
  let high = ranges.length >> 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ranges[2 * middle + 1] as number) < first) low = middle + 1
    else high = middle
  }
  return 2 * low
}

/** Whether the ranges have nothing but the white space of JSON. */
export function isWhiteSpace(ranges: Ranges): boolean {
  for (let at = 0; at < ranges.length; at += 2) {
    const first = ranges[at] as number
    const last = ranges[at + 1] as number
    if (!(first === last ? [9, 10, 13, 32].includes(first) : first === 9 && last === 10)) return false
  }
  return true
}

/**
 * Splits `ranges` into pieces within which the same rests continue, each rest given by its own ranges. Returns the first
 * code point of each piece; undefined if there are many.
 */
export function piecesOf(rests: readonly Ranges[], ranges: Ranges): Set<number> | undefined {
  const pieces = new Set<number>()
  for (let at = 0; at < ranges.length; at += 2) pieces.add(ranges[at] as number)
  for (const rest of rests) {
    for (let at = 0; at < ranges.length; at += 2) {
      const first = ranges[at] as number
      const last = ranges[at + 1] as number
      for (let own = firstMet(rest, first); own < rest.length; own += 2) {
        const [begin, end] = [rest[own] as number, rest[own + 1] as number]
        if (begin > last) break
        if (begin > first) pieces.add(begin)
        if (end < last) pieces.add(end + 1)
        if (pieces.size > maxPieces) return undefined
      }
    }
  }
  return pieces
}

/** The characters of all these ranges, without symbols, as ascending ranges that do not meet. */
export function united(all: readonly (readonly number[])[]): [first: number, last: number][] {
  const ranges = all.flatMap((each) =>
    Array.from({ length: each.length / 2 }, (_, at) => [each[2 * at], each[2 * at + 1]] as [number, number]),
  )
  const found: [first: number, last: number][] = []
  for (const [first, last] of ranges.sort(([a], [b]) => a - b)) {
    if (first > lastPoint) break
    const before = found.at(-1)
    if (before !== undefined && first <= before[1]) before[1] = Math.max(before[1], last)
    else found.push([first, last])
  }
  return found
}

/** Where the first of these ascending points is that is not smaller. */
export function placeOf(points: readonly number[], least: number): number {
  let low = 0
  let high = points.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((points[middle] as number) < least) low = middle + 1
    else high = middle
  }
  return low
}

/** The ranges from the first to the last code point without these, which are ascending. */
export function withoutPoints(points: readonly number[], first: number, last: number): number[] {
  const ranges: number[] = []
  let from = first
  for (const point of [...points, last + 1]) {
    if (point > from) ranges.push(from, point - 1)
    from = point + 1
  }
  return ranges
}
