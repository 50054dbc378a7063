/** What the numbers of plain attention take: one for each head, position of a sequence, and token of a batch. */
interface AttentionSizes {
  heads: number
  /** Numbers of a head. */
  headLength: number
  /** Tokens of one sequence. */
  context: number
  /** The most tokens of one batch. */
  batch: number
  sequences: number
}

const plainBytes = 32 * 2 ** 20

/** Of all sequences: beside several that write, flash attention reads prompts in tiles, several in a batch. */
const plainBytesOfAll = 64 * 2 ** 20

/** Heads with fewer numbers are computed faster by plain attention, whatever the number of sequences. */
const minHeadLength = 64

/**
 * Flash attention reads a long prompt a quarter faster and takes less memory, but its result depends a little on how
 * the prompt was cut into batches, and so on the other requests. Where plain attention costs almost nothing, it is
 * used: then the same seed gives the same answer. A model of 135 million parameters with 1,024 tokens a sequence wrote
 * 94 tokens a second instead of 54 for 16 streams with flash attention, and 46 instead of 26 for 4; the built-in model,
 * whose heads have 32 numbers, takes 2.3 times as long for a token with it.
 */
export function isPlainCostly({ heads, headLength, context, batch, sequences }: AttentionSizes): boolean {
  const bytes = heads * context * batch * Float32Array.BYTES_PER_ELEMENT
  return bytes > plainBytes || (headLength >= minHeadLength && bytes * sequences > plainBytesOfAll)
}
