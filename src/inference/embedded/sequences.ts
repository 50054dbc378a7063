/** One of the memories of the context: what it holds can be continued. */
export interface Sequence {
  readonly id: number
  /** What it has read and written, one for each position. */
  tokens: number[]
  /** Whose prompts may share it. */
  salt: string | undefined
  busy: boolean
  /** Goes up with every use: the smallest was used longest ago. */
  used: number
}

export type Sequences = ReturnType<typeof createSequences>

/**
 * `copyFrom`: how many tokens a copy of another sequence's memory must save. It costs as much time as reading a few, more
 * the longer the context is, whatever is in it.
 */
export function createSequences(count: number, copyFrom: number) {
  const all: Sequence[] = Array.from({ length: count }, (_, id) => ({
    id,
    tokens: [],
    salt: undefined,
    busy: false,
    used: 0,
  }))
  let uses = 0

  function use(sequence: Sequence): Sequence {
    sequence.busy = true
    sequence.used = ++uses
    return sequence
  }

  /** The free sequence that is missed least; undefined when all are busy. */
  function poorestFree(): Sequence | undefined {
    return all
      .filter(({ busy }) => !busy)
      .reduce<Sequence | undefined>(
        (best, other) => (best && !isPoorer(other, best) ? best : other),
        undefined,
      )
  }

  return {
    all,
    free: () => all.reduce((free, sequence) => free + (sequence.busy ? 0 : 1), 0),
    /** Whether a copy of so many tokens takes less time than reading them again. */
    isWorthCopying: (tokens: number) => tokens >= copyFrom,
    /**
     * A free sequence for the prompt, with as much of it remembered as possible: `shared` tokens, after the memory of `from`
     * has been copied to it, where there is one. Undefined when all are busy.
     */
    take(prompt: readonly number[], salt: string | undefined, remember: boolean) {
      // The logits of the last token are wanted, so it is read again; and never alone, see planBatch.
      const most = Math.max(0, prompt.length - 2)
      const candidates = all.map((sequence) => ({
        sequence,
        shared:
          remember && sequence.salt === salt ? Math.min(most, commonLength(sequence.tokens, prompt)) : 0,
      }))
      const closest = candidates.reduce(closer)
      const free = candidates.filter(({ sequence }) => !sequence.busy)
      const poorest = poorestFree()
      const poor = free.find(({ sequence }) => sequence === poorest)
      if (poor === undefined) return undefined
      const best = free.reduce(closer)
      const lost = best.sequence.tokens.length - best.shared
      // A conversation is not cut off because another begins like it.
      const { sequence, shared } = best.shared >= copyFrom && lost >= copyFrom ? poor : best
      use(sequence)
      if (closest.shared - shared < copyFrom) return { sequence, shared, from: undefined }
      return { sequence, shared: closest.shared, from: closest.sequence }
    },
    /** The free sequence that is missed least. */
    takeAny(): Sequence | undefined {
      const poorest = poorestFree()
      return poorest && use(poorest)
    },
    give(sequence: Sequence): void {
      sequence.busy = false
      sequence.used = ++uses
    },
  }
}

type Shared = { sequence: Sequence; shared: number }

function closer(best: Shared, other: Shared): Shared {
  if (other.shared !== best.shared) return other.shared > best.shared ? other : best
  return isPoorer(other.sequence, best.sequence) ? other : best
}

/** Which is lost rather: what holds nothing, then what was used longest ago. */
function isPoorer(one: Sequence, other: Sequence): boolean {
  if ((one.tokens.length === 0) !== (other.tokens.length === 0)) return one.tokens.length === 0
  return one.used < other.used
}

function commonLength(one: readonly number[], other: readonly number[]): number {
  const most = Math.min(one.length, other.length)
  let length = 0
  while (length < most && one[length] === other[length]) length++
  return length
}
