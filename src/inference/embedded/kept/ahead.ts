import type { Sequence } from '../sequences.ts'

/**
 * Which sequence is kept next while nothing is asked for, so that who comes does not wait for it: sixteen who come at once to sequences that
 * are all in use waited up to 20 ms for copies before their prompts were read. Only where the next who comes takes the place
 * of something, and only what is cheap to copy, given how many are lost before it.
 */
export function createKeepingAhead(
  sequences: readonly Sequence[],
  isCheap: (sequence: Sequence, before: number) => boolean,
) {
  /** What each held when it was looked at: its use then. */
  const seen = new Map<Sequence, number>()

  /** Undefined where there is nothing left to keep. What was used longest ago is lost first. */
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
