import type { HowToDraft } from './how-to-draft.ts'

/** So many of the latest batches of each kind tell what it costs, … */
const latest = 16
/** … and so many at least, which is also how long a look at the other kind lasts. */
const enough = 4
/** What is in use is compared with the other after so many batches at first, … */
const firstLook = 8
/** … and again after so many without any of it. */
const untilLook = 100

/** A batch that was held up so many times longer than most says no more about the next. */
const mostHeldUp = 4

/** What batches of one kind took and brought. */
interface Kind {
  batches: { ms: number; tokens: number }[]
  /** How many batches there had been of both kinds when the last of these was noted. */
  noted: number
}

interface Writers {
  ahead: Kind
  plain: Kind
  count: number
  /** So many batches are left of a look. */
  looking: number
}

/**
 * Whether several who write are faster where each reads what is known to come next, and guesses. Then their numbers of rows differ, and
 * llama.cpp computes them one after the other, with threads that begin anew for each. What that costs depends on the model, on how many
 * threads it has, and on what else the machine does. So both are measured. Who writes alone has nothing to lose, nor where rows cost
 * next to nothing (`isPaired`).
 */
export function createWorthAhead({ isPaired }: Pick<HowToDraft, 'isPaired'>) {
  const all = new Map<number, Writers>()

  function of(writers: number): Writers {
    const known = all.get(writers) ?? { ahead: nothing(), plain: nothing(), count: 0, looking: 0 }
    all.set(writers, known)
    return known
  }

  return {
    /** To be asked once for each batch. */
    isWorth(writers: number): boolean {
      if (writers < 2 || isPaired) return true
      const known = of(writers)
      const { ahead, plain, count } = known
      const areKnown = [ahead, plain].every((kind) => kind.batches.length >= enough)
      const isFaster = !areKnown || msOfToken(ahead) <= msOfToken(plain)
      const { noted } = isFaster ? plain : ahead
      if (known.looking > 0) known.looking--
      else if (count - noted >= (areKnown ? untilLook : firstLook)) known.looking = enough
      return isFaster === (known.looking === 0)
    },
    /** A batch took so long, and brought so many tokens. */
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
