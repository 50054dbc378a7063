import type { FastifyInstance } from 'fastify'
import { LRUCache } from 'lru-cache'
import { createFairQueue } from '../threads/fair-queue.ts'

/** Steps that come one after the other are closer together than this. */
const besideMs = 250

/**
 * A tenant that asks beside one who asks for little rests for twice as long as its turns took, beyond a few milliseconds at once, so that
 * it has a third of the thread's time. A turn of the loop that takes longer is not its own work alone. Tenants who all ask for much do
 * not rest for each other: the thread would stand still while there is work.
 */
const timesItsTurns = 3
const longestTurnMs = 1
const atOnceMs = 5

/** Who asked for little this lately is beside the others. */
const restsBesideMs = 50
/** Who had more than its part this lately does not ask for little. */
const littleForMs = 100

/** Bounded by the connections and by what their requests may hold. */
const unbounded = { perTenant: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY }

/**
 * Answers a function that calls a step at once where its tenant is alone. While several tenants are at work each has one step in a turn of
 * the loop, and what it has beyond that waits, one step a turn for all who wait: what arrives goes on behind one step, and not
 * behind as many as somebody else has brought at once. Who takes much rests, so that not every processor is busy with one tenant when
 * another asks.
 */
export function createTurns(
  now = () => performance.now(),
  after: (ms: number, call: () => void) => void = (ms, call) => void setTimeout(call, ms),
): (tenant: string, step: () => void) => void {
  const waiting = createFairQueue<() => void>(unbounded)
  /** Who had a step in this turn. */
  const served = new Set<string>()
  let began = 0
  let last: string | undefined
  let lastAt = Number.NEGATIVE_INFINITY
  /** When another than the last had a step. */
  let othersAt = Number.NEGATIVE_INFINITY
  /** Until when the turns of a tenant are its part of the time, and when it had more than that. */
  const taken = new LRUCache<string, { until: number; aheadAt: number }>({ max: 1_000 })
  /** The last who asked for little, and when another than that one did. */
  let light: string | undefined
  let lightAt = Number.NEGATIVE_INFINITY
  let otherLightAt = Number.NEGATIVE_INFINITY
  let isPlanned = false

  function isAlone(tenant: string): boolean {
    if (tenant !== last) othersAt = lastAt
    last = tenant
    lastAt = now()
    return lastAt - othersAt >= besideMs
  }

  /** How much longer than its part of the time the turns of a tenant took. */
  const aheadMs = (tenant: string) => (taken.get(tenant)?.until ?? 0) - atOnceMs - now()

  function noteLight(tenant: string): void {
    if (now() - (taken.get(tenant)?.aheadAt ?? Number.NEGATIVE_INFINITY) < littleForMs) return
    if (tenant !== light) otherLightAt = lightAt
    light = tenant
    lightAt = now()
  }

  function restMs(tenant: string): number {
    const isBeside = now() - (tenant === light ? otherLightAt : lightAt) < restsBesideMs
    return isBeside ? aheadMs(tenant) : 0
  }

  function endTurn(): void {
    const each = (timesItsTurns * Math.min(now() - began, longestTurnMs)) / served.size
    // Who did not rest because nobody asked for little has not to make up for all of it once somebody does.
    const most = now() + atOnceMs + timesItsTurns * longestTurnMs
    for (const tenant of served) {
      const before = taken.get(tenant)
      const until = Math.min(most, Math.max(before?.until ?? 0, began) + each)
      const aheadAt = until - atOnceMs > now() ? now() : (before?.aheadAt ?? Number.NEGATIVE_INFINITY)
      taken.set(tenant, { until, aheadAt })
    }
    served.clear()
    goOn()
  }

  /** Begins a turn with the next one who does not rest, or comes back when the first has rested. */
  function goOn(): void {
    let leastMs = Number.POSITIVE_INFINITY
    const next = waiting.take((tenant) => {
      const ms = restMs(tenant)
      if (ms > 0) leastMs = Math.min(leastMs, ms)
      return ms <= 0
    })
    if (next !== undefined) begin(next.tenant, next.job)
    else if (waiting.size > 0 && !isPlanned) {
      isPlanned = true
      after(leastMs, () => {
        isPlanned = false
        if (served.size === 0) goOn()
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
      if (served.size === 0) goOn()
    } else begin(tenant, step)
  }
}

/** Tenants take turns in the thread that speaks HTTP: with what they ask, once it is read, and with what they are answered. */
export function takeTurns(app: FastifyInstance): void {
  const inTurn = createTurns()
  app.addHook('preValidation', ({ caller }, _reply, done) => {
    if (caller === undefined) done()
    else inTurn(caller.name, done)
  })
  app.addHook('onSend', ({ caller }, _reply, payload, done) => {
    if (caller === undefined) done(null, payload)
    else
      inTurn(caller.name, () => {
        // A header that cannot be sent is a fault of this answer. Where it has waited, nobody above would catch it.
        try {
          done(null, payload)
        } catch (error) {
          done(error as Error)
        }
      })
  })
}
