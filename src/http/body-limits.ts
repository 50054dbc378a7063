import type { FastifyInstance } from 'fastify'
import type { z } from 'zod'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its bodies carry values of any size, so HEDDLE_BODY_LIMIT applies to them. */
    largeBodies?: boolean
    /** The parts of a multipart/form-data body, which the route reads as it arrives. */
    form?: z.ZodType
  }
}

/** A longer body is read in a separate thread. */
export const maxInlineBytes = 64 * 1024

/** Enough for a few thousand refs. Requests that find, name or remove things are far smaller. */
export const plainBodyLimit = 4 * 1024 * 1024

/** Routes accept only bodies that are quick to read, unless they declare otherwise. */
export function limitPlainBodies(app: FastifyInstance): void {
  const most = app.initialConfig.bodyLimit ?? plainBodyLimit
  app.addHook('onRoute', (route) => {
    if (!route.config?.largeBodies) route.bodyLimit ??= Math.min(most, plainBodyLimit)
    const isLarge = (route.bodyLimit ?? most) > maxInlineBytes
    if (isLarge && route.schema?.body !== undefined && route.config?.contract === undefined)
      throw new Error(`${route.method} ${route.url} does not name the contract of its bodies`)
  })
}
