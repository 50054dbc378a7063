/** What the speed that was measured says about the next batch. */
export interface Pace {
  /**
   * How many tokens of prompts it may take, so that those who write, and those who leave, do not wait long for its end: longer
   * when more wait for their first word than for their next.
   */
  promptTokens(writers: number, readers: number): number
  /** How many of those who write go into it: all, or one after the other. */
  abreast(writers: number): number
  /** A batch with so many tokens of prompts, and with so many who write, took so long. */
  read(promptTokens: number, writers: number, ms: number): void
  /** A batch of so many who write took so long, with the drawing. */
  wrote(writers: number, ms: number): void
}

/** Somebody waits for the next word: short enough to look steady. */
const whileOthersWriteMs = 75
/** One who writes beside many who come at once: it is over soon, and then all write together. */
const mostTimesLonger = 3
/** Only those who leave or arrive wait. */
const aloneMs = 300
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

export function createPace(): Pace {
  let tokensPerMs: number | undefined
  let singleMs: number | undefined
  const togetherMs = new Map<number, number>()
  let turns = 0

  /** What those who write take by themselves, as far as that is known. */
  function writingMs(writers: number): number {
    for (let count = writers; count > 1; count--) {
      const ms = togetherMs.get(count)
      if (ms !== undefined) return ms
    }
    return writers > 0 ? (singleMs ?? 0) : 0
  }

  return {
    abreast(writers) {
      if (writers < 2 || singleMs === undefined) return 1
      const together = togetherMs.get(writers)
      if (together === undefined) return writers
      const isFaster = together <= writers * singleMs * worthTurns
      return isFaster === (++turns % turnsBetweenLooks !== 0) ? writers : 1
    },
    wrote(writers, ms) {
      if (writers === 1) singleMs = smoothed(singleMs, ms)
      else togetherMs.set(writers, smoothed(togetherMs.get(writers), ms))
    },
    promptTokens(writers, readers) {
      if (tokensPerMs === undefined) return first
      if (writers === 0) return Math.max(fewestAlone, Math.floor(tokensPerMs * aloneMs))
      const ms = whileOthersWriteMs * Math.min(mostTimesLonger, Math.max(1, readers / writers))
      return Math.max(fewestBesideOthers, Math.floor(tokensPerMs * ms))
    },
    read(promptTokens, writers, ms) {
      if (promptTokens < fewestBesideOthers) return
      // The library works on those who write and on prompts one after the other, though they are in one batch.
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
