/** One of the memories of the context: what it holds can be continued. */
export interface Sequence {
  readonly id: number
  /** What it has read and written, one for each position. */
  tokens: number[]
  /** Whose prompts may share it. */
  salt: string | undefined
  busy: boolean
  /** Tokens behind these that it holds as well: guesses, to be forgotten before it is used again. */
  guessed: number
  /** Background work used it last: what it holds is missed less than what callers may come back to. */
  isBackground: boolean
  /** Goes up with every use: the smallest was used longest ago. */
  used: number
}

export type Sequences = ReturnType<typeof createSequences>

/** Two rows take twice as long as one where models are small: who makes them three or more gains by being beside them. */
const fewestBeside = 2

/**
 * `copyFrom`: how many tokens a copy of another sequence's memory must save. It costs as much time as reading a few, more
 * the longer the context is, whatever is in it. `isLostKept`: what a sequence loses can be had again for little.
 */
export function createSequences(count: number, copyFrom: number, { isLostKept = false } = {}) {
  const all: Sequence[] = Array.from({ length: count }, (_, id) => ({
    id,
    tokens: [],
    salt: undefined,
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

  /** Background work costs callers no more of what is remembered for them than one sequence. */
  function free(isBackground: boolean): Sequence[] {
    const idle = all.filter(({ busy }) => !busy)
    if (!isBackground) return idle
    const own = idle.filter((sequence) => sequence.isBackground || sequence.tokens.length === 0)
    return own.length > 0 || all.some((sequence) => sequence.isBackground) ? own : idle
  }

  const isBusyAt = (id: number) => all[id]?.busy === true
  const busyBeside = ({ id }: Sequence) => Number(isBusyAt(id - 1)) + Number(isBusyAt(id + 1))

  /**
   * Which is lost rather: what holds nothing, then what background work has left, then what was used longest ago. llama.cpp
   * computes neighbours together and all others one after the other (`split_equal`), so where several are busy, one beside them
   * comes before those that were used longest ago.
   */
  function isPoorer(one: Sequence, other: Sequence): boolean {
    if ((one.tokens.length === 0) !== (other.tokens.length === 0)) return one.tokens.length === 0
    if (one.isBackground !== other.isBackground) return one.isBackground
    const beside = busyBeside(one) - busyBeside(other)
    const isCrowd = isLostKept && beside !== 0 && all.filter(({ busy }) => busy).length >= fewestBeside
    return isCrowd ? beside > 0 : one.used < other.used
  }

  function closer(best: Shared, other: Shared): Shared {
    if (other.shared !== best.shared) return other.shared > best.shared ? other : best
    return isPoorer(other.sequence, best.sequence) ? other : best
  }

  /** Of these the one that is missed least. */
  function poorest(of: readonly Sequence[]): Sequence | undefined {
    return of.reduce<Sequence | undefined>(
      (best, other) => (best && !isPoorer(other, best) ? best : other),
      undefined,
    )
  }

  return {
    all,
    /** How many can be had. */
    free: (isBackground = false) => free(isBackground).length,
    /** Whether a copy of so many tokens takes less time than reading them again. */
    isWorthCopying: (tokens: number) => tokens >= copyFrom,
    /**
     * A free sequence for the prompt, with as much of it remembered as possible: `shared` tokens, after the memory of `from`
     * has been copied to it, where there is one, or after what is kept `elsewhere` has been restored there. Undefined when all
     * are busy.
     */
    take(
      prompt: readonly number[],
      salt: string | undefined,
      remember: boolean,
      { isBackground = false, elsewhere }: TakeOptions = {},
    ): Taken | undefined {
      const most = mostRemembered(prompt)
      const candidates = all.map((sequence) => ({
        sequence,
        shared:
          remember && sequence.salt === salt ? Math.min(most, commonLength(sequence.tokens, prompt)) : 0,
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
    /** The free sequence that is missed least. */
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

/** The logits of the last token are wanted, so it is read again; and never alone, see planBatch. */
export function mostRemembered(prompt: readonly number[]): number {
  return Math.max(0, prompt.length - 2)
}

interface TakeOptions {
  isBackground?: boolean
  /** So much of the prompt can be had from outside of the context, in the time that reading so many tokens takes. */
  elsewhere?: { shared: number; costs: number } | undefined
}

interface Taken {
  sequence: Sequence
  /** Tokens that it holds already, or will have got from `from`. */
  shared: number
  from: Sequence | 'elsewhere' | undefined
}

type Shared = { sequence: Sequence; shared: number }

export function commonLength(one: ArrayLike<number>, other: ArrayLike<number>): number {
  const most = Math.min(one.length, other.length)
  let length = 0
  while (length < most && one[length] === other[length]) length++
  return length
}
