/** Ranges of code points, ascending: the first and the last code point of each. */
type Ranges = readonly number[]

/** How many pieces a spread may split the given ranges into. */
const maxPieces = 64

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
