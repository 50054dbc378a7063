/**
 * The share of background work while callers have something to run. Callers keep more than 0.95 of their speed, and
 * background work advances slowly, however long they stay.
 */
const share = 0.04

/**
 * Callers whose next request comes this soon count as present: one that sends requests one after the other does not
 * wait each time.
 */
const graceMs = 200

/** Decides when a batch of background work is due, alongside callers or alone. */
export function createBackgroundShare(now: () => number = () => performance.now()) {
  /** The time that callers get before the next batch of background work. */
  let owedMs = 0
  let callersSeen = Number.NEGATIVE_INFINITY
  const untilAloneMs = () => Math.max(0, graceMs - (now() - callersSeen))

  return {
    isTurn(doCallersRun: boolean): boolean {
      if (doCallersRun) callersSeen = now()
      return owedMs <= 0 || untilAloneMs() === 0
    },
    untilAloneMs,
    callersTook(ms: number): void {
      callersSeen = now()
      owedMs -= ms
    },
    /**
     * Also when it ran alone: a caller who arrived meanwhile has waited for it, and does not wait for another one at
     * once.
     */
    backgroundTook(ms: number): void {
      owedMs = ms / share
    },
  }
}
