/** Work of an owner for which others may wait. */
export interface TurnName {
  owner: string
  name: string
}

/**
 * Turns of background work that run at the same time, at most `total` and so many of the same name. One that fails is
 * reported, and stops no other: what it has taken is taken again when its hold ends.
 */
export function createTurns(max: { total: number; ofName: number }, failed: (error: unknown) => void) {
  const running = new Map<Promise<void>, TurnName>()
  let end = Promise.withResolvers<void>()

  const countOf = (owner: string, name?: string) =>
    [...running.values()].filter((turn) => turn.owner === owner && (name ?? turn.name) === turn.name).length
  /** An owner has no more turns than it leaves free: however long they last, others have room. */
  const isFull = (owner: string) => countOf(owner) >= max.total - running.size

  /** Resolves when a turn has ended since this was last asked, at the latest after `ms`. */
  async function someEnded(ms: number): Promise<void> {
    const timer = setTimeout(end.resolve, ms)
    await end.promise
    clearTimeout(timer)
    end = Promise.withResolvers()
  }

  return {
    isRunning: ({ owner, name }: TurnName): boolean => countOf(owner, name) > 0,
    hasRoom: (): boolean => running.size < max.total,
    mayBegin: ({ owner, name }: TurnName): boolean => !isFull(owner) && countOf(owner, name) < max.ofName,
    fullOwners: (): string[] => [...running.values()].map(({ owner }) => owner).filter(isFull),
    begin(turn: TurnName, work: Promise<void>): void {
      const ended = work.catch(failed).then(() => {
        running.delete(ended)
        end.resolve()
      })
      running.set(ended, turn)
    },
    /**
     * Has turns begun while there is something to do, which `beginSome` says, and returns the pause after that. All have
     * ended then.
     */
    async carryOn(beginSome: () => Promise<boolean>, idleMs: number, signal: AbortSignal): Promise<number> {
      let hasBegun = false
      try {
        do {
          hasBegun = await beginSome()
          if (!hasBegun && running.size > 0) await someEnded(idleMs)
        } while ((hasBegun || running.size > 0) && !signal.aborted)
      } finally {
        await Promise.all(running.keys())
      }
      return idleMs
    },
  }
}
