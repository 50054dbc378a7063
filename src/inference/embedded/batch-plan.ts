/**
 * How many tokens of each sequence go into the next batch, for sequences with so many left to read. Who has one left is
 * writing, or about to, and goes first; none, and it waits. What prompts may take is divided among them evenly, so that a short one is read
 * at once beside a long one; what the short ones leave goes to the others.
 */
export function planBatch(
  left: readonly { tokens: number; most: number }[],
  { batch, prompts }: { batch: number; prompts: number },
): number[] {
  const plan: number[] = left.map(({ tokens }) => (tokens === 1 ? 1 : 0))
  const ones = plan.reduce((sum, one) => sum + one, 0)
  let room = Math.min(prompts, batch - ones)
  const prompting = left
    .map(({ tokens, most }, index) => ({ index, wanted: Math.min(tokens, most) }))
    .filter(({ wanted }) => wanted > 1)
    .sort((one, other) => one.wanted - other.wanted)
  prompting.forEach(({ index, wanted }, place) => {
    const share = Math.min(wanted, Math.ceil(room / (prompting.length - place)))
    plan[index] = share
    room -= share
  })
  return plan
}
