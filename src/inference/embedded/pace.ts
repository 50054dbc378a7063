import { tile } from './tiles.ts'

/** Others wait for their next token: short enough to look steady. */
const whileOthersWriteMs = 75
/** For few writers alongside many prompts that arrive at once: the delay is soon over, and then all decode together. */
const maxTimesLonger = 3
/** Nothing waits but clients that disconnect or arrive. */
const aloneMs = 300
/**
 * Alongside other tenants, in steps of a single writer: the wait for a piece is in proportion to the time of the
 * other's answer, on a fast machine and on a slow one.
 */
const besideTenantsSteps = 5
/** Tenants whose times differ by less than this read their prompts in one batch. */
const aheadSteps = 2
/** Until the speed is known: takes no time on a fast machine, and is bearable on the slowest. */
const first = 32
/** Small pieces cost more per token, so a slow machine must not be slowed down further by ever smaller ones. */
const fewestBesideOthers = 16
const fewestAlone = 64
/**
 * A piece that would be shorter than a tile is a whole tile, unless a tile takes longer than this: then reading the
 * weights is what takes the time.
 */
const longestTileMs = 400
/** Two tiles in one batch take three quarters of the time of two batches; used if that is no longer than this. */
const longestTwoTilesMs = 600
/** Until a tile has been read: tiles are assumed to be about this many times as fast as rows. */
const rowsAreDearer = 3

/** So many of the latest times of each number of writers are compared. */
const latestTimes = 4
/** Turns of tenants must be this much faster: each turn has its own overhead, here and in sending the tokens. */
const worthTurns = 1.1

/** A batch with fewer tokens of prompts says less about larger ones: each token costs more in it. */
const tellingTokens = 64

/**
 * Plans the next batch from the measured speed. A writer is a sequence that decodes, a reader one whose prompt is being
 * read.
 */
export function createPace({ readsTiles = false } = {}) {
  let tokensPerMs: number | undefined
  /** Of batches with at least a tile. */
  let inTilesPerMs: number | undefined
  /** Times of batches by their number of writers. */
  const written = new Map<number, ReturnType<typeof createLatest>>()

  const writtenMs = (writers: number) => written.get(writers)?.least
  /** The time between two tokens of an answer, if known. */
  const stepMs = () =>
    written.size === 0 ? undefined : Math.min(...Array.from(written.values(), ({ least }) => least))

  /** How long the writers take by themselves, if known; otherwise how long fewer of them take. */
  function writingMs(writers: number): number {
    for (let count = writers; count > 0; count--) {
      const ms = writtenMs(count)
      if (ms !== undefined) return ms
    }
    return 0
  }

  /** How long a tile takes at most, if known: reading row by row is no faster. */
  function tileMs(perMs: number): number {
    return tile / Math.max(inTilesPerMs ?? rowsAreDearer * perMs, perMs)
  }

  /** The smallest piece of a prompt that is worth reading alongside writers. */
  function tilesBeside(perMs: number): number {
    const ms = tileMs(perMs)
    return 2 * ms <= longestTwoTilesMs ? 2 * tile : ms <= longestTileMs ? tile : 0
  }

  return {
    /** A batch of `writers` took `ms`, including sampling. */
    wrote(writers: number, ms: number): void {
      const latest = written.get(writers) ?? createLatest()
      written.set(writers, latest)
      latest.add(ms)
    },
    /**
     * How many tokens of prompts a batch may have, so that writers, and clients that disconnect, do not wait long for
     * its end. More when more requests wait for their first token than for their next; fewer while tenants share the
     * model.
     */
    promptTokens(writers: number, readers: number, isShared: boolean): number {
      if (tokensPerMs === undefined) return first
      const fewest = writers === 0 ? fewestAlone : fewestBesideOthers
      const crowd = writers === 0 ? 1 : Math.min(maxTimesLonger, Math.max(1, readers / writers))
      const usual = Math.max(
        fewest,
        Math.floor(tokensPerMs * (writers === 0 ? aloneMs : whileOthersWriteMs * crowd)),
      )
      const single = stepMs()
      const piece = readsTiles && writers > 0 ? Math.max(usual, tilesBeside(tokensPerMs)) : usual
      if (!isShared || single === undefined) return piece
      // Tenants pay for their time, so smaller pieces would only waste it.
      return Math.min(piece, Math.max(fewestAlone, Math.floor(tokensPerMs * besideTenantsSteps * single)))
    },
    /** How long reading so many tokens of a prompt takes, if known. */
    readMs: (tokens: number) => (tokensPerMs === undefined ? undefined : tokens / tokensPerMs),
    /** How much more of the model's time than another a tenant may have used before its prompts wait. */
    get aheadMs(): number {
      const single = stepMs()
      return single === undefined ? Number.POSITIVE_INFINITY : aheadSteps * single
    },
    /** Whether so many writers take longer together than the tenants take one after the other. */
    isWorthSharing(writers: number, own: number, tenants: number): boolean {
      return writers > 1 && written.has(writers) && writingMs(writers) > tenants * writingMs(own) * worthTurns
    },
    /** A batch with so many tokens of prompts and so many writers took `ms`. */
    read(promptTokens: number, writers: number, ms: number): void {
      if (promptTokens < fewestBesideOthers) return
      // The library computes writers and prompts one after the other, even in one batch.
      const own = Math.max(ms - writingMs(writers), ms / 4, 0.01)
      const measured = promptTokens / own
      const weight = 0.3 * Math.min(1, promptTokens / tellingTokens)
      const moved = (before = measured) => before + weight * (measured - before)
      tokensPerMs = moved(tokensPerMs)
      if (promptTokens >= tile) inTilesPerMs = moved(inTilesPerMs)
    },
  }
}

/**
 * The latest times of one kind. The shortest counts: the others were only lengthened by whatever else used the
 * processor.
 */
function createLatest() {
  const times: number[] = []
  let next = 0

  return {
    add(ms: number): void {
      times[next] = ms
      next = (next + 1) % latestTimes
    },
    get least() {
      return Math.min(...times)
    },
  }
}
