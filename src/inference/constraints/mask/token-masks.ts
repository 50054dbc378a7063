import { LRUCache } from 'lru-cache'
import type { TokenMask } from '../../sampling/logits.ts'

/** Most places of a grammar allow one of a few sets of tokens. */
const mostKept = 64

/** Names masks apart, whoever made them. */
let ids = 0

/** Makes masks, so that equal ones among the last are one: what was prepared for one is there for the other. */
export function createMasks(
  vocabulary: number,
): (tokens: (put: (token: number) => void) => void) => TokenMask {
  const cache = new LRUCache<number, TokenMask>({ max: mostKept })
  const words = Math.ceil(vocabulary / 32)
  return (fill) => {
    const bits = new Uint32Array(words)
    let count = 0
    fill((token) => {
      bits[token >>> 5] = (bits[token >>> 5] ?? 0) | (1 << (token & 31))
      count++
    })
    const hash = hashOf(bits)
    const known = cache.get(hash)
    if (known?.bits.every((word, at) => word === bits[at])) return known
    const mask: TokenMask = { id: ids++, bits, count }
    cache.set(hash, mask)
    return mask
  }
}

/** FNV-1a, word by word. */
function hashOf(bits: Uint32Array): number {
  let hash = 0x811c9dc5
  for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193) ^ (hash >>> 15)
  return hash
}
