import { tile } from './batch-plan.ts'
import type { DecodeTimes } from './decode-times.ts'

/** Others wait for their next token: short enough to look steady. */
const besideOthersMs = 75
/** For few answers alongside many prompts that arrive at once: the delay is soon over, and then all decode together. */
const maxTimesLonger = 3
/** Nothing waits but clients that disconnect or arrive. */
const aloneMs = 300
/**
 * Alongside other tenants, in steps of an answer: the wait for a piece is in proportion to the time of the other's
 * answer, on a fast machine and on a slow one.
 */
const maxSteps = 5
/** Until the speed is known: takes no time on a fast machine, and is bearable on the slowest. */
const firstPiece = 32
/** Small pieces cost more per token, so a slow machine must not be slowed down further by ever smaller ones. */
const minBesideOthers = 16
const minAlone = 64
/**
 * A piece that would be shorter than a tile is a whole tile, unless a tile takes longer than this: then reading the
 * weights is what takes the time.
 */
const maxTileMs = 400
/** Two tiles in one batch take three quarters of the time of two batches; used if that is no longer than this. */
const maxTwoTilesMs = 600
/** Until a tile has been read: tiles are assumed to be about this many times as fast as rows. */
const tileGain = 3
/** A batch with fewer tokens of prompts says less about larger ones: each token costs more in it. */
const tellingTokens = 64

/** What else a piece of a prompt delays. */
interface Beside {
  /** Sequences that decode. */
  decoding: number
  /** Sequences whose prompts are being read. */
  prefilling: number
  /** Whether several tenants share the model. */
  isShared: boolean
}

/** How many tokens of prompts a batch may read, by the measured speed, so that nobody waits long for its end. */
export function createPromptPace(decodeTimes: DecodeTimes, { readsTiles = false } = {}) {
  let tokensPerMs: number | undefined
  /** Of batches with at least a tile. */
  let inTilesPerMs: number | undefined

  /** The smallest piece that is worth reading alongside others: reading row by row is no faster than a tile. */
  function minTiles(perMs: number): number {
    const ms = tile / Math.max(inTilesPerMs ?? tileGain * perMs, perMs)
    return 2 * ms <= maxTwoTilesMs ? 2 * tile : ms <= maxTileMs ? tile : 0
  }

  function usualTokens(perMs: number, { decoding, prefilling }: Beside): number {
    if (decoding === 0) return Math.max(minAlone, Math.floor(perMs * aloneMs))
    // More when more requests wait for their first token than for their next.
    const crowd = Math.min(maxTimesLonger, Math.max(1, prefilling / decoding))
    const tokens = Math.max(minBesideOthers, Math.floor(perMs * besideOthersMs * crowd))
    return readsTiles ? Math.max(tokens, minTiles(perMs)) : tokens
  }

  return {
    maxTokens(beside: Beside): number {
      if (tokensPerMs === undefined) return firstPiece
      const tokens = usualTokens(tokensPerMs, beside)
      const { stepMs } = decodeTimes
      if (!beside.isShared || stepMs === undefined) return tokens
      // Tenants pay for their time, so smaller pieces would only waste it.
      return Math.min(tokens, Math.max(minAlone, Math.floor(tokensPerMs * maxSteps * stepMs)))
    },
    /** How long reading so many tokens of a prompt takes, if known. */
    readMs: (tokens: number) => (tokensPerMs === undefined ? undefined : tokens / tokensPerMs),
    /** A batch with so many tokens of prompts, alongside so many decoding sequences, took `ms`. */
    took(tokens: number, decoding: number, ms: number): void {
      if (tokens < minBesideOthers) return
      // The library computes decoding sequences and prompts one after the other, even in one batch.
      const own = Math.max(ms - decodeTimes.msOf(decoding), ms / 4, 0.01)
      const measured = tokens / own
      const weight = 0.3 * Math.min(1, tokens / tellingTokens)
      const moved = (before = measured) => before + weight * (measured - before)
      tokensPerMs = moved(tokensPerMs)
      if (tokens >= tile) inTilesPerMs = moved(inTilesPerMs)
    },
  }
}
