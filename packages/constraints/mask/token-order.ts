import type { Vocabulary } from '../vocabulary.ts'

/** The tokens that a text can consist of, sorted by their bytes: those with a common beginning are neighbours. */
export interface TokenOrder {
  readonly tokens: Uint32Array
  /** How many bytes each has in common with the one before it. */
  readonly shared: Uint16Array
  /** The bytes of all of them, one after the other. */
  readonly bytes: Uint8Array
  /** Where each begins in the bytes; the last entry is where the last one ends. */
  readonly starts: Uint32Array
  /** All other tokens: those that no answer shows, and those without bytes. */
  readonly others: readonly number[]
}

const known = new WeakMap<Vocabulary, TokenOrder>()

/** Takes a moment for a large vocabulary; done once for each. */
export function orderTokens(vocabulary: Vocabulary): TokenOrder {
  const order = known.get(vocabulary) ?? ordered(vocabulary)
  known.set(vocabulary, order)
  return order
}

function ordered(vocabulary: Vocabulary): TokenOrder {
  const others: number[] = []
  const ends = new Set(vocabulary.ends)
  const all: { token: number; bytes: Uint8Array; key: string }[] = []
  for (let token = 0; token < vocabulary.size; token++) {
    const bytes = vocabulary.bytes(token)
    if (bytes.length > 0 && !vocabulary.isSpecial(token) && !ends.has(token)) {
      all.push({ token, bytes, key: Buffer.from(bytes).toString('latin1') })
    } else {
      others.push(token)
    }
  }
  // Strings with one byte per character compare as the bytes do, and several times as fast.
  all.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.token - b.token))
  const shared = new Uint16Array(all.length)
  for (let at = 1; at < all.length; at++) {
    shared[at] = commonLength(all[at - 1]?.bytes ?? none, all[at]?.bytes ?? none)
  }
  const starts = new Uint32Array(all.length + 1)
  for (const [at, { bytes }] of all.entries()) starts[at + 1] = (starts[at] ?? 0) + bytes.length
  return {
    tokens: Uint32Array.from(all, ({ token }) => token),
    shared,
    bytes: Buffer.concat(all.map(({ bytes }) => bytes)),
    starts,
    others,
  }
}

const none = new Uint8Array(0)

function commonLength(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length)
  let length = 0
  while (length < most && a[length] === b[length]) length++
  return length
}
