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

/**
 * Together is usually faster, because the weights are read once for all. But the library multiplies two to four rows so much
 * less cleverly than one, that small models on few cores get more done one by one: 187 tokens a second against 124 with two
 * streams of 135 million parameters. So both are measured, and what is in use is compared with the other now and then.
 */
const turnsBetweenLooks = 400
/** One after the other has to be this much faster: each turn has a price of its own, here and where the words go. */
const worthTurns = 1.1

/** A batch of fewer tokens of prompts says less about larger ones: each token costs more in it. */
const tellingTokens = 64

/**
 * What the speed that was measured says about the next batch. A writer is a sequence that decodes, a reader one whose prompt
 * is being read.
 */
export function createPace() {
  let tokensPerMs: number | undefined
  let singleMs: number | undefined
  const togetherMs = new Map<number, number>()
  let turns = 0

  /** What the writers take by themselves, as far as that is known. */
  function writingMs(writers: number): number {
    for (let count = writers; count > 1; count--) {
      const ms = togetherMs.get(count)
      if (ms !== undefined) return ms
    }
    return writers > 0 ? (singleMs ?? 0) : 0
  }

  return {
    /** How many of the writers go into it: all, or one after the other. */
    abreast(writers: number): number {
      if (writers < 2 || singleMs === undefined) return 1
      const together = togetherMs.get(writers)
      if (together === undefined) return writers
      const isFaster = together <= writers * singleMs * worthTurns
      return isFaster === (++turns % turnsBetweenLooks !== 0) ? writers : 1
    },
    /** A batch of so many writers took so long, with the drawing. */
    wrote(writers: number, ms: number): void {
      if (writers === 1) singleMs = smoothed(singleMs, ms)
      else togetherMs.set(writers, smoothed(togetherMs.get(writers), ms))
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
      if (!isShared || singleMs === undefined) return usual
      // Tenants pay for their time, so that smaller pieces would only waste it.
      return Math.min(usual, Math.max(fewestAlone, Math.floor(tokensPerMs * besideTenantsSteps * singleMs)))
    },
    /** How long reading so many tokens of a prompt takes, as far as that is known. */
    readMs: (tokens: number) => (tokensPerMs === undefined ? undefined : tokens / tokensPerMs),
    /** How much more of the model's time than another a tenant may have had before its prompts wait. */
    get aheadMs(): number {
      return singleMs === undefined ? Number.POSITIVE_INFINITY : aheadSteps * singleMs
    },
    /** Whether so many writers take longer together than some of them would, each tenant in its turn. */
    isWorthSharing(writers: number, own: number, tenants: number): boolean {
      return togetherMs.has(writers) && writingMs(writers) > tenants * writingMs(own) * worthTurns
    },
    /** A batch with so many tokens of prompts, and with so many writers, took so long. */
    read(promptTokens: number, writers: number, ms: number): void {
      if (promptTokens < fewestBesideOthers) return
      // The library works on writers and on prompts one after the other, though they are in one batch.
      const own = Math.max(ms - writingMs(writers), ms / 4, 0.01)
      const measured = promptTokens / own
      const weight = 0.3 * Math.min(1, promptTokens / tellingTokens)
      tokensPerMs = tokensPerMs === undefined ? measured : tokensPerMs + weight * (measured - tokensPerMs)
    },
  }
}

/** A turn in which something else had the processor says nothing about the next. */
function smoothed(before: number | undefined, ms: number): number {
  return before === undefined ? ms : 0.9 * before + 0.1 * Math.min(ms, 2 * before)
}
