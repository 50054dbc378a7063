/** What one sequence has left to read. */
export interface Left {
  tokens: number
  /** The most of them that one batch may take. */
  most: number
  /** Who came earlier has less. */
  arrival: number
}

/**
 * A piece of a prompt much smaller than this costs more for each token: flash attention has a fast way for 64 rows of one
 * sequence, and a slow one for fewer. And a piece that is larger looks at much that comes after it, for nothing.
 */
const leastPiece = 64
const mostPiece = 256

/**
 * How many tokens of each sequence go into the next batch, for sequences with so many left to read. Who has one left is
 * writing, or about to, and goes first; none, and it waits. What is left belongs to prompts, to one after the other: those
 * with the fewest tokens to come first, so that a short one is read at once beside a long one, and of several the first is
 * done early; now and then (`oldestFirst`) the one that has waited longest, so that nobody waits for ever. A piece
 * that would be small, and not the end of its prompt, waits for the next batch.
 */
export function planBatch(
  left: readonly Left[],
  { batch, prompts, oldestFirst }: { batch: number; prompts: number; oldestFirst: boolean },
): number[] {
  const plan: number[] = left.map(({ tokens }) => (tokens === 1 ? 1 : 0))
  const ones = plan.reduce((sum, one) => sum + one, 0)
  let room = Math.min(prompts, batch - ones)
  const prompting = Array.from(left.entries(), ([index, one]) => ({ index, ...one })).filter(
    ({ tokens }) => tokens > 1,
  )
  const oldest = oldestFirst ? Math.min(...prompting.map(({ arrival }) => arrival)) : undefined
  prompting.sort(
    (one, other) =>
      Number(other.arrival === oldest) - Number(one.arrival === oldest) ||
      one.tokens - other.tokens ||
      one.arrival - other.arrival,
  )
  let isFirst = true
  for (const { index, tokens, most } of prompting) {
    const wanted = Math.min(tokens, most, mostPiece)
    const share = Math.min(wanted, room)
    if (share < wanted && share < leastPiece && !isFirst) continue
    plan[index] = share
    room -= share
    isFirst = false
  }
  return plan
}
