import { whenAborted } from '../../packages/waiting/index.ts'
import { refuse } from '../domain/refusals.ts'
import { createFairQueue, type QueueBounds } from './fair-queue.ts'

export interface Slots {
  /** Resolves with the number of a slot. Rejects if the queue is full or the signal aborts. */
  acquire(tenant: string, signal: AbortSignal): Promise<number>
  release(slot: number): void
  readonly used: number
  /** Requests that wait for a slot. */
  readonly waiting: number
}

export interface SlotCounts {
  /** The most slots of one tenant. */
  shared: number
  /** Additional slots, so that other tenants find one. */
  reserved?: number
}

/**
 * A fixed number of slots, and a bounded queue in front of them in which tenants take turns. A tenant that has its
 * maximum delays only its own requests: other tenants find a reserved slot.
 */
export function createSlots({ shared, reserved = 0 }: SlotCounts, queued: QueueBounds): Slots {
  const count = shared + reserved
  const free = Array.from({ length: count }, (_, index) => count - 1 - index)
  const holders = new Map<number, string>()
  const held = new Map<string, number>()
  const queue = createFairQueue<(slot: number) => void>(queued)
  // Slots beyond the first of each tenant. A first slot is never refused because of the further slots of others.
  const further = () => count - free.length - held.size
  const mayHold = (tenant: string) => free.length > 0 && (!held.has(tenant) || further() < shared - 1)

  function hold(tenant: string): number {
    const slot = free.pop() as number
    holders.set(slot, tenant)
    held.set(tenant, (held.get(tenant) ?? 0) + 1)
    return slot
  }

  return {
    get used() {
      return count - free.length
    },
    get waiting() {
      return queue.size
    },
    acquire(tenant, signal) {
      if (signal.aborted) return Promise.reject(signal.reason)
      if (mayHold(tenant)) return Promise.resolve(hold(tenant))
      return new Promise((resolve, reject) => {
        const grant = (slot: number) => {
          stay()
          resolve(slot)
        }
        const leave = () => {
          queue.remove(tenant, grant)
          reject(signal.reason)
        }
        queue.add(tenant, grant)
        const stay = whenAborted(signal, leave)
      })
    },
    release(slot) {
      const holder = holders.get(slot)
      if (holder === undefined) return
      const left = (held.get(holder) ?? 0) - 1
      if (left > 0) held.set(holder, left)
      else held.delete(holder)
      holders.delete(slot)
      free.push(slot)
      for (let next = queue.take(mayHold); next; next = queue.take(mayHold)) next.job(hold(next.tenant))
    },
  }
}

/** Waits for a slot, but no longer than the time limit of the work; then fails with the error that `late` returns. */
export async function acquireWithTimeout(
  slots: Slots,
  tenant: string,
  limitMs: number,
  signal?: AbortSignal,
  late: () => Error = () => refuse('queue_full'),
): Promise<number> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(late()), limitMs)
  try {
    return await slots.acquire(
      tenant,
      signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
    )
  } finally {
    clearTimeout(timer)
  }
}
