import type { Sequence } from '../sequences.ts'

/**
 * Chooses the sequence to copy next while the engine is idle, so that a new request does not wait for it: sixteen
 * requests that arrived together while all sequences held something waited up to 20 ms for copies before their prompts
 * were read. Only when the next request would overwrite something, and only what is cheap to copy, given how many are
 * lost before it.
 */
export function createIdleSaves(
  sequences: readonly Sequence[],
  isCheap: (sequence: Sequence, before: number) => boolean,
) {
  /** The `used` of each sequence when it was looked at. */
  const seen = new Map<Sequence, number>()

  /** Undefined when nothing is left to copy. The least recently used sequence is lost first. */
  return (): Sequence | undefined => {
    if (sequences.some(({ tokens }) => tokens.length === 0)) return undefined
    const next = sequences
      .filter(({ busy }) => !busy)
      .sort((one, other) => one.used - other.used)
      .find((one, before) => seen.get(one) !== one.used && isCheap(one, before))
    if (next !== undefined) seen.set(next, next.used)
    return next
  }
}
