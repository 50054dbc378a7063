import { tile } from './tiles.ts'

/** What one sequence has left to read. */
interface Left {
  tokens: number
  /** The most of them that one batch may take, at least 3. */
  most: number
  /** When it came. */
  arrival: number
  /** It writes: all of them go into the batch. */
  isWriting?: boolean
}

/**
 * A piece of a prompt much smaller than this costs more for each token: flash attention has a fast way for 64 rows of one
 * sequence, and a slow one for fewer. And a piece that is larger looks at much that comes after it, for nothing.
 */
const leastPiece = 64
const mostPiece = 256

/** The end of a prompt is read with what is before it where that makes a batch longer by no more than this share: another would cost more. */
const endShare = 0.25

interface Plan {
  /** Tokens of the whole batch, and of all prompts in it. */
  batch: number
  prompts: number
  oldestFirst: boolean
  inTiles?: boolean
}

/**
 * How many tokens of each sequence go into the next batch, for sequences with so many left to read. One that is writing, or
 * about to with a single token left, goes first; one with none waits. What is left belongs to prompts, to one after the other: those
 * with the fewest tokens to come first, so that a short one is read at once beside a long one, and of several the first is
 * done early; now and then (`oldestFirst`) the one that has waited longest, so that none waits for ever. A piece
 * that would be small, and not the end of its prompt, waits for the next batch.
 *
 * No piece is a single token, and none leaves one: llama.cpp computes the attention of a single row in another way than
 * that of several, and the sums differ in their last digits. A prompt of more than one token is read as rows of several,
 * however it is cut and however much of it is remembered, so its logits are always the same. `inTiles`: nor does one leave
 * less than a tile, where it is a tile itself.
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
    const wanted = Math.min(tokens, bound, mostPiece)
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
 * The parts of a batch, which come in the order of their sequences, in the order in which they are added to it. llama.cpp
 * computes neighbours of ascending sequences together, the same number of tokens of each: good for those that write, with as
 * many tokens, but it would take a single row from a prompt beside them. So each prompt stands alone, and all groups descend.
 * `arePromptsJoined`: prompts of as many tokens are computed together, too, in three quarters of the time where they are short, and
 * with other last digits.
 */
export function additionOrder<Part extends { tokens: { length: number }; isPrompt?: boolean }>(
  parts: readonly Part[],
  arePromptsJoined = false,
): Part[] {
  const groups: Part[][] = []
  for (const part of parts) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    const { length } = part.tokens
    const isPrompt = part.isPrompt !== false
    const isOther = isPrompt !== (last?.isPrompt !== false)
    const isAlone = length > 1 && (isOther || (isPrompt && !arePromptsJoined))
    if (last?.tokens.length === length && !isAlone) group?.push(part)
    else groups.push([part])
  }
  return groups.reverse().flat()
}
