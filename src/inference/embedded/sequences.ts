/** One of the memories of the context: what it holds can be gone on from. */
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

export interface Place {
  sequence: Sequence
  /** How many tokens of the prompt are remembered. */
  shared: number
  /** Whose memory has to be copied to the sequence first. */
  from: Sequence | undefined
}

export interface Sequences {
  readonly all: readonly Sequence[]
  free(): number
  /** Whether a copy of so many tokens takes less time than reading them again. */
  isWorthCopying(tokens: number): boolean
  /** A free sequence for the prompt, with as much of it remembered as possible; undefined when all are busy. */
  take(prompt: readonly number[], salt: string | undefined, remember: boolean): Place | undefined
  /** A free sequence that nobody will miss. */
  takeAny(): Sequence | undefined
  give(sequence: Sequence): void
}

/**
 * `copyFrom`: how many tokens a copy of another sequence's memory must save. It costs as much time as reading a few, more
 * the longer the context is, whatever is in it.
 */
export function createSequences(count: number, copyFrom: number): Sequences {
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

  return {
    all,
    free: () => all.reduce((free, sequence) => free + (sequence.busy ? 0 : 1), 0),
    isWorthCopying: (tokens) => tokens >= copyFrom,
    take(prompt, salt, remember) {
      // The logits of the last token are wanted, so it is read again; and never alone, see planBatch.
      const most = Math.max(0, prompt.length - 2)
      const sharedWith = (sequence: Sequence) =>
        remember && sequence.salt === salt ? Math.min(most, commonLength(sequence.tokens, prompt)) : 0
      const places = all.map((sequence) => ({ sequence, shared: sharedWith(sequence) }))
      const free = places.filter(({ sequence }) => !sequence.busy)
      const poorest = free.reduce<Shared | undefined>(poorer, undefined)
      const best = free.reduce<Shared | undefined>(closer, undefined)
      const model = places.reduce<Shared | undefined>(closer, undefined)
      if (poorest === undefined || best === undefined || model === undefined) return undefined
      const { sequence } = best
      const lost = sequence.tokens.length - best.shared
      // A conversation is not cut off because another begins like it.
      const own =
        poorest.sequence !== sequence && best.shared >= copyFrom && lost >= copyFrom ? poorest : best
      use(own.sequence)
      if (model.shared - own.shared < copyFrom) return { ...own, from: undefined }
      return { sequence: own.sequence, shared: model.shared, from: model.sequence }
    },
    takeAny() {
      const [first, ...others] = all.filter((sequence) => !sequence.busy)
      if (first === undefined) return undefined
      return use(
        others.reduce((poorest, sequence) => (isPoorer(sequence, poorest) ? sequence : poorest), first),
      )
    },
    give(sequence) {
      sequence.busy = false
      sequence.used = ++uses
    },
  }
}

type Shared = Omit<Place, 'from'>

function closer(best: Shared | undefined, other: Shared): Shared {
  if (best === undefined || other.shared > best.shared) return other
  return other.shared === best.shared && isPoorer(other.sequence, best.sequence) ? other : best
}

function poorer(poorest: Shared | undefined, other: Shared): Shared {
  return poorest === undefined || isPoorer(other.sequence, poorest.sequence) ? other : poorest
}

/** What to lose rather: what holds nothing, then what was used longest ago. */
function isPoorer(one: Sequence, other: Sequence): boolean {
  if ((one.tokens.length === 0) !== (other.tokens.length === 0)) return one.tokens.length === 0
  return one.used < other.used
}

export function commonLength(one: readonly number[], other: readonly number[]): number {
  const most = Math.min(one.length, other.length)
  let length = 0
  while (length < most && one[length] === other[length]) length++
  return length
}
