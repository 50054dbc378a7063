/** Work of an owner for which others may wait. */
export interface TurnName {
  owner: string
  name: string
}

/** Turns of background work that run at the same time, at most `total` and so many of the same name. */
export function createTurns({ total, ofName }: { total: number; ofName: number }) {
  const running = new Map<Promise<void>, TurnName>()
  const failures: unknown[] = []
  let hasEnded = false
  let wake = () => {}

  const countOf = (owner: string, name?: string) =>
    [...running.values()].filter((turn) => turn.owner === owner && (name ?? turn.name) === turn.name).length
  /** An owner has no more turns than it leaves free: however long they last, others have room. */
  const isFull = (owner: string) => countOf(owner) >= total - running.size

  /** Resolves when a turn has ended since this was last asked, at the latest after `ms`. */
  async function someEnded(ms: number): Promise<void> {
    if (!hasEnded) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    hasEnded = false
  }

  return {
    isRunning: ({ owner, name }: TurnName): boolean => countOf(owner, name) > 0,
    hasRoom: (): boolean => running.size < total,
    mayBegin: ({ owner, name }: TurnName): boolean => !isFull(owner) && countOf(owner, name) < ofName,
    fullOwners: (): string[] => [...running.values()].map(({ owner }) => owner).filter(isFull),
    begin(turn: TurnName, work: Promise<void>): void {
      const ended = work
        .catch((error: unknown) => failures.push(error))
        .then(() => {
          running.delete(ended)
          hasEnded = true
          wake()
        })
      running.set(ended, turn)
    },
    /**
     * Has turns begun while there is something to do, which `beginSome` says, and returns the pause after that. All have
     * ended then; throws what one failed with.
     */
    async carryOn(beginSome: () => Promise<boolean>, idleMs: number, signal: AbortSignal): Promise<number> {
      let hasBegun = false
      try {
        do {
          hasBegun = await beginSome()
          if (!hasBegun && running.size > 0) await someEnded(idleMs)
        } while ((hasBegun || running.size > 0) && failures.length === 0 && !signal.aborted)
      } finally {
        await Promise.all(running.keys())
      }
      if (failures.length > 0) throw failures.splice(0)[0]
      return idleMs
    },
  }
}
