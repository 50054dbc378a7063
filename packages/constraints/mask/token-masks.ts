import { LRUCache } from 'lru-cache'
import type { TokenMask } from '../token-rule.ts'

/**
 * Masks of one vocabulary. While a mask is cached, equal ones are the same object, so that what was prepared for it is
 * reused.
 */
export interface Masks {
  of(fill: (put: (token: number) => void, bits: Uint32Array) => void): TokenMask
  /** Undefined if it is no longer cached. */
  get(id: number): TokenMask | undefined
}

/** Most positions of a grammar allow one of a few sets of tokens. */
const maxBytes = 16 * 1024 * 1024
const fewest = 64
const most = 1024

/** Ids are unique across all vocabularies. */
let ids = 0

export function createMasks(vocabulary: number): Masks {
  const words = Math.ceil(vocabulary / 32)
  const byHash = new Map<number, number>()
  const cached = new LRUCache<number, TokenMask>({
    max: Math.max(fewest, Math.min(most, Math.floor(maxBytes / (4 * words)))),
    dispose({ id, bits }) {
      const hash = hashOf(bits)
      if (byHash.get(hash) === id) byHash.delete(hash)
    },
  })
  /** Most new masks equal an earlier one, so they are built in the same buffer. */
  const draft = new Uint32Array(words)
  return {
    of(fill) {
      draft.fill(0)
      fill((token) => {
        draft[token >>> 5] = (draft[token >>> 5] as number) | (1 << (token & 31))
      }, draft)
      const hash = hashOf(draft)
      const before = cached.get(byHash.get(hash) ?? -1)
      if (before !== undefined && areEqual(before.bits, draft)) return before
      const mask: TokenMask = { id: ids++, bits: draft.slice(), count: countOf(draft) }
      cached.set(mask.id, mask)
      byHash.set(hash, mask.id)
      return mask
    },
    get: (id) => cached.get(id),
  }
}

function areEqual(a: Uint32Array, b: Uint32Array): boolean {
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false
  return true
}

/** FNV-1a, word by word. */
function hashOf(bits: Uint32Array): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < bits.length; at++) {
    hash = Math.imul(hash ^ (bits[at] as number), 0x01000193) ^ (hash >>> 15)
  }
  return hash
}

function countOf(bits: Uint32Array): number {
  let count = 0
  for (let at = 0; at < bits.length; at++) {
    let word = bits[at] as number
    word -= (word >>> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
    count += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return count
}
