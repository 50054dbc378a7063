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

  return {
    isRunning: (turn?: TurnName): boolean =>
      turn === undefined ? running.size > 0 : countOf(turn.owner, turn.name) > 0,
    mayBegin: ({ owner, name }: TurnName): boolean => !isFull(owner) && countOf(owner, name) < ofName,
    fullOwners: (): string[] => [...running.values()].map(({ owner }) => owner).filter(isFull),
    hasRoom: (): boolean => running.size < total,
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
    /** Resolves when a turn has ended since this was last asked, at the latest after `ms`. */
    async ended(ms: number): Promise<void> {
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
    },
    hasFailed: (): boolean => failures.length > 0,
    /** Throws what a turn failed with. */
    async allEnded(): Promise<void> {
      await Promise.all(running.keys())
      if (failures.length > 0) throw failures.splice(0)[0]
    },
  }
}
