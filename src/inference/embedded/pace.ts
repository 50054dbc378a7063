/** How many tokens of prompts a batch may take, so that those who write, and those who leave, do not wait long for its end. */
export interface Pace {
  promptTokens(othersWrite: boolean): number
  took(tokens: number, promptTokens: number, ms: number): void
}

/** Somebody waits for the next word: short enough to look steady. */
const whileOthersWriteMs = 75
/** Only those who leave or arrive wait. */
const aloneMs = 300
/** Until the speed is known: nothing on a fast machine, and bearable on the slowest. */
const first = 32
const fewest = 8

export function createPace(): Pace {
  let tokensPerMs: number | undefined
  return {
    promptTokens(othersWrite) {
      if (tokensPerMs === undefined) return first
      return Math.max(fewest, Math.floor(tokensPerMs * (othersWrite ? whileOthersWriteMs : aloneMs)))
    },
    took(tokens, promptTokens, ms) {
      // A batch of a few tokens says little about large ones: each costs more.
      if (promptTokens < fewest) return
      const measured = tokens / Math.max(ms, 0.01)
      tokensPerMs = tokensPerMs === undefined ? measured : 0.7 * tokensPerMs + 0.3 * measured
    },
  }
}
