import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { refuse } from '../domain/refusals.ts'
import { createSlots } from '../threads/slots.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its bodies carry values of any size, so they may be as long as HEDDLE_BODY_LIMIT says. */
    largeBodies?: boolean
    /** The parts of a multipart/form-data body, which the route reads as it arrives. */
    form?: z.ZodType
  }
}

/** Enough for a few thousand references. Requests that find, name or remove things are far smaller. */
export const plainBodyLimit = 4 * 1024 * 1024

/** Routes that say nothing else take bodies that are read in a moment. */
export function limitPlainBodies(app: FastifyInstance): void {
  const most = app.initialConfig.bodyLimit ?? plainBodyLimit
  app.addHook('onRoute', (route) => {
    if (!route.config?.largeBodies) route.bodyLimit ??= Math.min(most, plainBodyLimit)
  })
}

export interface LargeBodies {
  enter(request: FastifyRequest): Promise<void>
  /** Also when the request was refused, or its client has left. */
  leave(request: FastifyRequest): void
}

const mostWaitingBodies = { perTenant: 128, total: 512 }

/**
 * Large bodies are parsed one after the other: side by side they would all be ready late and at once, and the writer would
 * have nothing to do until then. A turn lasts until the handler begins.
 */
export function queueLargeBodies(app: FastifyInstance): LargeBodies {
  const slots = createSlots({ shared: 1 }, mostWaitingBodies)
  const never = new AbortController().signal
  const holding = new WeakMap<FastifyRequest, number>()
  const ended = new WeakSet<FastifyRequest>()

  function release(request: FastifyRequest): void {
    const slot = holding.get(request)
    if (slot === undefined) return
    holding.delete(request)
    slots.release(slot)
  }

  app.addHook('preHandler', (request, _reply, done) => {
    release(request)
    done()
  })
  return {
    async enter(request) {
      const slot = await slots.acquire(request.caller.name, never)
      if (ended.has(request)) slots.release(slot)
      else holding.set(request, slot)
    },
    leave(request) {
      ended.add(request)
      release(request)
    },
  }
}
