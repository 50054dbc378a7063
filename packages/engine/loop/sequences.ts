/** A sequence of the context; a new prompt can continue from what it holds. */
export interface Sequence {
  readonly id: number
  /** The tokens that it has read and written, one per position. */
  tokens: number[]
  /** Only prompts with this key may share it; undefined as long as it holds none. */
  key: string | undefined
  busy: boolean
  /** Guessed tokens that it also holds after these, to be removed before it is used again. */
  guessed: number
  /** Background work used it last: what it holds is less valuable than what callers may return to. */
  isBackground: boolean
  /** Increases with every use: the smallest was used longest ago. */
  used: number
}

export type Sequences = ReturnType<typeof createSequences>

/**
 * `copyFrom`: how many tokens a copy of another sequence's memory must save. A copy takes as long as reading a few
 * tokens, more with a longer context, whatever it holds. `isLostKept`: what a sequence loses can be restored at little
 * cost.
 */
export function createSequences(count: number, copyFrom: number, { isLostKept = false } = {}) {
  const all: Sequence[] = Array.from({ length: count }, (_, id) => ({
    id,
    tokens: [],
    key: undefined,
    busy: false,
    guessed: 0,
    isBackground: false,
    used: 0,
  }))
  let uses = 0

  function use(sequence: Sequence, isBackground: boolean): Sequence {
    sequence.busy = true
    sequence.isBackground = isBackground
    sequence.used = ++uses
    return sequence
  }

  /** Background work may overwrite no more than one sequence of what is cached for callers. */
  function free(isBackground: boolean): Sequence[] {
    const idle = all.filter(({ busy }) => !busy)
    if (!isBackground) return idle
    const own = idle.filter((sequence) => sequence.isBackground || sequence.tokens.length === 0)
    return own.length > 0 || all.some((sequence) => sequence.isBackground) ? own : idle
  }

  const isBusyAt = (id: number) => all[id]?.busy === true
  const busyBeside = ({ id }: Sequence) => Number(isBusyAt(id - 1)) + Number(isBusyAt(id + 1))

  /**
   * Which sequence to lose first: an empty one, then one that background work has left, then the least recently used.
   * llama.cpp computes neighbours together and all others one after the other (`split_equal`), so one adjacent to busy
   * ones comes before the least recently used.
   */
  function isPoorer(a: Sequence, b: Sequence): boolean {
    if ((a.tokens.length === 0) !== (b.tokens.length === 0)) return a.tokens.length === 0
    if (a.isBackground !== b.isBackground) return a.isBackground
    const beside = busyBeside(a) - busyBeside(b)
    return isLostKept && beside !== 0 ? beside > 0 : a.used < b.used
  }

  function closer(best: Shared, other: Shared): Shared {
    if (other.shared !== best.shared) return other.shared > best.shared ? other : best
    return isPoorer(other.sequence, best.sequence) ? other : best
  }

  /** The least valuable of these. */
  function poorest(of: readonly Sequence[]): Sequence | undefined {
    return of.reduce<Sequence | undefined>(
      (best, other) => (best && !isPoorer(other, best) ? best : other),
      undefined,
    )
  }

  return {
    all,
    /** How many are available. */
    free: (isBackground = false) => free(isBackground).length,
    /** Whether copying so many tokens takes less time than reading them again. */
    isWorthCopying: (tokens: number) => tokens >= copyFrom,
    /**
     * A free sequence for the prompt, with as much of it cached as possible. It has `shared` tokens once the memory of
     * `from`, if any, has been copied to it, or what is kept `elsewhere` has been restored. Undefined when all are
     * busy.
     */
    take(
      prompt: readonly number[],
      key: string,
      remember: boolean,
      { isBackground = false, elsewhere }: TakeOptions = {},
    ): Taken | undefined {
      const most = maxReused(prompt)
      const candidates = all.map((sequence) => ({
        sequence,
        shared: remember && sequence.key === key ? Math.min(most, commonLength(sequence.tokens, prompt)) : 0,
      }))
      const closest = candidates.reduce(closer)
      const usable = free(isBackground)
      const missedLeast = poorest(usable)
      const open = candidates.filter(({ sequence }) => usable.includes(sequence))
      const poor = open.find(({ sequence }) => sequence === missedLeast)
      if (poor === undefined) return undefined
      if (elsewhere !== undefined && elsewhere.shared - closest.shared > elsewhere.costs) {
        return { sequence: use(poor.sequence, isBackground), shared: elsewhere.shared, from: 'elsewhere' }
      }
      const best = open.reduce(closer)
      const lost = best.sequence.tokens.length - best.shared
      // A conversation is not cut off because another begins like it.
      const { sequence, shared } = best.shared >= copyFrom && lost >= copyFrom ? poor : best
      use(sequence, isBackground)
      if (closest.shared - shared < copyFrom) return { sequence, shared, from: undefined }
      return { sequence, shared: closest.shared, from: closest.sequence }
    },
    /** The least valuable free sequence. */
    takeAny(isBackground = false): Sequence | undefined {
      const sequence = poorest(free(isBackground))
      return sequence && use(sequence, isBackground)
    },
    give(sequence: Sequence): void {
      sequence.busy = false
      sequence.used = ++uses
    },
  }
}

/** The logits of the last token are needed, so it is read again; and never alone, see planBatch. */
export function maxReused(prompt: readonly number[]): number {
  return Math.max(0, prompt.length - 2)
}

interface TakeOptions {
  isBackground?: boolean
  /** So much of the prompt can be restored from outside of the context, in the time of reading `costs` tokens. */
  elsewhere?: { shared: number; costs: number } | undefined
}

interface Taken {
  sequence: Sequence
  /** Tokens that it holds already, or will hold after copying `from`. */
  shared: number
  from: Sequence | 'elsewhere' | undefined
}

type Shared = { sequence: Sequence; shared: number }

export function commonLength(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const most = Math.min(a.length, b.length)
  let length = 0
  while (length < most && a[length] === b[length]) length++
  return length
}
