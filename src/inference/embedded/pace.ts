import { tile } from './tiles.ts'

/** Others wait for their next token: short enough to look steady. */
const whileOthersWriteMs = 75
/** A writer beside many requests that come at once: it is over soon, and then all write together. */
const mostTimesLonger = 3
/** Only clients that disconnect or arrive wait. */
const aloneMs = 300
/**
 * Beside other tenants, counted in steps of one writer: what another waits for a piece is in proportion to what its answer
 * takes anyhow, on a fast machine and on a slow one.
 */
const besideTenantsSteps = 5
/** Tenants that differ by less than this read their prompts in one batch. */
const aheadSteps = 2
/** Until the speed is known: nothing on a fast machine, and bearable on the slowest. */
const first = 32
/** Small pieces cost more for each token, so a slow machine must not be made slower by ever smaller ones. */
const fewestBesideOthers = 16
const fewestAlone = 64
/** Where a piece would be shorter than a tile, it is one, unless that takes longer than this: there the weights are what takes the time. */
const longestTileMs = 400
/** Two tiles at once take three quarters of the time of one after the other, where that is no longer than this. */
const longestTwoTilesMs = 600
/** Before a tile has been read: about so many times as fast as rows. */
const rowsAreDearer = 3

/**
 * Together is usually faster, because the weights are read once for all. But the library multiplies two to four rows so much
 * less cleverly than one, that small models on few cores get more done one by one: 187 tokens a second against 124 with two
 * streams of 135 million parameters. So both are measured, and what is in use is compared with the other now and then.
 */
const turnsBetweenLooks = 400
/** A look is several batches long: the first of another size takes longer, and any of them may be held up. */
const turnsOfLook = 4
/** One after the other has to be this much faster: each turn has a price of its own, here and where the words go. */
const worthTurns = 1.1

/** A batch of fewer tokens of prompts says less about larger ones: each token costs more in it. */
const tellingTokens = 64

/**
 * What the speed that was measured says about the next batch. A writer is a sequence that decodes, a reader one whose prompt
 * is being read.
 */
export function createPace({ readsTiles = false } = {}) {
  let tokensPerMs: number | undefined
  /** Of batches with a tile or more. */
  let inTilesPerMs: number | undefined
  /** What batches of so many writers took. */
  const written = new Map<number, ReturnType<typeof createLatest>>()
  let turns = 0

  const writtenMs = (writers: number) => written.get(writers)?.least

  /** What the writers take by themselves, as far as that is known. */
  function writingMs(writers: number): number {
    for (let count = writers; count > 0; count--) {
      const ms = writtenMs(count)
      if (ms !== undefined) return ms
    }
    return 0
  }

  /** How long a tile takes at most, as far as that is known: what is read row by row is no faster. */
  function tileMs(perMs: number): number {
    return tile / Math.max(inTilesPerMs ?? rowsAreDearer * perMs, perMs)
  }

  /** The least that it is worth to read of a prompt beside writers. */
  function tilesBeside(perMs: number): number {
    const ms = tileMs(perMs)
    return 2 * ms <= longestTwoTilesMs ? 2 * tile : ms <= longestTileMs ? tile : 0
  }

  return {
    /** How many of the writers go into it: all, or one after the other. */
    abreast(writers: number): number {
      const single = writtenMs(1)
      if (writers < 2 || single === undefined) return 1
      const together = written.get(writers)
      if (together?.isFull !== true) return writers
      const isFaster = together.least <= writers * single * worthTurns
      const isLook = turns++ % turnsBetweenLooks >= turnsBetweenLooks - turnsOfLook
      return isFaster !== isLook ? writers : 1
    },
    /** A batch of so many writers took so long, with the drawing. */
    wrote(writers: number, ms: number): void {
      const latest = written.get(writers) ?? createLatest()
      written.set(writers, latest)
      latest.add(ms)
    },
    /**
     * How many tokens of prompts it may take, so that writers, and clients that disconnect, do not wait long for its end: longer
     * when more wait for their first token than for their next. While tenants share the model it is shorter.
     */
    promptTokens(writers: number, readers: number, isShared: boolean): number {
      if (tokensPerMs === undefined) return first
      const fewest = writers === 0 ? fewestAlone : fewestBesideOthers
      const crowd = writers === 0 ? 1 : Math.min(mostTimesLonger, Math.max(1, readers / writers))
      const usual = Math.max(
        fewest,
        Math.floor(tokensPerMs * (writers === 0 ? aloneMs : whileOthersWriteMs * crowd)),
      )
      const single = writtenMs(1)
      const piece = readsTiles && writers > 0 ? Math.max(usual, tilesBeside(tokensPerMs)) : usual
      if (!isShared || single === undefined) return piece
      // Tenants pay for their time, so that smaller pieces would only waste it.
      return Math.min(piece, Math.max(fewestAlone, Math.floor(tokensPerMs * besideTenantsSteps * single)))
    },
    /** How long reading so many tokens of a prompt takes, as far as that is known. */
    readMs: (tokens: number) => (tokensPerMs === undefined ? undefined : tokens / tokensPerMs),
    /** How much more of the model's time than another a tenant may have had before its prompts wait. */
    get aheadMs(): number {
      const single = writtenMs(1)
      return single === undefined ? Number.POSITIVE_INFINITY : aheadSteps * single
    },
    /** Whether so many writers take longer together than some of them would, each tenant in its turn. */
    isWorthSharing(writers: number, own: number, tenants: number): boolean {
      return writers > 1 && written.has(writers) && writingMs(writers) > tenants * writingMs(own) * worthTurns
    },
    /** A batch with so many tokens of prompts, and with so many writers, took so long. */
    read(promptTokens: number, writers: number, ms: number): void {
      if (promptTokens < fewestBesideOthers) return
      // The library works on writers and on prompts one after the other, though they are in one batch.
      const own = Math.max(ms - writingMs(writers), ms / 4, 0.01)
      const measured = promptTokens / own
      const weight = 0.3 * Math.min(1, promptTokens / tellingTokens)
      const moved = (before = measured) => before + weight * (measured - before)
      tokensPerMs = moved(tokensPerMs)
      if (promptTokens >= tile) inTilesPerMs = moved(inTilesPerMs)
    },
  }
}

/** The latest times of one kind, of which the least counts: what else had the processor only made the others longer. */
function createLatest() {
  const times: number[] = []
  let next = 0

  return {
    add(ms: number): void {
      times[next] = ms
      next = (next + 1) % turnsOfLook
    },
    /** A whole look: nothing of it is older. */
    get isFull() {
      return times.length === turnsOfLook
    },
    get least() {
      return Math.min(...times)
    },
  }
}
