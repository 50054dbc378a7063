/**
 * Where in a character the bytes of an answer have come to: how many more it needs, and between which values the next
 * one is (Unicode's table of well-formed byte sequences).
 */
export interface BytePlace {
  readonly needed: number
  readonly least: number
  readonly most: number
}

export const betweenCharacters: BytePlace = { needed: 0, least: 0, most: 0 }

/**
 * The place after these bytes, or undefined when no valid UTF-8 goes on so. The engine's grammars work on code points and
 * take overlong forms for them (E0 82 80 for U+0080), which are no text; whatever a constraint lets through has to be
 * held against this as well.
 */
export function followBytes(from: BytePlace, bytes: Uint8Array): BytePlace | undefined {
  let { needed, least, most } = from
  for (const byte of bytes) {
    if (needed > 0) {
      if (byte < least || byte > most) return undefined
      needed--
    } else if (byte >= 0x80) {
      if (byte < 0xc2 || byte > 0xf4) return undefined
      needed = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
      least = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80
      most = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf
      continue
    }
    least = 0x80
    most = 0xbf
  }
  return { needed, least, most }
}
