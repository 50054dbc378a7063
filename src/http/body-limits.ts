import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its bodies carry values of any size, so they may be as long as HEDDLE_BODY_LIMIT says. */
    largeBodies?: boolean
  }
}

/** Room for a few thousand references. Whoever asks, names or removes sends far less. */
export const plainBodyLimit = 4 * 1024 * 1024

/** Routes that say nothing else take bodies that are read in a moment. */
export function limitPlainBodies(app: FastifyInstance): void {
  const most = app.initialConfig.bodyLimit ?? plainBodyLimit
  app.addHook('onRoute', (route) => {
    if (!route.config?.largeBodies && route.bodyLimit === undefined) {
      route.bodyLimit = Math.min(most, plainBodyLimit)
    }
  })
}
