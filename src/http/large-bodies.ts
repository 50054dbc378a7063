import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createSlots } from '../domain/slots.ts'

/** Large bodies that may wait for their turn. */
const line = 256

export interface LargeBodies {
  enter(request: FastifyRequest): Promise<void>
  /** Also when the request was refused, or its client has left. */
  leave(request: FastifyRequest): void
}

/**
 * Large bodies are worked through one after the other: side by side they would all be ready late and at once, and the
 * writer would have nothing to do until then. A turn lasts until the handler begins.
 */
export function takeTurnsWithLargeBodies(app: FastifyInstance): LargeBodies {
  const turns = createSlots(1, line)
  const never = new AbortController().signal
  const holding = new WeakMap<FastifyRequest, number>()
  const over = new WeakSet<FastifyRequest>()

  function free(request: FastifyRequest): void {
    const seat = holding.get(request)
    if (seat === undefined) return
    holding.delete(request)
    turns.release(seat)
  }

  app.addHook('preHandler', (request, _reply, done) => {
    free(request)
    done()
  })
  return {
    async enter(request) {
      const seat = await turns.acquire(never)
      if (over.has(request)) turns.release(seat)
      else holding.set(request, seat)
    },
    leave(request) {
      over.add(request)
      free(request)
    },
  }
}
