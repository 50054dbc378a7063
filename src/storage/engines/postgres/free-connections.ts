import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError } from 'pg'

const firstMs = 20
const maxMs = 1_000

/** The server, or this user or database, has as many connections as it may have. */
const isFull = (error: unknown) => error instanceof DatabaseError && error.code === '53300'

/**
 * Waits while the server accepts no further connection: until it does, or one of ours is free again. Servers that
 * together have more connections than PostgreSQL allows are then slower, instead of refusing work.
 */
export function createFreeConnections() {
  const waiting = new Set<() => void>()

  /** Until a signal aborts, the time is over, or a connection is returned. */
  async function pause(ms: number, signals: readonly AbortSignal[]): Promise<void> {
    const woken = new AbortController()
    const signal = AbortSignal.any([...signals])
    const wake = () => woken.abort()
    waiting.add(wake)
    try {
      await sleep(ms, undefined, { signal: AbortSignal.any([woken.signal, signal]) })
    } catch (error) {
      if (!woken.signal.aborted) throw signal.aborted ? signal.reason : error
    } finally {
      waiting.delete(wake)
    }
  }

  return {
    /** Fails with the last answer of the server when the time is over. */
    async connected<T>(
      connect: () => Promise<T>,
      limitMs: number,
      signals: readonly AbortSignal[],
    ): Promise<T> {
      const last = performance.now() + limitMs
      for (let ms = firstMs; ; ms = Math.min(maxMs, ms * 2)) {
        try {
          return await connect()
        } catch (error) {
          const left = last - performance.now()
          if (!isFull(error) || left <= 0) throw error
          await pause(Math.min(left, ms * (0.5 + Math.random())), signals)
        }
      }
    },
    /** Called when a connection is back in the pool. */
    wakeNext(): void {
      const [next] = waiting
      next?.()
    },
  }
}
