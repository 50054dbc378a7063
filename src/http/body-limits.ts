import type { FastifyInstance } from 'fastify'
import type { z } from 'zod'

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
