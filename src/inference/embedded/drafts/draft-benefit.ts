/** So many of the latest batches of each kind are compared, … */
const latest = 16
/** … and at least so many, which is also the length of a trial of the other kind. */
const enough = 4
/** The kind in use is compared with the other after so many batches at first, … */
const firstLook = 8
/** … and later after so many batches without the other kind. */
const untilLook = 100

/** A batch that took this many times longer than most says nothing more about the next. */
const mostHeldUp = 4

/** Times and tokens of batches of one kind. */
interface Kind {
  batches: { ms: number; tokens: number }[]
  /** The number of batches of both kinds when the last of these was noted. */
  noted: number
}

interface Writers {
  ahead: Kind
  plain: Kind
  count: number
  /** How many batches of a trial are left. */
  looking: number
}

/**
 * Whether several writers are faster when each reads sure tokens and guesses. Their numbers of rows then differ, and
 * llama.cpp computes them one after the other, starting its threads anew for each. The cost depends on the model, on
 * the number of threads, and on what else the machine does, so both kinds are measured. A single writer has nothing to
 * lose.
 */
export function createDraftBenefit() {
  const all = new Map<number, Writers>()

  function of(writers: number): Writers {
    const known = all.get(writers) ?? { ahead: nothing(), plain: nothing(), count: 0, looking: 0 }
    all.set(writers, known)
    return known
  }

  return {
    /** To be called once for each batch. */
    isWorth(writers: number): boolean {
      if (writers < 2) return true
      const known = of(writers)
      const { ahead, plain, count } = known
      const areKnown = [ahead, plain].every((kind) => kind.batches.length >= enough)
      const isFaster = !areKnown || msOfToken(ahead) <= msOfToken(plain)
      const { noted } = isFaster ? plain : ahead
      if (known.looking > 0) known.looking--
      else if (count - noted >= (areKnown ? untilLook : firstLook)) known.looking = enough
      return isFaster === (known.looking === 0)
    },
    /** A batch took `ms` and produced `tokens`. */
    took(writers: number, isAhead: boolean, tokens: number, ms: number): void {
      if (writers < 2 || tokens === 0) return
      const known = of(writers)
      const kind = isAhead ? known.ahead : known.plain
      kind.batches.push({ ms, tokens })
      if (kind.batches.length > latest) kind.batches.shift()
      kind.noted = ++known.count
    },
  }
}

const nothing = (): Kind => ({ batches: [], noted: 0 })

function msOfToken({ batches }: Kind): number {
  const inOrder = batches.map(({ ms }) => ms).sort((one, other) => one - other)
  const most = mostHeldUp * (inOrder[Math.floor(inOrder.length / 2)] ?? 0)
  const tokens = batches.reduce((sum, one) => sum + one.tokens, 0)
  return batches.reduce((sum, { ms }) => sum + Math.min(ms, most), 0) / tokens
}
