/** How a request to an address went. */
export type Outcome = 'answered' | 'refused' | 'busy' | 'failed' | 'timeout' | 'closed' | 'unreachable'

/** What is known of an address. Times are by `performance.now()`, in milliseconds. */
export interface Load {
  url: string
  /** Its share of the requests, relative to the other addresses. */
  weight: number
  /** Why it is not used now; undefined while it works. */
  fault: string | undefined
  /** Until then another is asked first, because it was busy or did not answer. */
  coolUntil: number
  /** Requests in progress there. */
  running: number
  /** When the requests were sent of which nothing has come yet, the oldest first. */
  readonly waiting: Set<{ readonly since: number }>
  /** When something came of a request for the last time. */
  lastSign: number
  /** How long the last requests waited until something came of them. */
  readonly waits: { readonly at: number; readonly ms: number }[]
  readonly counts: Partial<Record<Outcome, number>>
}

export const emptyLoad = () => ({
  coolUntil: 0,
  running: 0,
  waiting: new Set<{ since: number }>(),
  lastSign: 0,
  waits: [],
  counts: {},
})

/** A request that is sent to an address. */
export interface Delivery {
  /** Something has come of it. */
  sign(): void
  /** It is over; without an outcome, its caller has left. Called again, it does nothing and returns false. */
  end(outcome?: Outcome): boolean
}

/** How many waits of an address are remembered. */
const maxWaits = 4

/** Unless it is measured, how long it waits does not tell how fast the address is. */
export function deliver(load: Load, isMeasured: boolean, now = () => performance.now()): Delivery {
  const waiting = { since: now() }
  let isOpen = true
  load.running++
  if (isMeasured) load.waiting.add(waiting)

  function remember(): void {
    const at = now()
    if (load.waits.push({ at, ms: at - waiting.since }) > maxWaits) load.waits.shift()
  }

  return {
    sign() {
      if (!load.waiting.delete(waiting)) return
      load.lastSign = now()
      remember()
    },
    end(outcome) {
      if (!isOpen) return false
      isOpen = false
      load.running--
      if (load.waiting.delete(waiting) && outcome === 'timeout') remember()
      if (outcome !== undefined) load.counts[outcome] = (load.counts[outcome] ?? 0) + 1
      return true
    },
  }
}
