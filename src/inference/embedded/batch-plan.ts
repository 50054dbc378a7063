import { tile } from './tiles.ts'

/** What one sequence still has to read. */
interface Left {
  tokens: number
  /** The most of them that one batch may read, at least 3. */
  most: number
  /** When the request arrived. */
  arrival: number
  /** It is decoding: all its tokens go into the batch. */
  isWriting?: boolean
}

/**
 * A much smaller piece of a prompt costs more per token: flash attention has a fast path for 64 rows of one sequence
 * and a slow one for fewer. A larger piece looks in vain at many positions that come after it.
 */
const leastPiece = 64
const maxPiece = 256

/**
 * The end of a prompt is read together with what precedes it if that lengthens the batch by at most this share: a batch
 * of its own would cost more.
 */
const endShare = 0.25

interface Plan {
  /** Tokens of the whole batch, and of all prompts in it. */
  batch: number
  prompts: number
  oldestFirst: boolean
  inTiles?: boolean
}

/**
 * How many tokens of each sequence go into the next batch, given how many each has left to read. Sequences that are
 * decoding, or about to with a single token left, go first; sequences with nothing left wait. The remaining room goes
 * to prompts, one after the other. Those with the fewest tokens left come first, so that a short prompt is read at once
 * alongside a long one, and the first of several is done early. Now and then (`oldestFirst`) the one that has waited
 * longest comes first, so that none waits for ever. A piece that would be small, and is not the end of its prompt,
 * waits for the next batch. No piece is a single token, and none leaves a single token: llama.cpp computes the
 * attention of a single row differently from that of several, and the sums differ in their last digits. A prompt of
 * more than one token is always read as several rows, however it is cut and however much of it is cached, so its logits
 * are always the same. With `inTiles`, a piece of at least a tile does not leave less than a tile either.
 */
export function planBatch(left: readonly Left[], { batch, prompts, oldestFirst, inTiles }: Plan): number[] {
  const plan: number[] = left.map(({ tokens, isWriting }) => (isWriting || tokens === 1 ? tokens : 0))
  const written = plan.reduce((sum, one) => sum + one, 0)
  let room = Math.min(prompts, batch - written)
  const further = Math.min(Math.floor(prompts * endShare), batch - written - room)
  const prompting = Array.from(left.entries(), ([index, one]) => ({ index, ...one })).filter(
    ({ tokens, isWriting }) => tokens > 1 && !isWriting,
  )
  const oldest = oldestFirst ? Math.min(...prompting.map(({ arrival }) => arrival)) : undefined
  prompting.sort(
    (one, other) =>
      Number(other.arrival === oldest) - Number(one.arrival === oldest) ||
      one.tokens - other.tokens ||
      one.arrival - other.arrival,
  )
  let isFirst = true
  for (const { index, tokens, most: bound } of prompting) {
    const wanted = Math.min(tokens, bound, maxPiece)
    const isEnd = wanted === tokens && tokens <= room + further
    const most = isEnd ? tokens : Math.min(wanted, room)
    const share = shareOf(tokens, most, inTiles)
    if (share < 2 || (most < wanted && most < leastPiece && !isFirst)) continue
    plan[index] = share
    room -= share
    isFirst = false
  }
  return plan
}

function shareOf(tokens: number, most: number, inTiles = false): number {
  const remains = tokens - most
  if (inTiles && remains > 0 && remains < tile && tokens >= 2 * tile) return tokens - tile
  return remains === 1 ? most - 1 : most
}

/**
 * The order in which the parts of a batch are added; they are given in the order of their sequences. llama.cpp computes
 * neighbouring parts of ascending sequences together, the same number of tokens of each. That is good for decoding
 * sequences, which have equally many tokens, but it would split a single row off a prompt next to them. So each prompt
 * stands alone, and the groups are in descending order.
 */
export function additionOrder<Part extends { tokens: { length: number }; isPrompt?: boolean }>(
  parts: readonly Part[],
): Part[] {
  const groups: Part[][] = []
  for (const part of parts) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    const { length } = part.tokens
    const isPrompt = part.isPrompt !== false
    const isAlone = length > 1 && (isPrompt || last?.isPrompt !== false)
    if (last?.tokens.length === length && !isAlone) group?.push(part)
    else groups.push([part])
  }
  return groups.reverse().flat()
}
