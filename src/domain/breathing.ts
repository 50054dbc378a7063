/** How long a piece of work may hold the loop before others go first. */
const sliceMs = 3

export type Breathe = () => Promise<void> | undefined

/**
 * For work in many small steps: await what it answers between them, and nobody else waits long. Work that nobody waits for
 * any more ends there, with the reason of the signal.
 */
export function createBreathing(signal?: AbortSignal): Breathe {
  let since = performance.now()
  return () => {
    if (performance.now() - since < sliceMs) return undefined
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        if (signal?.aborted) reject(signal.reason)
        since = performance.now()
        resolve()
      })
    })
  }
}
