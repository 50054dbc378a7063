/** Bytes to text, piece by piece: no character is given before its last byte is there. */
export interface Utf8 {
  /** What is certain now. Bytes that can no longer become a character are U+FFFD, as the WHATWG decoder has it. */
  push(bytes: Uint8Array): string
  /** What is left, when nothing more comes. */
  flush(): string
}

const nothing = Buffer.alloc(0)

export function createUtf8(): Utf8 {
  let begun = nothing
  return {
    push(bytes) {
      if (bytes.length === 0) return ''
      const all = begun.length === 0 ? bufferOf(bytes) : Buffer.concat([begun, bytes])
      const whole = all.length - lengthBegun(all)
      begun = whole === all.length ? nothing : Buffer.from(all.subarray(whole))
      return all.toString('utf8', 0, whole)
    },
    flush() {
      const rest = begun.toString()
      begun = nothing
      return rest
    },
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** How many bytes at the end are the beginning of a character that may still be completed. */
export function lengthBegun(bytes: Uint8Array): number {
  for (let length = 1; length <= 3 && length <= bytes.length; length++) {
    const at = bytes.length - length
    const lead = bytes[at] ?? 0
    if (lead < 0x80) return 0
    if (lead < 0xc0) continue
    return lead <= 0xf4 && length < lengthOf(lead) && (length === 1 || canFollow(lead, bytes[at + 1] ?? 0))
      ? length
      : 0
  }
  return 0
}

function lengthOf(lead: number): number {
  if (lead < 0xc2) return 1
  if (lead < 0xe0) return 2
  return lead < 0xf0 ? 3 : 4
}

/** The second byte is where overlong forms, surrogates and what is beyond U+10FFFF are told apart (Unicode, table 3-7). */
function canFollow(lead: number, second: number): boolean {
  if (lead === 0xe0) return second >= 0xa0
  if (lead === 0xed) return second < 0xa0
  if (lead === 0xf0) return second >= 0x90
  if (lead === 0xf4) return second < 0x90
  return true
}
