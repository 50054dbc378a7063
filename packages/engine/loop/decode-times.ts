/** So many of the latest times for each number of sequences are compared. */
const latest = 4
/** Taking turns must be this much faster: each turn has its own overhead, here and in sending the tokens. */
const minGain = 1.1

export type DecodeTimes = ReturnType<typeof createDecodeTimes>

/**
 * How long batches take in which sequences only decode, by the number of sequences. The shortest of the latest times
 * counts: the others were only lengthened by whatever else used the processor.
 */
export function createDecodeTimes() {
  const times = new Map<number, number[]>()
  const shortest = (sequences: number) => Math.min(...(times.get(sequences) ?? []))

  /** The time of so many sequences; while that is unknown, the time of fewer. */
  function msOf(sequences: number): number {
    for (let count = sequences; count > 0; count--) if (times.has(count)) return shortest(count)
    return 0
  }

  return {
    took(sequences: number, ms: number): void {
      const known = times.get(sequences) ?? []
      known.push(ms)
      if (known.length > latest) known.shift()
      times.set(sequences, known)
    },
    msOf,
    /** The time between two tokens of an answer, if known. */
    get stepMs(): number | undefined {
      return times.size === 0 ? undefined : Math.min(...Array.from(times.keys(), shortest))
    },
    /** Whether so many sequences take longer together than those of each tenant one tenant after the other. */
    areTurnsFaster(sequences: number, own: number, tenants: number): boolean {
      return sequences > 1 && times.has(sequences) && msOf(sequences) > tenants * msOf(own) * minGain
    },
  }
}
