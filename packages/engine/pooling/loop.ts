import { createTenantShares } from '../loop/turns/tenant-shares.ts'
import type { Load } from '../protocol.ts'
import type { PoolingContext } from './context.ts'
import type { Pooled, PoolingRequest } from './request.ts'

export interface PoolingListener {
  /** An input has been read; `isLast` for the last one of a request. */
  pooled(id: number, pooled: Pooled, isLast: boolean): void
  /** With an unexpected error. */
  refused(id: number, reason: unknown): void
  /** The load has changed, which no other event reports. */
  changed(): void
}

interface Asked {
  id: number
  request: PoolingRequest
  /** Of each input. */
  tokens: readonly (readonly number[])[]
  /** How many have been read. */
  read: number
}

/**
 * Reads one text after the other, each of the tenant that has used the least of the model's time. Requests of a tenant
 * with the lowest priority take turns, too: a single question is not delayed by a whole library that is being embedded.
 */
export function createPoolingLoop(
  context: Pick<PoolingContext, 'read' | 'stop'>,
  listener: PoolingListener,
  valuesOf: (made: Float64Array) => Float32Array,
) {
  const asked = new Map<number, Asked>()
  const shares = createTenantShares()
  let wake = () => {}
  let isStopped = false
  let batchSince: number | undefined
  let reading: number | undefined

  function next(): Asked | undefined {
    if (asked.size === 0) return undefined
    const all = [...asked.values()]
    shares.meet(new Set(all.map(({ request }) => request.tenant)))
    const tenant = shares.next
    const own = all.filter(({ request }) => request.tenant === tenant)
    const first = own.reduce((a, b) => (b.request.priority < a.request.priority ? b : a))
    // Moves to the end until its next turn.
    asked.delete(first.id)
    asked.set(first.id, first)
    return first
  }

  async function read(job: Asked): Promise<void> {
    const { id, request, tokens, read: input } = job
    const text = tokens[input] as readonly number[]
    const since = performance.now()
    batchSince = since
    reading = id
    const made = await context.read(text, () => asked.has(id) && !isStopped)
    batchSince = undefined
    reading = undefined
    shares.pay(new Map([[request.tenant, text.length]]), performance.now() - since)
    if (made === undefined || !asked.has(id)) return
    job.read++
    const isLast = job.read === tokens.length
    if (isLast) asked.delete(id)
    try {
      listener.pooled(id, { input, values: valuesOf(made), tokens: text.length }, isLast)
    } catch (error) {
      asked.delete(id)
      listener.refused(id, error)
    }
  }

  return {
    add(id: number, request: PoolingRequest, tokens: readonly (readonly number[])[]): void {
      asked.set(id, { id, request, tokens, read: 0 })
      wake()
    },
    /** The client has disconnected: its remaining inputs are not read. */
    leave(id: number): void {
      if (!asked.delete(id)) return
      if (id === reading) context.stop()
      listener.changed()
    },
    load(): Load {
      const running = [...asked.values()].filter(({ read }) => read > 0).length
      const isReading = batchSince !== undefined && running === 0 ? 1 : 0
      return {
        running: running + isReading,
        waiting: Math.max(0, asked.size - running - isReading),
        batchMs: batchSince === undefined ? 0 : performance.now() - batchSince,
      }
    },
    /** Runs until `stop`; rejects when the engine cannot continue. */
    async run(): Promise<void> {
      while (!isStopped) {
        const job = next()
        if (job !== undefined) await read(job)
        else {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          wake = () => {}
        }
      }
    },
    stop(): void {
      isStopped = true
      context.stop()
      wake()
    },
  }
}
