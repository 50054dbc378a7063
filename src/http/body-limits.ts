import type { FastifyInstance } from 'fastify'
import type { z } from 'zod'
import { refuse } from '../domain/refusals.ts'
import { encodingOf } from './compression.ts'

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

/** What is held of a form while its file is passed on. */
const formBytes = 1024 * 1024

/** A body of a declared length up to this is not counted: the number of connections bounds how many there are. */
const smallBody = 64 * 1024

/**
 * All bodies in work together take at most `budget` bytes, by their declared lengths. One body always passes, however large
 * its route allows it to be.
 */
export function limitBodies(app: FastifyInstance, budget: number): void {
  const small = Math.min(smallBody, Math.floor(budget / 8))
  let held = 0
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    if (length === undefined && encoding === undefined) return done(null, payload)
    const compressed = encodingOf(request) !== undefined
    const { form } = request.routeOptions.config
    if (!form && !compressed && length !== undefined && Number(length) <= small) return done(null, payload)
    // A body without a length, or a compressed one, may become as long as the limit.
    const bytes = form
      ? formBytes
      : Number((compressed ? undefined : length) ?? request.routeOptions.bodyLimit)
    if (held + bytes > budget && held > 0) throw refuse('queue_full')
    held += bytes
    const settle = () => {
      held -= bytes
    }
    // Unlike the hook onResponse, `close` also comes when the client leaves in the middle; it may have come already.
    if (reply.raw.closed) settle()
    else reply.raw.once('close', settle)
    done(null, payload)
  })
}
