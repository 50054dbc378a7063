import { createHash, randomUUID } from 'node:crypto'
import { Value } from '../objects/values.ts'

interface Sharing {
  project: string
  id: string
  label: string
  /** Requests with the same key get the same version. */
  key: string
}

/**
 * Rendezvous hashing by weight: each version draws from its own hash, and the smallest wins. When a weight grows, only keys
 * that its version wins by that move.
 */
export function sharerFor<S extends { digest: string; weight: number }>(
  { project, id, label, key }: Sharing,
  share: readonly S[],
): S {
  const drawOf = ({ digest, weight }: S) => {
    const hash = createHash('sha256').update(JSON.stringify([project, id, label, key, digest]))
    // Between 0 and 1, and neither of them.
    return -Math.log((hash.digest().readUIntBE(0, 6) + 0.5) / 2 ** 48) / weight
  }
  return share.reduce((best, sharer) => (drawOf(sharer) < drawOf(best) ? sharer : best))
}

/** Fields that name whose request it is, the narrowest first. */
const keyFields = ['conversation', 'prompt_cache_key', 'user', 'safety_identifier']

/** What the answers to a request stick to: its thread, else its first such field, else nothing. */
export function stickyKeyOf(thread: string | null, own: ReadonlyMap<string, string>): string {
  if (thread !== null) return JSON.stringify(['thread', thread])
  for (const name of keyFields) {
    const value = new Value(own.get(name) ?? 'null')
    const text = value.string ?? value.member('id')?.string
    if (text) return JSON.stringify([name, text])
  }
  return randomUUID()
}
