import { refuse } from './refusals.ts'

export interface Slots {
  /** Resolves with the number of a free slot. Rejects when the queue is full or the signal aborts. */
  acquire(signal: AbortSignal): Promise<number>
  release(slot: number): void
}

/** A fixed number of slots, and a bounded queue in front of them: first come, first served. */
export function createSlots(count: number, longestQueue: number): Slots {
  const free = Array.from({ length: count }, (_, index) => count - 1 - index)
  const queue = new Set<(slot: number) => void>()
  return {
    acquire(signal) {
      if (signal.aborted) return Promise.reject(signal.reason)
      const slot = free.pop()
      if (slot !== undefined) return Promise.resolve(slot)
      if (queue.size >= longestQueue) return Promise.reject(refuse('queue_full'))
      return new Promise((resolve, reject) => {
        const grant = (granted: number) => {
          signal.removeEventListener('abort', leave)
          resolve(granted)
        }
        const leave = () => {
          queue.delete(grant)
          reject(signal.reason)
        }
        queue.add(grant)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
    release(slot) {
      const first = queue.values().next()
      if (first.done) {
        free.push(slot)
      } else {
        queue.delete(first.value)
        first.value(slot)
      }
    },
  }
}

/** Waits for a slot, but no longer than work may take: then the request is refused. */
export async function acquireInTime(slots: Slots, limitMs: number, signal?: AbortSignal): Promise<number> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(refuse('queue_full')), limitMs)
  try {
    return await slots.acquire(
      signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
    )
  } finally {
    clearTimeout(timer)
  }
}
