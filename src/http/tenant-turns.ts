import type { FastifyInstance } from 'fastify'
import { LRUCache } from 'lru-cache'
import { createFairQueue } from '../threads/fair-queue.ts'

/** Steps less than this apart count as simultaneous. */
const simultaneousMs = 250

/**
 * A tenant that makes requests while another asks for little rests for twice as long as its turns took, after a few
 * milliseconds that are free, so that it has a third of the thread's time. At most a millisecond of a turn is charged,
 * because a longer one is not the tenant's work alone. Tenants that all ask for much do not rest for each other: the
 * thread would be idle while there is work.
 */
const restFactor = 3
const maxTurnMs = 1
const freeMs = 5

/** A tenant that asked for little within this time makes the others rest. */
const restForOthersMs = 50
/** A tenant that had more than its share within this time does not count as asking for little. */
const overuseMemoryMs = 100

/** Bounded by the connections and by what their requests may hold. */
const unbounded = { perTenant: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY }

/**
 * Returns a function that runs a step at once if its tenant is alone. While several tenants are active, each runs one
 * step per turn of the event loop. Its further steps wait, and of all waiting steps one runs per turn. So what arrives
 * waits for one step, and not for as many as another tenant has sent at once. A tenant that uses much rests, so that
 * not every processor is busy with one tenant when another makes a request.
 */
export function createTenantTurns(
  now = () => performance.now(),
  after: (ms: number, call: () => void) => void = (ms, call) => void setTimeout(call, ms),
): (tenant: string, step: () => void) => void {
  const waiting = createFairQueue<() => void>(unbounded)
  /** Tenants that had a step in this turn. */
  const served = new Set<string>()
  let began = 0
  let last: string | undefined
  let lastAt = Number.NEGATIVE_INFINITY
  /** When a tenant other than the last one had a step. */
  let othersAt = Number.NEGATIVE_INFINITY
  /** Until when the turns of a tenant use up its share of the time, and when it last had more than its share. */
  const taken = new LRUCache<string, { until: number; aheadAt: number }>({ max: 1_000 })
  /** The last tenant that asked for little, and when a different one last did. */
  let light: string | undefined
  let lightAt = Number.NEGATIVE_INFINITY
  let otherLightAt = Number.NEGATIVE_INFINITY
  let isPlanned = false

  function isAlone(tenant: string): boolean {
    if (tenant !== last) othersAt = lastAt
    last = tenant
    lastAt = now()
    return lastAt - othersAt >= simultaneousMs
  }

  /** How far the turns of a tenant exceed its share of the time. */
  const aheadMs = (tenant: string) => (taken.get(tenant)?.until ?? 0) - freeMs - now()

  function noteLight(tenant: string): void {
    if (now() - (taken.get(tenant)?.aheadAt ?? Number.NEGATIVE_INFINITY) < overuseMemoryMs) return
    if (tenant !== light) otherLightAt = lightAt
    light = tenant
    lightAt = now()
  }

  function restMs(tenant: string): number {
    const isBeside = now() - (tenant === light ? otherLightAt : lightAt) < restForOthersMs
    return isBeside ? aheadMs(tenant) : 0
  }

  function endTurn(): void {
    const each = (restFactor * Math.min(now() - began, maxTurnMs)) / served.size
    // A tenant that did not have to rest, because none asked for little, need not make up for all of it later.
    const most = now() + freeMs + restFactor * maxTurnMs
    for (const tenant of served) {
      const before = taken.get(tenant)
      const until = Math.min(most, Math.max(before?.until ?? 0, began) + each)
      const aheadAt = until - freeMs > now() ? now() : (before?.aheadAt ?? Number.NEGATIVE_INFINITY)
      taken.set(tenant, { until, aheadAt })
    }
    served.clear()
    startNext()
  }

  /** Begins a turn with the next tenant that is not resting, or tries again when the first has rested. */
  function startNext(): void {
    let soonestMs = Number.POSITIVE_INFINITY
    const next = waiting.take((tenant) => {
      const ms = restMs(tenant)
      if (ms > 0) soonestMs = Math.min(soonestMs, ms)
      return ms <= 0
    })
    if (next !== undefined) begin(next.tenant, next.job)
    else if (waiting.size > 0 && !isPlanned) {
      isPlanned = true
      after(soonestMs, () => {
        isPlanned = false
        if (served.size === 0) startNext()
      })
    }
  }

  function begin(tenant: string, step: () => void): void {
    if (served.size === 0) {
      began = now()
      setImmediate(endTurn)
    }
    served.add(tenant)
    step()
  }

  return (tenant, step) => {
    noteLight(tenant)
    if (isAlone(tenant) && waiting.size === 0) step()
    else if (served.has(tenant) || waiting.has(tenant) || restMs(tenant) > 0) {
      waiting.add(tenant, step)
      if (served.size === 0) startNext()
    } else begin(tenant, step)
  }
}

/**
 * Tenants take turns in the thread that serves HTTP: with their requests, once these are read, and with their answers.
 */
export function takeTurnsByTenant(app: FastifyInstance): void {
  const inTurn = createTenantTurns()
  app.addHook('preValidation', ({ caller }, _reply, done) => {
    if (caller === undefined) done()
    else inTurn(caller.name, done)
  })
  app.addHook('onSend', ({ caller }, _reply, payload, done) => {
    if (caller === undefined) done(null, payload)
    else
      inTurn(caller.name, () => {
        // A header that cannot be sent is an error of this answer. After a wait, nothing further up would catch it.
        try {
          done(null, payload)
        } catch (error) {
          done(error as Error)
        }
      })
  })
}
