/**
 * llama.cpp computes flash attention of plain numbers for so many rows of a sequence at once, and fewer one by one.
 * After 300 tokens of a model of 135 million parameters, 60 rows take 137 ms and 64 take 116; after 2,000 it is 411 and
 * 270.
 */
export const tile = 64

/** What one sequence still has to read. */
interface Remaining {
  tokens: number
  /** How many of them one batch may read, at least 3. */
  maxTokens: number
  /** When the request arrived. */
  arrival: number
  /** All its tokens go into the batch. */
  isDecoding?: boolean
}

/** A larger piece of a prompt looks in vain at many positions that come after it. */
const maxPiece = 256

/**
 * The end of a prompt is read together with what precedes it if that lengthens the batch by at most this share: a batch
 * of its own would cost more.
 */
const endShare = 0.25

interface Bounds {
  /** Tokens of the whole batch. */
  batch: number
  /** Tokens of all prompts in it. */
  prompts: number
  oldestFirst: boolean
  readsTiles?: boolean
}

/**
 * How many tokens of each sequence go into the next batch, given what each has left to read. Sequences that are
 * decoding, or about to with a single token left, go first; sequences with nothing left wait. The remaining room goes
 * to prompts, one after the other. A piece that would be smaller than a tile, and is not the end of its prompt, waits
 * for the next batch, because it costs more per token.
 */
export function planBatch(
  remaining: readonly Remaining[],
  { batch, prompts, oldestFirst, readsTiles }: Bounds,
): number[] {
  const plan: number[] = remaining.map(({ tokens, isDecoding }) => (isDecoding || tokens === 1 ? tokens : 0))
  const decoded = plan.reduce((sum, tokens) => sum + tokens, 0)
  let room = Math.min(prompts, batch - decoded)
  const further = Math.min(Math.floor(prompts * endShare), batch - decoded - room)
  let isFirst = true
  for (const { index, tokens, maxTokens } of promptsInOrder(remaining, oldestFirst)) {
    const wanted = Math.min(tokens, maxTokens, maxPiece)
    const isEnd = wanted === tokens && tokens <= room + further
    const fitting = isEnd ? tokens : Math.min(wanted, room)
    const piece = pieceOf(tokens, fitting, readsTiles)
    if (piece < 2 || (fitting < wanted && fitting < tile && !isFirst)) continue
    plan[index] = piece
    room -= piece
    isFirst = false
  }
  return plan
}

/**
 * Those with the fewest tokens left come first, so that a short prompt is read at once alongside a long one, and the
 * first of several is done early. With `oldestFirst` the one that has waited longest comes first: now and then, so that
 * none waits for ever.
 */
function promptsInOrder(remaining: readonly Remaining[], oldestFirst: boolean) {
  const prompts = Array.from(remaining, (prompt, index) => ({ index, ...prompt })).filter(
    ({ tokens, isDecoding }) => tokens > 1 && !isDecoding,
  )
  const oldest = oldestFirst ? Math.min(...prompts.map(({ arrival }) => arrival)) : undefined
  return prompts.sort(
    (a, b) =>
      Number(b.arrival === oldest) - Number(a.arrival === oldest) ||
      a.tokens - b.tokens ||
      a.arrival - b.arrival,
  )
}

/**
 * No piece is a single token, and none leaves a single token: llama.cpp computes the attention of a single row
 * differently from that of several, and the sums differ in their last digits. A prompt of more than one token is always
 * read as several rows, however it is cut and however much of it is cached, so its logits are always the same. Where
 * tiles are read, a piece of at least a tile does not leave less than a tile either.
 */
function pieceOf(tokens: number, fitting: number, readsTiles = false): number {
  const rest = tokens - fitting
  if (readsTiles && rest > 0 && rest < tile && tokens >= 2 * tile) return tokens - tile
  return rest === 1 ? fitting - 1 : fitting
}

/**
 * The order in which sequences are added to a batch; they are given in the order of their numbers. llama.cpp computes
 * neighbours of ascending sequences together, the same number of tokens of each. That is good for decoding sequences,
 * which have equally many tokens, but it would split a single row off a prompt next to them. So each prompt stands
 * alone, but for those of equally many tokens where what is next to them may change last digits, and the groups are in
 * descending order.
 */
export function additionOrder<Item extends { tokens: { length: number }; isPrompt?: boolean }>(
  items: readonly Item[],
  hasPlainAttention: boolean,
): Item[] {
  const groups: Item[][] = []
  for (const item of items) {
    const group = groups.at(-1)
    const previous = group?.at(-1)
    const { length } = item.tokens
    const isPrompt = item.isPrompt !== false
    const isBehindPrompt = previous?.isPrompt !== false
    const isAlone = length > 1 && (isPrompt ? hasPlainAttention || !isBehindPrompt : isBehindPrompt)
    if (previous?.tokens.length === length && !isAlone) group?.push(item)
    else groups.push([item])
  }
  return groups.reverse().flat()
}
