import type { FastifyInstance } from 'fastify'
import { createFairQueue } from '../threads/fair-queue.ts'

/** Steps that come one after the other are closer together than this. */
const besideMs = 250

/** Bounded by the connections and by what their requests may hold. */
const unbounded = { perTenant: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY }

/**
 * Answers a function that calls a step at once where its tenant is alone. While several tenants are at work each has one step in a turn of
 * the loop, and what it has beyond that waits, one step a turn for all who wait: what arrives goes on behind one step, and not
 * behind as many as somebody else has brought at once.
 */
export function createTurns(now = () => performance.now()): (tenant: string, step: () => void) => void {
  const waiting = createFairQueue<() => void>(unbounded)
  /** Who had a step in this turn. */
  const served = new Set<string>()
  let last: string | undefined
  let lastAt = Number.NEGATIVE_INFINITY
  /** When another than the last had a step. */
  let othersAt = Number.NEGATIVE_INFINITY

  function isAlone(tenant: string): boolean {
    if (tenant !== last) othersAt = lastAt
    last = tenant
    lastAt = now()
    return lastAt - othersAt >= besideMs
  }

  function nextTurn(): void {
    served.clear()
    const next = waiting.take()
    if (next === undefined) return
    begin(next.tenant, next.job)
  }

  function begin(tenant: string, step: () => void): void {
    if (served.size === 0) setImmediate(nextTurn)
    served.add(tenant)
    step()
  }

  return (tenant, step) => {
    if (isAlone(tenant) && waiting.size === 0) step()
    else if (served.has(tenant)) waiting.add(tenant, step)
    else begin(tenant, step)
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
