/** Lengths of drafts that are tried: the rows in between cost about as much as the next longer draft. */
const lengths = [1, 2, 4, 8, 16]
export const maxDraft = 16
/** Until a prompt has been read: the assumed cost of one more row, as a share of a batch without guesses. */
const firstGuess = 0.06
/** A draft must be this much faster than none. */
const worth = 1.05
/** A shorter time says more than a longer one. */
const falling = 0.3
const rising = 0.03
const decayFactor = 0.998

/**
 * How many drafted tokens the next batch reads: as many as give the most tokens per time. The times of batches are
 * measured by their number of writers and of rows. `rowMs` is the time of one row of a prompt, if known.
 */
export function createDraftLength(rowMs: () => number | undefined = () => undefined) {
  /** Milliseconds of the native library, by writers and rows of each. */
  const decodeMs = new Map<number, Map<number, { ms: number; trust: number }>>()
  let drawMs = 0.05

  function costOf(writers: number, rows: number): number | undefined {
    const measured = decodeMs.get(writers)
    const plain = measured?.get(1)?.ms
    if (measured === undefined || plain === undefined) return undefined
    const known = measured.get(rows)
    if (known !== undefined) {
      // A length that was expensive once is tried again some day: something else may have used the processor.
      known.trust *= decayFactor
      return known.ms * known.trust
    }
    // A trial is expensive: two rows take up to three times as long as one. A length nearby says more than the batch
    // without guesses.
    const nearest = Array.from(measured.keys()).reduce((near, other) =>
      Math.abs(other - rows) < Math.abs(near - rows) ? other : near,
    )
    const more = (rows - nearest) * writers * (rowMs() ?? firstGuess * plain)
    return Math.max(plain, (measured.get(nearest)?.ms ?? plain) + more)
  }

  return {
    /** `chances` has for each writer how likely its next token is predicted right. */
    choose(chances: readonly number[], most: number): number {
      const writers = chances.length
      if (chances.every((chance) => chance === 0)) return 0
      const rate = (length: number): number => {
        const ms = costOf(writers, length + 1)
        const tokens = chances.reduce((sum, chance) => sum + expected(chance, length), 0)
        return ms === undefined ? 0 : tokens / (ms + drawMs * tokens)
      }
      let best = 0
      let bestRate = rate(0) * worth
      if (bestRate === 0) return 0
      for (const length of lengths) {
        if (length > most) break
        const its = rate(length)
        if (its > bestRate) {
          best = length
          bestRate = its
        }
      }
      return best
    },
    decoded(writers: number, rows: number, ms: number): void {
      const measured = decodeMs.get(writers) ?? new Map()
      decodeMs.set(writers, measured)
      measured.set(rows, { ms: settled(measured.get(rows)?.ms, ms), trust: 1 })
    },
    drew(tokens: number, ms: number): void {
      if (tokens > 0) drawMs = settled(drawMs, ms / tokens)
    },
  }
}

/** Expected tokens from a draft, including the one that is drawn after it. */
function expected(chance: number, length: number): number {
  return chance >= 1 ? length + 1 : (1 - chance ** (length + 1)) / (1 - chance)
}

/** Stays near the least time: what else used the processor says nothing about the next batch. */
function settled(before: number | undefined, ms: number): number {
  if (before === undefined) return ms
  return before + (ms < before ? falling : rising) * (Math.min(ms, 2 * before) - before)
}
