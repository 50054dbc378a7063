import { setTimeout as sleep } from 'node:timers/promises'

/** Also on two cores that run fifteen other things. */
const mostMs = 300_000

/**
 * Waits until something becomes true. The limit is far beyond what it takes, so that a failure means "never", not "too
 * slow".
 */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  boundMs = mostMs,
): Promise<void> {
  const last = performance.now() + boundMs
  while (!(await holds())) {
    if (performance.now() > last) throw new Error(`never happened: ${what}`)
    await sleep(20)
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
