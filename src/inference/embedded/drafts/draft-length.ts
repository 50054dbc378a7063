/** Tokens of a draft that are tried: rows in between cost about as much as the next more. */
const lengths = [1, 2, 4, 8, 16]
export const longestDraft = 16
/** Until a prompt has been read: a row more is taken to cost so much of a batch without guesses. */
const firstGuess = 0.06
/** A draft has to be worth this much more than none. */
const worth = 1.05
/** A shorter time says more than a longer one. */
const falling = 0.3
const rising = 0.03
const forgetting = 0.998

/**
 * How many tokens of drafts the next batch reads: as many as bring the most tokens for their time. What batches of so many
 * writers with so many rows take is measured as they come. `rowMs` is what a row of a prompt takes, as far as that is known.
 */
export function createDraftLength(rowMs: () => number | undefined = () => undefined) {
  /** Milliseconds that the native library takes, by writers and the rows of each. */
  const decodeMs = new Map<number, Map<number, { ms: number; trust: number }>>()
  let drawMs = 0.05

  function costOf(writers: number, rows: number, least: number): number | undefined {
    const measured = decodeMs.get(writers)
    const plain = measured?.get(least)?.ms
    if (measured === undefined || plain === undefined) return undefined
    const known = measured.get(rows)
    if (known !== undefined) {
      // What was dear once is tried again some day: something else may have had the processor.
      known.trust *= forgetting
      return known.ms * known.trust
    }
    // A try is dear: two rows take up to three times as long as one. What is near says more than the batch without guesses.
    const nearest = Array.from(measured.keys()).reduce((near, other) =>
      Math.abs(other - rows) < Math.abs(near - rows) ? other : near,
    )
    const more = (rows - nearest) * writers * (rowMs() ?? firstGuess * plain)
    return Math.max(plain, (measured.get(nearest)?.ms ?? plain) + more)
  }

  return {
    /** For writers with these chances that their next tokens are foreseen. `least` tokens are read anyway. */
    choose(chances: readonly number[], least: number, most: number): number {
      const writers = chances.length
      if (chances.every((chance) => chance === 0)) return least
      const rate = (length: number): number => {
        const ms = costOf(writers, length + 1, least + 1)
        const tokens = chances.reduce((sum, chance) => sum + expected(chance, length), 0)
        return ms === undefined ? 0 : tokens / (ms + drawMs * tokens)
      }
      let best = least
      let bestRate = rate(least) * worth
      if (bestRate === 0) return least
      for (const length of lengths) {
        if (length <= least || length > most) continue
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

/** How many tokens come of a draft, with the one that is drawn behind it. */
function expected(chance: number, length: number): number {
  return chance >= 1 ? length + 1 : (1 - chance ** (length + 1)) / (1 - chance)
}

/** Near the least that it takes: what else had the processor says nothing about the next batch. */
function settled(before: number | undefined, ms: number): number {
  if (before === undefined) return ms
  return before + (ms < before ? falling : rising) * (Math.min(ms, 2 * before) - before)
}
