import { setTimeout as sleep } from 'node:timers/promises'

/** Also on two cores that run fifteen other things. */
const mostMs = 300_000

/** To ask takes processor time from what is waited for. So who waits for seconds asks less often. */
const [minPauseMs, maxPauseMs] = [20, 100]

/**
 * Waits until something becomes true. The limit is far beyond what it takes, so that a failure means "never", not "too
 * slow".
 */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  boundMs = mostMs,
): Promise<void> {
  const began = performance.now()
  while (!(await holds())) {
    const waitedMs = performance.now() - began
    if (waitedMs > boundMs) throw new Error(`never happened: ${what}`)
    await sleep(Math.min(maxPauseMs, Math.max(minPauseMs, waitedMs / 10)))
  }
}

/** A promise that must settle; the same limit for the same reason. */
export async function withTimeout<T>(what: string, promise: Promise<T>, boundMs = mostMs): Promise<T> {
  const giveUp = new AbortController()
  const never = sleep(boundMs, undefined, { signal: giveUp.signal }).then(() => {
    throw new Error(`never happened: ${what}`)
  })
  try {
    return await Promise.race([promise, never])
  } finally {
    giveUp.abort()
    await never.catch(() => undefined)
  }
}
