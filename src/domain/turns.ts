import { refuse } from './refusals.ts'

export interface Turns {
  /** Resolves with a seat number when it is free; refuses when too many wait; rejects when the signal aborts. */
  take(signal: AbortSignal): Promise<number>
  give(seat: number): void
}

/** A bounded number of seats and a bounded line in front of them, first come first served. */
export function createTurns(seats: number, line: number): Turns {
  const free = Array.from({ length: seats }, (_, seat) => seats - 1 - seat)
  const waiting = new Set<(seat: number) => void>()
  return {
    take(signal) {
      if (signal.aborted) return Promise.reject(signal.reason)
      const seat = free.pop()
      if (seat !== undefined) return Promise.resolve(seat)
      if (waiting.size >= line) return Promise.reject(refuse('queue_full'))
      return new Promise((resolve, reject) => {
        const sit = (given: number) => {
          signal.removeEventListener('abort', leave)
          resolve(given)
        }
        const leave = () => {
          waiting.delete(sit)
          reject(signal.reason)
        }
        waiting.add(sit)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
    give(seat) {
      const first = waiting.values().next()
      if (first.done) {
        free.push(seat)
      } else {
        waiting.delete(first.value)
        first.value(seat)
      }
    },
  }
}

/** Waits for a seat, but not for ever: who waits longer than work may take is not served in time any more. */
export async function takeInTime(turns: Turns, limitMs: number, signal?: AbortSignal): Promise<number> {
  const patience = new AbortController()
  const alarm = setTimeout(() => patience.abort(refuse('queue_full')), limitMs)
  try {
    return await turns.take(
      signal === undefined ? patience.signal : AbortSignal.any([signal, patience.signal]),
    )
  } finally {
    clearTimeout(alarm)
  }
}
