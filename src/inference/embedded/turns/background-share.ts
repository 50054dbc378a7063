/**
 * Of the time in which callers have something to run, background work takes so much: callers keep more than 0.95 of their
 * speed, and what runs behind them goes on, slowly, however long they stay.
 */
const share = 0.04

/** Callers that come again this soon are still there: who asks one thing after the other does not wait each time. */
const graceMs = 200

/** When a batch of background work is due, beside callers or alone. */
export function createBackgroundShare(now: () => number = () => performance.now()) {
  /** The time that callers get before the next one. */
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
    /** Also when it ran alone: who comes then has waited for it, and does not wait for another at once. */
    backgroundTook(ms: number): void {
      owedMs = ms / share
    },
  }
}
