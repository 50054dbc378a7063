import type { Position } from '../grammar/matcher.ts'

/** A position in a text of bytes: tokens can end in the middle of a character. */
export interface BytePosition<At = Position> {
  readonly position: At
  /** The character that has begun; undefined between characters. */
  readonly begun: Begun | undefined
}

/** Follows characters: a grammar, or one that remembers what was written. */
export interface MatcherOf<At> {
  after(position: At, point: number): At | undefined
  canBegin(position: At, first: number, last: number): boolean
}

interface Begun {
  readonly value: number
  /** How many bytes are missing. */
  readonly left: number
  /** The smallest code point that takes this many bytes; a smaller one would be an overlong form. */
  readonly least: number
  /** The same with one more byte, by its last six bits; made when needed. */
  readonly further: (Begun | null | undefined)[]
}

/**
 * Where the bytes lead; undefined if they are not UTF-8, or if the grammar does not allow them. It is as strict as the
 * decoder that produces the text of the answer; otherwise the grammar would hold for a different text than the one that
 * is sent.
 */
export function afterBytes<At>(
  matcher: MatcherOf<At>,
  from: BytePosition<At>,
  bytes: Uint8Array,
): BytePosition<At> | undefined {
  let { position, begun } = from
  for (const byte of bytes) {
    let point = byte
    if (begun !== undefined || byte >= 0x80) {
      begun = withByte(begun, byte)
      if (begun === undefined) return undefined
      if (begun.left > 0) continue
      point = begun.value
      begun = undefined
    }
    const next = matcher.after(position, point)
    if (next === undefined) return undefined
    position = next
  }
  if (begun !== undefined && !canBeCompleted(matcher, position, begun)) return undefined
  return { position, begun }
}

const beginnings = Array.from({ length: 256 }, (_, byte) => beginning(byte))

function beginning(byte: number): Begun | undefined {
  if (byte < 0xc2 || byte > 0xf4) return undefined
  if (byte < 0xe0) return { value: byte & 0x1f, left: 1, least: 0x80, further: [] }
  if (byte < 0xf0) return { value: byte & 0x0f, left: 2, least: 0x800, further: [] }
  return { value: byte & 0x07, left: 3, least: 0x10000, further: [] }
}

/** Undefined if the bytes are not UTF-8. With no bytes missing it is a whole character. */
export function withByte(begun: Begun | undefined, byte: number): Begun | undefined {
  if (begun === undefined) return beginnings[byte]
  if (byte >> 6 !== 2) return undefined
  if (begun.left === 1) return continued(begun, byte)
  const bits = byte & 0x3f
  let next = begun.further[bits]
  if (next === undefined) {
    next = continued(begun, byte) ?? null
    begun.further[bits] = next
  }
  return next ?? undefined
}

function continued({ value, left, least }: Begun, byte: number): Begun | undefined {
  const begun: Begun = { value: (value << 6) | (byte & 0x3f), left: left - 1, least, further: [] }
  const [first, last] = rangeOf(begun)
  return first <= last && !(first >= 0xd800 && last <= 0xdfff) ? begun : undefined
}

/** The code points that it can become. */
function rangeOf({ value, left, least }: Begun): [first: number, last: number] {
  const bits = 6 * left
  const first = value << bits
  return [Math.max(first, least), Math.min(first | ((1 << bits) - 1), 0x10ffff)]
}

export function canBeCompleted<At>(matcher: MatcherOf<At>, position: At, begun: Begun): boolean {
  const [first, last] = rangeOf(begun)
  return matcher.canBegin(position, first, last)
}
