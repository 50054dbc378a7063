import type { Following, Position } from '../grammar/following.ts'
import { afterBytes, type BytePosition } from './byte-following.ts'
import type { TokenOrder } from './token-order.ts'

/**
 * Tells the tokens that the grammar goes on with, until `take` says that it has enough. What begins as something did that is
 * not allowed is passed over.
 */
export function eachAllowed(
  following: Following,
  from: BytePosition,
  { tokens, shared, bytes, starts }: TokenOrder,
  take: (token: number) => boolean,
): void {
  /** Where the bytes of the last token led, so many of them as its index. */
  const positions: Position[] = [from.position]
  const begun: BytePosition['begun'][] = [from.begun]
  let known = 1
  for (let at = 0; at < tokens.length; at++) {
    const common = shared[at] as number
    // As many bytes as the last one could not say lead nowhere here either.
    if (common >= known) continue
    known = common + 1
    const end = starts[at + 1] as number
    let next = (starts[at] as number) + common
    for (; next < end; next++) {
      const position = positions[known - 1] as Position
      const open = begun[known - 1]
      const byte = bytes[next] as number
      if (open === undefined && byte < 0x80) {
        const after = following.after(position, byte)
        if (after === undefined) break
        positions[known] = after
        begun[known++] = undefined
      } else {
        const after = afterBytes(following, { position, begun: open }, bytes.subarray(next, next + 1))
        if (after === undefined) break
        positions[known] = after.position
        begun[known++] = after.begun
      }
    }
    if (next === end && !take(tokens[at] as number)) return
  }
}
