import { signal } from '@preact/signals'
import { UnreachableError } from './request.ts'

/** Shortest pause between reads of what has changed while the server is away. */
const awayMs = 2_000

/** The reads of a list until it is closed: what fails before that is its error. */
export function guardedReads() {
  const error = signal<Error | undefined>(undefined)
  const closing = new AbortController()
  const { signal: closed } = closing
  const fail = (reason: unknown) => {
    if (!closed.aborted) error.value = reason as Error
  }

  /** Reads what has changed as long as something has; reading takes at most a fifth of the time. */
  function following(isStale: () => boolean, read: () => Promise<void>, restMs = 1_000) {
    let isReading = false
    return async () => {
      if (isReading) return
      isReading = true
      while (isStale() && !closed.aborted) {
        const since = performance.now()
        let rest = restMs
        await read().catch((reason: unknown) => {
          // The event stream shows when an unreachable server is back.
          if (reason instanceof UnreachableError) rest = awayMs
          else fail(reason)
        })
        await new Promise((resolve) => setTimeout(resolve, Math.max(rest, 4 * (performance.now() - since))))
      }
      isReading = false
    }
  }

  const guarded = (read: () => Promise<void>) => read().catch(fail)
  return { error, closing, closed, fail, guarded, following }
}
